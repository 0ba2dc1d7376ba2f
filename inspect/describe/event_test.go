package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

func TestEventsOfBackendsInWords(t *testing.T) {
	from := time.Date(2026, 11, 21, 3, 0, 1, 0, time.Local)
	if got := Blind(inspect.Interval{From: from, To: from.Add(33 * time.Second)}); got != "nothing was seen from 03:00:01 to 03:00:34 (33s)" {
		t.Errorf("%q", got)
	}
	for what, want := range map[inspect.ChangeKind]string{
		inspect.ChangedLeader: "b is the leader now; it was a\\u{1b}",
		inspect.ChangedMaster: "b is the master now; it was a\\u{1b}",
		inspect.Restarted:     "b restarted",
	} {
		if got := Change(&inspect.Change{What: what, From: "a\x1b", To: "b"}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// Invisible waiters do not count as none.
func TestQueuesThatCannotBeSeen(t *testing.T) {
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
		if got := QueueLength(&tt.l); got != tt.length {
			t.Errorf("%q, want %q", got, tt.length)
		}
		tt.l.Masters = []inspect.Vote{{Addr: "r1", Up: true, Present: true, Held: &recipe.Record{Recipe: "redisson"}}}
		v := View{Snapshot: inspect.NewSnapshot(time.Now(), nil, nil), Now: time.Now()}
		if tt.phrase == "no waiters" {
			continue // on Redis that is not said
		}
		if got := v.Verdict(&tt.l); !strings.Contains(got, tt.phrase) {
			t.Errorf("%q lacks %q", got, tt.phrase)
		}
	}
}

// Of a lock whose library writes no waiters down the servers do not know that no client waits.
func TestQueueLength(t *testing.T) {
	votes := []inspect.Vote{{Addr: "a:1", Up: true, Present: true}}
	for _, test := range []struct {
		name string
		lock inspect.Lock
		want string
	}{
		{"ZooKeeper", inspect.Lock{Recipe: "curator", State: inspect.StateHeld}, "0"},
		{"a plain key", inspect.Lock{Recipe: "redis-py", State: inspect.StateHeld, Masters: votes}, "?"},
		{"of nobody", inspect.Lock{Recipe: "redis-py", State: inspect.StateFree, Masters: votes}, "0"},
		{"subscribers counted", inspect.Lock{Recipe: "redisson", State: inspect.StateHeld, Masters: votes}, "0"},
		{"some are known", inspect.Lock{Recipe: "redisson", State: inspect.StateContended, Masters: votes, WaitersAtLeast: 2}, "≥2"},
		{"refused", inspect.Lock{Recipe: "curator", State: inspect.StateHeld, Unseen: []inspect.Unseen{{Aspect: inspect.AspectWaiters}}}, "?"},
	} {
		if got := QueueLength(&test.lock); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
