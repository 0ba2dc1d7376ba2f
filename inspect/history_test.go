package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
)

func (a *applied) history() *History { return a.locks.get(ID{"zk", "/l"}).Observed.History }

func TestHistoryOfAQueue(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12 13")}, Backend: zkUp})
	if h := a.history(); h != nil {
		t.Errorf("nothing happened, but the history is %+v", h)
	}
	a.send(10, Update{Put: []*Lock{at(queueOf(t, "12 13"), 10)}})
	first := a.history()
	a.send(14, Update{Put: []*Lock{at(queueOf(t, "13"), 14)}})
	a.send(15, Update{Put: []*Lock{at(queueOf(t, ""), 15)}})
	seconds := func(from, to, end int) Span {
		s := Span{Ended: now.Add(time.Duration(end) * time.Second), Queued: now, Granted: now.Add(time.Duration(from) * time.Second)}
		s.Contender, s.Session = Untrusted(fmt.Sprintf("%s__lock__%010d", guid, to)), int64(to)
		return s
	}
	before := seconds(0, 11, 10)
	before.Granted = time.Time{} // held before the first read
	want := &History{
		Since: now, Grants: 2, Handovers: 2,
		Holds:  Spans{Count: 2, P50: time.Second, P99: 4 * time.Second, Max: 4 * time.Second},
		Waits:  Spans{Count: 2, P50: 10 * time.Second, P99: 14 * time.Second, Max: 14 * time.Second},
		Recent: []Span{before, seconds(10, 12, 14), seconds(14, 13, 15)},
	}
	must.Equal(t, cmp.Diff(want, a.history()), "")
	if first.Grants != 1 || len(first.Recent) != 1 || first.Holds.Count != 0 {
		t.Errorf("a shared history changed: %+v", first)
	}
	a.send(16, Update{Gone: []ID{{"zk", "/l"}}})
	a.send(17, Update{Put: []*Lock{at(queueOf(t, "20"), 17)}})
	if h := a.history(); h.Grants != 3 || h.Holds.Count != 2 {
		t.Errorf("history of a lock that came back: %+v", h)
	}
}

// A renewal that falls into a gap does not count as skipped.
func TestGapRenewalsAreNotSkipped(t *testing.T) {
	a := applying(t)
	key := func(second, until int) []*Lock {
		v := ballots("x")
		v[0].ExpiresAt = now.Add(time.Duration(until) * time.Second)
		return []*Lock{at(KeyLock(ID{"zk", "/l"}, v, now.Add(time.Duration(second)*time.Second)), second)}
	}
	a.send(0, Update{Put: key(0, 30), Backend: zkUp})
	for _, second := range []int{10, 20, 30} {
		a.send(second, Update{Put: key(second, second+30)})
	}
	a.send(50, Update{Gap: &Gap{Backend: "zk", From: now.Add(31 * time.Second), Until: now.Add(50 * time.Second)}})
	a.send(51, Update{Put: key(51, 59)}) // as read from another server
	if r := a.history().Renewal; r.Count != 3 || !r.Last.Equal(now.Add(51*time.Second)) || r.Skipped != 0 {
		t.Errorf("%+v", r)
	}
}

// Reading an unchanged key again keeps the TTL of the first read as the longest. Otherwise a split
// vote would look new each time and never be reported.
func TestLongestTTLSurvivesRereads(t *testing.T) {
	a := applying(t)
	votes := ballots("x y z")
	for i := range votes {
		votes[i].ExpiresAt = now.Add(30 * time.Second)
	}
	for second := range 8 {
		a.send(second, Update{Put: []*Lock{at(KeyLock(ID{"zk", "/l"}, slices.Clone(votes), now), second)}, Backend: zkUp})
	}
	l := a.locks.get(ID{"zk", "/l"})
	if h := a.byName["zk"].historyOf(l); h == nil || h.LongestTTL != 30*time.Second {
		t.Errorf("%+v", h)
	}
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
	if s := d.spans(); s != (Spans{Count: 1001, P50: 9510 * time.Millisecond, P99: 10 * time.Second, Max: 48 * time.Hour}) {
		t.Errorf("many: %+v", s)
	}
}
