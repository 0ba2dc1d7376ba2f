package zksource

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	bucketRate   = 40_000.0
	bucketAtOnce = 50.0 // reads of a request
)

// spending is a list of what a bucket let pass: sums over sliding spans need each time.
type spending struct {
	at   []time.Time
	read []float64
}

// within is the most that any span had, less the one request that a bucket lets pass for less than it takes.
func (s *spending) within(span time.Duration) (most float64) {
	first, sum := 0, 0.0
	for i, at := range s.at {
		for sum += s.read[i]; at.Sub(s.at[first]) >= span; first++ {
			sum -= s.read[first]
		}
		most = max(most, sum)
	}
	return most - bucketAtOnce
}

func (s *spending) total() (sum float64) {
	for _, n := range s.read {
		sum += n
	}
	return sum
}

// spendLate asks a queue's budget of reads for as many as it gives during a time, by a program that comes late each time, by as much as
// late says.
func spendLate(q *queue, start time.Time, during time.Duration, late func() time.Duration) *spending {
	s := &spending{}
	for now := start; now.Sub(start) < during; {
		wait := q.items.await(now)
		if wait == 0 {
			q.items.spend(bucketAtOnce)
			s.at, s.read = append(s.at, now), append(s.read, bucketAtOnce)
			continue
		}
		now = now.Add(wait + late())
	}
	return s
}

func screenQueue() queue {
	cfg := Config{Budget: Budget{Items: bucketRate}}.withDefaults()
	return newQueue(cfg)
}

// A program that is kept from running for some tens of milliseconds at a time has its budget all the same, and no span has more than
// the budget allows it.
func TestABusyProgramHasItsBudget(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	random := rand.New(rand.NewPCG(1, 2))
	for name, late := range map[string]func() time.Duration{
		"never late":         func() time.Duration { return 0 },
		"a little":           func() time.Duration { return 2 * time.Millisecond },
		"15 ms each time":    func() time.Duration { return 15 * time.Millisecond },
		"now and then 80 ms": func() time.Duration { return time.Duration(random.IntN(200)/199) * 80 * time.Millisecond },
		"more than it has":   func() time.Duration { return time.Duration(random.IntN(20)/19) * 500 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			q := screenQueue()
			s := spendLate(&q, start, 10*time.Second, late)
			if got := s.total(); got > 10*bucketRate+0.01*bucketRate+bucketAtOnce {
				t.Errorf("%.0f reads in 10 s", got)
			} else if got < 9.5*bucketRate && name != "more than it has" {
				t.Errorf("%.0f reads in 10 s, want those of the budget", got)
			}
			if got := s.within(time.Second); got > 1.1*bucketRate+1 {
				t.Errorf("%.0f reads in a second", got)
			}
			if got := s.within(100 * time.Millisecond); got > 0.17*bucketRate+1 {
				t.Errorf("%.0f reads in a tenth of a second", got)
			}
		})
	}
}

// However long an answer was, the next request waits for at most a second.
func TestAPauseHasABound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, halved := range []bool{false, true} {
		b := newBucket(1<<20, 1<<17)
		b.halved = halved
		b.spend(64 << 20)
		if wait := b.await(now); wait > time.Second+time.Millisecond {
			t.Errorf("halved %v: waits %v", halved, wait)
		}
	}
}

// What nobody asked for is not made up for: after a rest there is as much at once as ever, and then the rate.
func TestNothingIsDueForARest(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	for name, rest := range map[string]func(q *queue){
		"nothing to read":    func(q *queue) { q.items.rest() },
		"the connection":     func(q *queue) { q.clear() },
		"a slow server":      func(q *queue) { q.items.halved = true },
		"late, and then not": func(q *queue) { q.items.await(start.Add(50 * time.Millisecond)); q.items.rest() },
	} {
		t.Run(name, func(t *testing.T) {
			q := screenQueue()
			q.items.await(start)
			rest(&q)
			again := start.Add(time.Minute)
			q.items.await(again)
			q.items.halved = false
			s := spendLate(&q, again, time.Second, func() time.Duration { return 0 })
			if got := s.total(); got > 1.01*bucketRate+bucketAtOnce {
				t.Errorf("%.0f reads in the second after it", got)
			}
		})
	}
}

// A source rests when there is nothing to ask for, and while the servers throttle it; not while there is more to read than it may ask.
func TestASourceThatHasNothingToAskRests(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	for name, tt := range map[string]struct {
		queued int
		until  time.Time // it pauses
		rested bool
	}{
		"nothing":   {0, time.Time{}, true},
		"throttled": {1000, start.Add(time.Second), true},
		"a look":    {1000, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{}).newRun(t.Context(), nil)
			r.link, r.ready, r.manyReads, r.paused.until = &link{}, true, true, tt.until
			for range tt.queued {
				r.queue.walk = append(r.queue.walk, job{kind: jobList, dir: &dir{path: "/gone"}}) // nobody wants it any more
			}
			r.queue.items.await(start)
			r.queue.items.tokens, r.queue.items.arrears = -50, 1000
			r.dispatch(start)
			if r.queue.items.rested != tt.rested || (r.queue.items.arrears == 0) != tt.rested {
				t.Errorf("rested %v with %.0f in arrears", r.queue.items.rested, r.queue.items.arrears)
			}
		})
	}
}
