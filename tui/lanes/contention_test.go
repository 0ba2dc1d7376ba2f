package lanes

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Each cell has the mean number of waiters and holders over its known time.
func TestContention(t *testing.T) {
	l := &inspect.Lock{
		Holders: []inspect.Contender{fixture.Entry("holds", 8*time.Second, 4*time.Second)},
		Waiters: []inspect.Contender{fixture.Entry("waits", 6*time.Second, 0), fixture.Entry("halfway", 2500*time.Millisecond, 0)},
	}
	early := fixture.Entry("early", 0, 0)
	early.Since, early.State = time.Time{}, inspect.Holding
	past := PastLock{ended: []inspect.Event{{Kind: inspect.EventReleased, At: fixture.Ago(4 * time.Second), Contender: &early}}}
	list := LanesOf(l, past, fixture.Noon)
	var all []*Lane
	for i := range list {
		all = append(all, &list[i])
	}
	w := Window{From: fixture.Ago(10 * time.Second), Step: 2 * time.Second, Cells: 6}
	got := w.Contention(all, fixture.Ago(7*time.Second), fixture.Ago(time.Second))
	// From 10 s ago: 2 s before watching began, then half a cell, two holders in turn, half a cell
	// until now, and the future.
	must.Same(t, got.Waiting, []float64{-1, 1, 2, 1.25, 2, -1}, "waiting")
	must.Same(t, got.Holding, []float64{-1, 1, 1, 1, 1, -1}, "holding")
	most, share := Summary(got.Waiting)
	must.Same(t, []float64{most, share}, []float64{2, 1}, "the most waiting, and the share")
}

// Dropped samples are unknown, not zero.
func TestContentionOfDroppedSamples(t *testing.T) {
	m := laneMemory{}
	log := &screen.EventLog{}
	for i := range 2 * leftKept {
		c := fixture.Entry(fmt.Sprint(i), 0, 0)
		c.HeldSince = fixture.In(time.Duration(i) * time.Second)
		log.Add([]inspect.Event{{Kind: inspect.EventReleased, Lock: fixture.Orders().ID, At: fixture.In(time.Duration(i) * time.Second), Contender: &c}})
	}
	m.read(log, fixture.Orders().ID)
	first := m.ended[0].At
	must.True(t, m.from.Before(first) && first.Sub(m.from) <= time.Second, "remembered from", first, "known from", m.from)
}

func TestHistogram(t *testing.T) {
	ms := func(list ...int) (sorted []time.Duration) {
		for _, n := range list {
			sorted = append(sorted, time.Duration(n)*time.Millisecond)
		}
		return sorted
	}
	for _, test := range []struct {
		sorted []time.Duration
		most   int
		want   Histogram
	}{
		{nil, 2, Histogram{ms(0, 1), []int{0, 0}}},
		{ms(0, 1, 9, 10, 99), 3, Histogram{ms(0, 1, 10), []int{1, 2, 2}}},
		{ms(90_000_000), 0, Histogram{ms(0), []int{1}}},
		{ms(1_500, 3_000), 20, Histogram{fineClasses, []int{7: 1, 8: 1, 13: 0}}},
	} {
		got := NewHistogram(test.sorted, test.most)
		must.Same(t, got.From, test.want.From, test.sorted, "in", test.most)
		must.Same(t, got.Counts, test.want.Counts, test.sorted, "in", test.most)
	}
	must.Equal(t, Percentile(ms(1, 2, 3, 4), 50), 2*time.Millisecond, "p50")
	must.Equal(t, Percentile(ms(1, 2, 3, 4), 99), 4*time.Millisecond, "p99")
}

func TestFitting(t *testing.T) {
	for oldest, want := range map[time.Duration]time.Duration{
		5 * time.Second: 30 * time.Second, 40 * time.Second: time.Minute, 14 * time.Minute: 15 * time.Minute, 26 * time.Hour: time.Hour,
	} {
		l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("a", oldest, oldest)}}
		must.Equal(t, Fitting(LanesOf(l, PastLock{}, fixture.Noon), fixture.Noon, 30*time.Second), want, oldest)
	}
}
