package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// queuedKey returns a Redis lock with these processes in queue order, the holder first. "x:gone" is
// a process that is most likely gone.
func queuedKey(path string, subscribers int, words ...string) *Lock {
	r := &recipe.Record{Recipe: "redisson", Confidence: recipe.Certain, Kind: "mutex", WaitersAtLeast: subscribers}
	for i, w := range words {
		name, dead := strings.CutSuffix(w, ":gone")
		r.Claims = append(r.Claims, recipe.Claim{
			Name: name, Label: name, LibraryID: name, Waiting: i > 0, Dead: dead, Since: now.Add(-time.Minute), ExpiresAt: now.Add(time.Minute),
		})
	}
	return KeyLock(ID{"redis", path}, []Vote{{Addr: "r1", Up: true, Present: true, Held: r}}, now)
}

func TestDeadContendersDoNotCount(t *testing.T) {
	for _, tt := range []struct {
		lock    *Lock
		state   State
		waiting int
		blocked []int32 // for the holder, and each in the queue
	}{
		{queuedKey("a", 0, "1", "2", "3"), StateContended, 2, []int32{2, 1, 0}},
		{queuedKey("a", 0, "1", "2:gone", "3"), StateContended, 1, []int32{1, 1, 0}},
		{queuedKey("a", 0, "1", "2", "3:gone"), StateContended, 1, []int32{1, 0, 0}},
		{queuedKey("a", 0, "1", "2:gone", "3:gone"), StateHeld, 0, []int32{0, 0, 0}},
		{queuedKey("a", 2, "1", "2:gone", "3"), StateContended, 2, []int32{1, 1, 0}}, // two subscribers, one of them in the queue
	} {
		l := tt.lock
		got := []int32{l.Holders[0].BlockedBelow}
		for i := range l.Waiters {
			got = append(got, l.Waiters[i].BlockedBelow)
		}
		must.Equal(t, l.State, tt.state, l.Waiters)
		must.Equal(t, l.Waiting(), tt.waiting, l.Waiters)
		must.Same(t, got, tt.blocked, l.Waiters)
	}
}

// A holder is dead if a quorum of masters says so.
func TestQuorumDecidesHolderIsDead(t *testing.T) {
	for dead, want := range []bool{false, false, true, true} {
		var votes []Vote
		for i, addr := range []string{"r1", "r2", "r3"} {
			votes = append(votes, Vote{Addr: addr, Up: true, Present: true, Held: &recipe.Record{
				Recipe: "redisson", Confidence: recipe.Certain, Kind: "mutex", Claims: []recipe.Claim{{Name: "1", Dead: i < dead, ExpiresAt: now.Add(time.Minute)}},
			}})
		}
		must.Equal(t, KeyLock(ID{"redis", "a"}, votes, now).Holders[0].Dead, want, dead, "of 3 say so")
	}
}

func TestDeadWaitersCauseNoDeadlock(t *testing.T) {
	ring := func(second string) *Snapshot {
		return NewSnapshot(now, nil, []*Lock{queuedKey("a", 0, "1", "2"), queuedKey("b", 0, "2", second, "3")})
	}
	must.Equal(t, judged(findCycles(ring("1").Locks())), "a b likely", "with live waiters")
	must.Equal(t, judged(findCycles(ring("1:gone").Locks())), "", "with a dead waiter")
	s := ring("1:gone")
	a := s.Lock(ID{"redis", "a"})
	_, waits, known := s.Elsewhere(a.ID, &a.Holders[0])
	must.True(t, known && len(waits) == 0, "a dead waiter waits for", waits)
	e, ok := s.Culprit(a)
	must.True(t, ok && e.Lock == a, "the culprit of lock a is on", e.Lock)
	// Without process 1, the next live waiter holds the lock.
	b := queuedKey("b", 0, "1", "3:gone", "2").without(&Contender{Name: "1"})
	must.Equal(t, len(b.Holders), 1, "next holders")
	must.Equal(t, b.Holders[0].Name, "2", "next holder")
	must.Equal(t, len(b.Waiters), 0, "waiters left")
}

func TestOutliersAndOvertakingIgnoreDeadWaiters(t *testing.T) {
	var locks []*Lock
	for i := range 80 {
		locks = append(locks, queuedKey("lock:"+string(rune('A'+i)), 0, "w"+string(rune('A'+i)), "hoarder"))
	}
	must.Equal(t, len(findOutliers(slices.Values(locks))["redis"]), 1, "outliers with live waiters")
	for _, l := range locks {
		l.Waiters[0].Dead = true
	}
	must.Equal(t, len(findOutliers(slices.Values(locks))["redis"]), 0, "outliers with dead waiters")
	for _, dead := range []bool{false, true} {
		was, is := queuedKey("a", 0, "1", "2", "3"), queuedKey("a", 0, "3", "2")
		is.Waiters[0].Dead = dead
		var tr track
		tr.granted(change{was: was, is: is}, &Event{Kind: EventHandover, Contender: &is.Holders[0]})
		must.Equal(t, tr.view.Overtaken["2"] == 1, !dead, "overtaken")
	}
}
