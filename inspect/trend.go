package inspect

import (
	"sort"
	"time"
)

// Trend is the mean number of waiters and of holders of a lock in equal steps of time. Both are -1
// if unknown.
type Trend struct{ Waiting, Holding []float64 }

// Trend samples a lock from a time on, in n steps, as far as the past reaches. Steps after to are
// unknown, and so are those during which its backend was down.
func (p *Past) Trend(id ID, from time.Time, step time.Duration, n int, to time.Time) Trend {
	waiting, holding := newMeans(from, step, n), newMeans(from, step, n)
	if p.last != nil {
		p.walk(id, from, sooner(to, waiting.end()), func(l *Lock, since, until time.Time) {
			waiters, holders := 0, 0
			if l != nil {
				waiters, holders = l.Waiting(), len(l.Holders)
			}
			if l == nil || l.State != StateUnknown {
				waiting.add(float64(waiters), since, until)
				holding.add(float64(holders), since, until)
			}
		})
	}
	p.whileDown(id.Backend, func(since, until time.Time) {
		waiting.forget(since, until)
		holding.forget(since, until)
	})
	return Trend{waiting.list(), holding.list()}
}

// means collects the mean of a number in each of several steps of time.
type means struct {
	from  time.Time
	step  time.Duration
	sums  []float64
	known []time.Duration // of each step
}

func newMeans(from time.Time, step time.Duration, n int) *means {
	return &means{from, step, make([]float64, n), make([]time.Duration, n)}
}

func (m *means) end() time.Time { return m.from.Add(m.step * time.Duration(len(m.sums))) }

// add records the number between two instants.
func (m *means) add(value float64, since, until time.Time) {
	for at := since; at.Before(until); {
		i := int(at.Sub(m.from) / m.step)
		next := sooner(m.from.Add(m.step*time.Duration(i+1)), until)
		m.sums[i] += value * float64(next.Sub(at))
		m.known[i] += next.Sub(at)
		at = next
	}
}

// forget makes the number unknown in each step that overlaps the span.
func (m *means) forget(since, until time.Time) {
	for i := range m.known {
		begin := m.from.Add(m.step * time.Duration(i))
		if begin.Before(until) && since.Before(begin.Add(m.step)) {
			m.known[i] = 0
		}
	}
}

// list returns the means, -1 if unknown.
func (m *means) list() []float64 {
	for i, known := range m.known {
		if known == 0 {
			m.sums[i] = -1
		} else {
			m.sums[i] /= float64(known)
		}
	}
	return m.sums
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// walk visits the versions of a lock between two instants, each with its part of this time.
func (p *Past) walk(id ID, from, to time.Time, add func(l *Lock, since, until time.Time)) {
	at := from
	if at.Before(p.first) {
		at = p.first
	}
	if e := p.locks[id]; e != nil {
		i := sort.Search(len(e.versions), func(i int) bool { return e.versions[i].until.After(at) })
		for ; i < len(e.versions) && at.Before(to); i++ {
			until := sooner(e.versions[i].until, to)
			add(e.versions[i].lock, at, until)
			at = until
		}
	}
	if at.Before(to) {
		add(p.last.Lock(id), at, to)
	}
}

// BackendTrend samples a number of a backend from a time on, in n steps. It returns the mean in
// each step, as far as the past reaches. -1 means unknown: after to, or where of is negative.
func (p *Past) BackendTrend(
	name string, from time.Time, step time.Duration, n int, to time.Time, of func(*Backend) float64,
) []float64 {
	means := newMeans(from, step, n)
	to = sooner(to, means.end())
	p.eachState(name, func(b *Backend, since, until time.Time) {
		if since.Before(from) {
			since = from
		}
		if value := of(b); value >= 0 {
			means.add(value, since, sooner(until, to))
		}
	})
	return means.list()
}

// whileDown visits the times when a backend was down.
func (p *Past) whileDown(backend string, down func(since, until time.Time)) {
	p.eachState(backend, func(b *Backend, since, until time.Time) {
		if b.State == Down {
			down(since, until)
		}
	})
}

// eachState visits the states of a backend, each with its time.
func (p *Past) eachState(name string, give func(b *Backend, since, until time.Time)) {
	since := p.first
	check := func(backends []*Backend, until time.Time) {
		for _, b := range backends {
			if b.Name == name && since.Before(until) {
				give(b, since, until)
			}
		}
		since = until
	}
	for _, s := range p.states {
		check(s.backends, s.until)
	}
	if p.last != nil {
		check(p.last.Backends, farFuture)
	}
}

// farFuture is later than any requested time.
var farFuture = time.Unix(1<<40, 0)
