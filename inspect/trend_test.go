package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// Each step has the mean over its known time: after watching began, up to now, and while the
// backend is up.
func TestTrendIsMeanOverKnownTime(t *testing.T) {
	f := film(NewPast(0, 0, 1<<30))
	start := f.at
	id := ID{"zk", "/locks/trend"}
	add := func(after time.Duration, waiters, holders int) {
		f.at = start.Add(after)
		l := &Lock{ID: id, Kind: KindMutex, State: StateHeld, ReadAt: f.at}
		for i := range waiters {
			l.Waiters = append(l.Waiters, Contender{Name: Untrusted(rune('a' + i)), State: Waiting})
		}
		for i := range holders {
			l.Holders = append(l.Holders, Contender{Name: Untrusted(rune('A' + i)), State: Holding})
		}
		f.receive(Update{Put: []*Lock{l}})
	}
	add(2*time.Second, 0, 1)
	add(3*time.Second, 4, 1)
	add(4*time.Second, 1, 0)
	down := *zkUp
	down.State = Down
	f.at = start.Add(7 * time.Second)
	f.receive(Update{Backend: &down})
	f.at = start.Add(9 * time.Second)
	f.receive(Update{Backend: zkUp})
	trend := f.past.Trend(id, start.Add(-2*time.Second), 2*time.Second, 8, start.Add(11*time.Second))
	// The steps: before watching, no lock, a hold with four waiters in the second half, one waiter,
	// two steps with part of the outage, one second up to now, the future.
	must.Same(t, trend.Waiting, []float64{-1, 0, 2, 1, -1, -1, 1, -1}, "waiting")
	must.Same(t, trend.Holding, []float64{-1, 0, 1, 0, -1, -1, 0, -1}, "holding")
	none := NewPast(0, 0, 1).Trend(id, start, time.Second, 2, start.Add(time.Hour))
	must.Same(t, none.Waiting, []float64{-1, -1}, "of an empty past")
}

// A backend's number is the mean over each step. It is -1 before watching, after now, and if
// unknown.
func TestBackendTrendIsMeanPerStep(t *testing.T) {
	f := film(NewPast(0, 0, 1<<30))
	start := f.at
	for i := range 3 {
		f.at = start.Add(time.Duration(2*i) * time.Second)
		b := *zkUp
		b.Lost = i - 1
		f.receive(Update{Backend: &b})
	}
	of := func(b *Backend) float64 { return float64(b.Lost) }
	got := f.past.BackendTrend("zk", start.Add(-2*time.Second), 2*time.Second, 5, start.Add(6*time.Second), of)
	must.Same(t, got, []float64{-1, -1, 0, 1, -1})
	other := f.past.BackendTrend("other", start, time.Second, 1, start.Add(time.Hour), of)
	must.Same(t, other, []float64{-1}, "of another backend")
}
