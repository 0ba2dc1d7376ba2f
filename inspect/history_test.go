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
	must.True(t, first.Grants == 1 && len(first.Recent) == 1 && first.Holds.Count == 0, first)
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
	if len(a.former) != 3 || len(a.tracks) != 3 {
		t.Errorf("%d former locks, %d histories of three", len(a.former), len(a.tracks))
	}
	for i := range 2 * formerLocks {
		come("/"+strconv.Itoa(i), 3)
	}
	if len(a.former) > formerLocks || len(a.tracks) > formerLocks {
		t.Errorf("%d former locks, %d histories", len(a.former), len(a.tracks))
	}
}

func TestPercentilesOfManySpans(t *testing.T) {
	var d durations
	for i := range 1000 {
		d.add(time.Duration(i+1) * 10 * time.Millisecond)
		if i == 19 && d.spans() != (Spans{Count: 20, P50: 100 * time.Millisecond, P99: 200 * time.Millisecond, Max: 200 * time.Millisecond}) {
			t.Errorf("a few: %+v", d.spans())
		}
	}
	d.add(48 * time.Hour)
	must.Equal(t, d.spans(), Spans{Count: 1001, P50: 9510 * time.Millisecond, P99: 10 * time.Second, Max: 48 * time.Hour})
}
