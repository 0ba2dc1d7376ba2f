package inspect_test

import (
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/recipe"
)

// contended is a lock that one holds and another waits for. A key does not tell when its holder entered.
func contended(kind inspect.BackendKind, holder string, entered, at time.Time) *inspect.Lock {
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "b", Path: "/l"}, Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: at,
		Holders: []inspect.Contender{{Name: inspect.Untrusted(holder), State: inspect.Holding, Count: 1, Since: entered}},
		Waiters: []inspect.Contender{{Name: "w", State: inspect.Waiting, Count: 1, Watches: inspect.Untrusted(holder)}},
	}
	if kind == inspect.Redis {
		l.Masters = []inspect.Vote{{Addr: "r:6379", Up: true, Present: true, NoExpiry: true, Agrees: true, Value: "v"}}
		l.Recipe, l.Holders[0].Since = "lockscope", time.Time{}
	}
	return l
}

// backendAhead is a backend whose clock is ahead of ours by so much, as is known.
func backendAhead(kind inspect.BackendKind, by time.Duration) *inspect.Backend {
	b := &inspect.Backend{
		Name: "b", Kind: kind, Mode: inspect.ModeWatch, State: inspect.Connected, FirstPass: true,
		Servers: []inspect.Server{{Addr: "s", State: inspect.ServerUp, ClockKnown: true, ClockOffset: by}},
	}
	if kind == inspect.ZooKeeper {
		b.Clock = inspect.LeaderClock{Offset: by, Known: true, From: 1}
	}
	return b
}

// Our own clock is set while a lock is held: it is held, and was seen, for as long as before, and nobody is told that it is stuck.
func TestAClockOfOursThatIsSetMakesNoHoldOlder(t *testing.T) {
	for _, kind := range []inspect.BackendKind{inspect.ZooKeeper, inspect.Redis} {
		for name, seen := range map[string]bool{"grant seen": true, "held before": false} {
			for _, by := range []time.Duration{time.Hour, -time.Hour} {
				t.Run(string(kind)+", "+name+", by "+by.String(), func(t *testing.T) {
					clock := time.Now()
					o := inspect.NewObserver(func() time.Time { return clock }, nil)
					o.Diagnose(finding.Rules(), 10*time.Minute)
					began := clock
					entered := began.Round(0).Add(-time.Minute)
					first := "h"
					if seen {
						first = "before"
					}
					o.Apply(inspect.Update{Backend: backendAhead(kind, 0), Put: []*inspect.Lock{contended(kind, first, entered, clock)}})
					o.Apply(inspect.Update{Put: []*inspect.Lock{contended(kind, "h", entered, clock)}})
					granted := clock.Round(0)
					clock = sourcetest.WallSet(t, began.Add(4*time.Minute), by)
					o.Beat(clock)
					mustHold(t, o, clock, seen, "before the servers' clock is measured anew")
					o.Apply(inspect.Update{Backend: backendAhead(kind, -by)})
					l := mustHold(t, o, clock, seen, "measured anew")
					if h := l.Holders[0]; seen && h.HeldSince.Round(0).Sub(granted).Abs() > time.Second {
						t.Errorf("held since %v by the servers' clock, was %v", h.HeldSince, granted)
					}
				})
			}
		}
	}
}

// mustHold compares since when the holder is seen with four minutes ago, and how long it has held where that was seen.
func mustHold(t *testing.T, o *inspect.Observer, now time.Time, seen bool, when string) *inspect.Lock {
	t.Helper()
	o.Publish(now)
	s := o.Snapshot()
	l := s.Lock(inspect.ID{Backend: "b", Path: "/l"})
	h := &l.Holders[0]
	if got := now.Round(0).Sub(h.Seen.Time()); got != 4*time.Minute {
		t.Errorf("%s: seen for %v", when, got)
	}
	for _, at := range []time.Time{now, now.Round(0)} {
		if got, known := s.Age(l, h, h.HeldSince, at); seen != known || known && got.Duration != 4*time.Minute {
			t.Errorf("%s: held for %v, known %v", when, got.Duration, known)
		}
	}
	if history := s.History(l.ID); seen && now.Round(0).Sub(history.Since.Round(0)) != 4*time.Minute {
		t.Errorf("%s: history %+v", when, history)
	}
	for _, f := range l.Findings {
		if f.Rule == "stuck-holder" {
			t.Errorf("%s: %s", when, f.Message)
		}
	}
	return l
}
