package inspect_test

import (
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/recipe"
	"lockscope/internal/suspend"
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

// Our own clock is set while a lock is held: it is held for as long as before, and nobody is told that it is stuck.
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

// mustHold compares for how long the holder has held with four minutes, where that was seen.
func mustHold(t *testing.T, o *inspect.Observer, now time.Time, seen bool, when string) *inspect.Lock {
	t.Helper()
	o.Publish(now)
	s := o.Snapshot()
	l := s.Lock(inspect.ID{Backend: "b", Path: "/l"})
	h := &l.Holders[0]
	for _, at := range []time.Time{now, now.Round(0)} {
		if got, known := s.Age(l, h, h.HeldSince, at); seen != known || known && got.Duration != 4*time.Minute {
			t.Errorf("%s: held for %v, known %v", when, got.Duration, known)
		}
	}
	for _, f := range l.Findings {
		if f.Rule == "stuck-holder" {
			t.Errorf("%s: %s", when, f.Message)
		}
	}
	return l
}

// The machine is suspended while a lock is held: it is held for so much longer, also when the source has forgotten the distance of the
// servers' clock, and measured it anew.
func TestAHoldGoesOnWhileThisMachineIsSuspended(t *testing.T) {
	const slept = 8 * time.Hour
	for _, kind := range []inspect.BackendKind{inspect.ZooKeeper, inspect.Redis} {
		for _, ahead := range []time.Duration{0, 5 * time.Second} {
			clock := time.Now()
			o := inspect.NewObserver(func() time.Time { return clock }, nil)
			began, entered := clock, clock.Round(0).Add(-time.Minute)
			o.Apply(inspect.Update{Backend: backendAhead(kind, ahead), Put: []*inspect.Lock{contended(kind, "before", entered, clock)}})
			o.Apply(inspect.Update{Put: []*inspect.Lock{contended(kind, "h", entered, clock)}})
			granted := clock.Round(0).Add(ahead)
			suspend.Pretend(slept)
			clock = sourcetest.WallSet(t, began.Add(4*time.Minute), slept)
			check := func(when string) {
				o.Publish(clock)
				s := o.Snapshot()
				l := s.Lock(inspect.ID{Backend: "b", Path: "/l"})
				for _, at := range []time.Time{clock, clock.Round(0)} {
					if got, known := s.Age(l, &l.Holders[0], l.Holders[0].HeldSince, at); !known || (got.Duration-slept-4*time.Minute).Abs() > 100*time.Millisecond {
						t.Errorf("%s, %v ahead, %s: held for %v, known %v", kind, ahead, when, got.Duration, known)
					}
				}
				if h := l.Holders[0]; when != "forgotten" && h.HeldSince.Round(0).Sub(granted).Abs() > 100*time.Millisecond {
					t.Errorf("%s, %v ahead, %s: held since %v by the servers' clock, was %v", kind, ahead, when, h.HeldSince, granted)
				}
			}
			o.Beat(clock)
			check("awake")
			forgotten := backendAhead(kind, 0)
			forgotten.Clock.Known, forgotten.Servers[0].ClockKnown = false, false
			o.Apply(inspect.Update{Backend: forgotten})
			check("forgotten")
			o.Apply(inspect.Update{Backend: backendAhead(kind, ahead)})
			check("measured anew")
		}
	}
}

// Our own clock is set while a lock cannot be read, or a servers' clock is measured: when it can be again it is no older.
func TestALockThatIsHiddenWhileAClockIsSetIsNoOlder(t *testing.T) {
	for _, known := range []bool{true, false} {
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			clock := time.Now()
			began, entered := clock, clock.Round(0).Add(-time.Minute)
			o := inspect.NewObserver(func() time.Time { return clock }, nil)
			backend := func(ahead time.Duration) *inspect.Backend {
				b := backendAhead(inspect.ZooKeeper, ahead)
				b.Clock.Known = known
				return b
			}
			o.Apply(inspect.Update{Backend: backend(0), Put: []*inspect.Lock{contended(inspect.ZooKeeper, "before", entered, clock)}})
			o.Apply(inspect.Update{Put: []*inspect.Lock{contended(inspect.ZooKeeper, "h", entered, clock)}})
			hidden := contended(inspect.ZooKeeper, "h", entered, clock)
			hidden.State, hidden.Holders, hidden.Waiters = inspect.StateUnknown, nil, nil
			o.Apply(inspect.Update{Put: []*inspect.Lock{hidden}})
			clock = sourcetest.WallSet(t, began.Add(4*time.Minute), by)
			o.Beat(clock)
			ahead := time.Duration(0)
			if known {
				ahead = -by - 5*time.Second
			}
			o.Apply(inspect.Update{Backend: backend(ahead)})
			o.Apply(inspect.Update{Put: []*inspect.Lock{contended(inspect.ZooKeeper, "h", entered, clock)}})
			mustHold(t, o, clock, true, "read again")
		}
	}
}
