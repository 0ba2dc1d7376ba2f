package inspect

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A history that snapshots share does not change.
func TestSharedHistoryStaysTheSame(t *testing.T) {
	a := applying(t)
	a.play(t, "0 up; queue 11 12 13\n10 queue 12 13")
	first := a.locks.get(a.id).Observed.History
	a.play(t, "14 queue 13\n history: grants 2, handovers 2, holds 1, waits 2")
	must.Equal(t, a.next(t).History(a.id).Grants, 2, "grants in a snapshot")
	got := []int{first.Grants, len(first.Recent), first.Holds.Count}
	must.Same(t, got, []int{1, 1, 0}, "grants, recent grants and holds of the first state")
}

// The latest former locks keep their histories; older ones are dropped.
func TestHistoriesOfFormerLocksAreBounded(t *testing.T) {
	a := applying(t)
	come := func(path string, second int) {
		l := at(queueAt(t, path, strconv.Itoa(100+second)), second)
		a.send(second, Update{Put: []*Lock{l}})
		a.send(second, Update{Gone: []ID{l.ID}})
	}
	a.send(0, Update{Backend: zkUp})
	come("/first", 1)
	for i := range 2 * formerLocks {
		come([]string{"/a", "/b"}[i%2], 2)
	}
	must.Same(t, []int{len(a.former), len(a.tracks)}, []int{3, 3}, "former locks, histories")
	for i := range 2 * formerLocks {
		come("/"+strconv.Itoa(i), 3)
	}
	must.Same(t, []int{len(a.former), len(a.tracks)}, []int{1000, 1000}, "former locks, histories")
}

func TestPercentilesOfManySpans(t *testing.T) {
	var d durations
	for i := range 1000 {
		d.add(time.Duration(i+1) * 10 * time.Millisecond)
		if i == 19 {
			must.Equal(t, d.spans(), Spans{20, 100 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond}, "a few")
		}
	}
	d.add(48 * time.Hour)
	must.Equal(t, d.spans(), Spans{1001, 9510 * time.Millisecond, 10 * time.Second, 48 * time.Hour})
}
