package describe

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestEventsOfBackendsInWords(t *testing.T) {
	from := time.Date(2026, 11, 21, 3, 0, 1, 0, time.Local)
	must.Equal(t, Blind(inspect.Interval{From: from, To: from.Add(33 * time.Second)}), "nothing was seen from 03:00:01 to 03:00:34 (33s)")
	for what, want := range map[inspect.ChangeKind]string{
		inspect.ChangedLeader: "b is the leader now, instead of a\\u{1b}",
		inspect.ChangedMaster: "b is the master now, instead of a\\u{1b}: locks that were not replicated are gone",
		inspect.Restarted:     "b restarted: locks that it had not persisted are gone",
	} {
		must.Equal(t, Change(&inspect.Change{What: what, From: "a\x1b", To: "b"}), want, what)
	}
}

// Waiters that we cannot see do not count as zero.
func TestUnseenWaitersAreNotZero(t *testing.T) {
	hidden := []inspect.Unseen{{Aspect: inspect.AspectWaiters, Where: "r1", Read: "LRANGE", Right: "+lrange"}}
	waits := []inspect.Contender{{Name: "w", State: inspect.Waiting}}
	holds := []inspect.Contender{{Name: "h", State: inspect.Holding}}
	for _, tt := range []struct {
		l              inspect.Lock
		length, phrase string
	}{
		{inspect.Lock{}, "0", "no waiters"},
		{inspect.Lock{Unseen: hidden}, "?", "waiters unknown"},
		{inspect.Lock{Unseen: hidden, Waiters: waits}, "≥1", "1 waiting"},
		{inspect.Lock{WaitersAtLeast: 2}, "≥2", "at least 2 unseen waiters"},
		{inspect.Lock{Waiters: waits}, "1", "1 waiting"},
	} {
		tt.l.Holders, tt.l.State = holds, inspect.StateHeld
		must.Equal(t, QueueLength(&tt.l), tt.length)
		tt.l.Masters = []inspect.Vote{{Addr: "r1", Up: true, Present: true, Held: &recipe.Record{Recipe: "redisson"}}}
		v := View{Snapshot: inspect.NewSnapshot(time.Now(), nil, nil), Now: time.Now()}
		if tt.phrase == "no waiters" {
			continue // verdicts about Redis leave that out
		}
		must.Contain(t, v.Verdict(&tt.l), tt.phrase)
	}
}

// If a lock's library does not record waiters, the servers cannot tell that no client waits.
func TestQueueLength(t *testing.T) {
	votes := []inspect.Vote{{Addr: "a:1", Up: true, Present: true}}
	w := inspect.Contender{Name: "w", State: inspect.Waiting}
	semaphore := inspect.Lock{Kind: inspect.KindSemaphore, Waiters: []inspect.Contender{w}}
	first := inspect.Contender{Name: "f", State: inspect.Holding, BlockedBelow: 2}
	wrong := inspect.Finding{Subject: inspect.Subject{Contender: "f"}, Evidence: map[string]any{"instead": "w"}}
	misled := inspect.Lock{Waiters: []inspect.Contender{first, w}, Findings: []inspect.Finding{{}, wrong}}
	said(t, [][3]string{
		{"blocked", Blocks(&misled, &first) + Blocks(&semaphore, &inspect.Contender{State: inspect.Holding}) + Blocks(&semaphore, &w), "2?"},
		{"watched", fmt.Sprint(WatchesBehind(&misled, &first) == &misled.Waiters[1], WatchesBehind(&misled, &w) == nil), "true true"},
		{"events", EventKind(inspect.EventHandover) + " " + EventKind(inspect.EventCleared), "handoff cleared"},
		{"ZooKeeper", QueueLength(&inspect.Lock{Recipe: "curator", State: inspect.StateHeld}), "0"},
		{"a plain key", QueueLength(&inspect.Lock{Recipe: "redis-py", State: inspect.StateHeld, Masters: votes}), "?"},
		{"without an owner", QueueLength(&inspect.Lock{Recipe: "redis-py", State: inspect.StateFree, Masters: votes}), "0"},
		{"subscribers counted", QueueLength(&inspect.Lock{Recipe: "redisson", State: inspect.StateHeld, Masters: votes}), "0"},
		{"some are known", QueueLength(&inspect.Lock{Recipe: "redisson", State: inspect.StateContended, Masters: votes, WaitersAtLeast: 2}), "≥2"},
		{"refused", QueueLength(&inspect.Lock{Recipe: "curator", State: inspect.StateHeld, Unseen: []inspect.Unseen{{Aspect: inspect.AspectWaiters}}}), "?"},
	})
}
