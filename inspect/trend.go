package inspect

import (
	"sort"
	"time"
)

// Trend is a lock in equal steps of time: in each the mean number of waiters, and of holders. Both are -1
// where nothing is known.
type Trend struct{ Waiting, Holding []float64 }

// Trend samples a lock from a time on, in n steps, as far as it is kept. What comes after to is not known
// yet, nor is a step during which its backend was down.
func (p *Past) Trend(id ID, from time.Time, step time.Duration, n int, to time.Time) Trend {
	t := Trend{make([]float64, n), make([]float64, n)}
	known := make([]time.Duration, n) // of each step
	add := func(l *Lock, since, until time.Time) {
		if l != nil && l.State == StateUnknown {
			return
		}
		waiting, holding := 0.0, 0.0
		if l != nil {
			waiting, holding = float64(l.Waiting()), float64(len(l.Holders))
		}
		eachStep(from, step, since, until, func(i int, d time.Duration) {
			t.Waiting[i] += waiting * float64(d)
			t.Holding[i] += holding * float64(d)
			known[i] += d
		})
	}
	if end := from.Add(step * time.Duration(n)); to.After(end) {
		to = end
	}
	if p.last != nil {
		p.walk(id, from, to, add)
	}
	p.whileDown(id.Backend, func(since, until time.Time) {
		for i := max(0, int(since.Sub(from)/step)); i < n && from.Add(step*time.Duration(i)).Before(until); i++ {
			known[i] = 0
		}
	})
	for i := range n {
		if known[i] == 0 {
			t.Waiting[i], t.Holding[i] = -1, -1
			continue
		}
		t.Waiting[i] /= float64(known[i])
		t.Holding[i] /= float64(known[i])
	}
	return t
}

// eachStep gives the parts of the steps from an instant on that are between two others.
func eachStep(from time.Time, step time.Duration, since, until time.Time, add func(i int, d time.Duration)) {
	for at := since; at.Before(until); {
		i := int(at.Sub(from) / step)
		next := from.Add(step * time.Duration(i+1))
		if next.After(until) {
			next = until
		}
		add(i, next.Sub(at))
		at = next
	}
}

// walk gives the versions of a lock between two instants to add, each with its part of this time.
func (p *Past) walk(id ID, from, to time.Time, add func(l *Lock, since, until time.Time)) {
	at := from
	if at.Before(p.first) {
		at = p.first
	}
	if e := p.locks[id]; e != nil {
		i := sort.Search(len(e.versions), func(i int) bool { return e.versions[i].until.After(at) })
		for ; i < len(e.versions) && at.Before(to); i++ {
			until := e.versions[i].until
			if until.After(to) {
				until = to
			}
			add(e.versions[i].lock, at, until)
			at = until
		}
	}
	if at.Before(to) {
		add(p.last.Lock(id), at, to)
	}
}

// BackendTrend samples a number of a backend from a time on, in n steps. It returns the mean in
// each step, as far as it is kept. -1 means unknown: after to, or where of returns less than 0.
func (p *Past) BackendTrend(
	name string, from time.Time, step time.Duration, n int, to time.Time, of func(*Backend) float64,
) []float64 {
	sums, known := make([]float64, n), make([]time.Duration, n)
	if end := from.Add(step * time.Duration(n)); to.After(end) {
		to = end
	}
	p.eachState(name, func(b *Backend, since, until time.Time) {
		value := of(b)
		if since.Before(from) {
			since = from
		}
		if until.After(to) {
			until = to
		}
		if value < 0 {
			return
		}
		eachStep(from, step, since, until, func(i int, d time.Duration) {
			sums[i] += value * float64(d)
			known[i] += d
		})
	})
	for i := range sums {
		if known[i] == 0 {
			sums[i] = -1
			continue
		}
		sums[i] /= float64(known[i])
	}
	return sums
}

// whileDown yields the times when a backend was down.
func (p *Past) whileDown(backend string, down func(since, until time.Time)) {
	p.eachState(backend, func(b *Backend, since, until time.Time) {
		if b.State == Down {
			down(since, until)
		}
	})
}

// eachState yields the states of a backend, each with its time.
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

// farFuture is later than any time that is looked at.
var farFuture = time.Unix(1<<40, 0)
