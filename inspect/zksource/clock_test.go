package zksource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func rulesOf(found []inspect.Finding) (rules []string) {
	for _, f := range found {
		rules = append(rules, f.Rule)
	}
	return rules
}

// heldFor is how long the holder has held a lock, in words for the user.
func heldFor(t *testing.T, cfg zksource.Config, l *inspect.Lock) describe.Held {
	t.Helper()
	snapshot := observe(t, cfg)
	return describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}.Held(l, &l.Holders[0])
}

// wrongClock is a scene with a contended lock on a server whose clock is off.
func wrongClock(t *testing.T, ahead time.Duration, words ...string) *scene {
	t.Helper()
	s := embedded(t, zkserver.Config{Words: words})
	s.zks.Embedded.SetClock(ahead)
	s.contended("/l")
	return s
}

// The server's clock is hours off, and a waiter has just queued behind a new holder. Our own
// connection or the AdminServer's date shows the offset, and no lock is stuck.
func TestSingleLookDetectsWrongClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			s := wrongClock(t, ahead)
			b, l := look(t, s.cfg)
			if off := b.ClockOffset() - ahead; !b.ClockKnown() || off.Abs() > b.Clock.Within+time.Millisecond {
				t.Errorf("the offset %+v is wrong by %v", b.Clock, off)
			}
			must.True(t, !slices.Contains(rulesOf(l.Findings), "stuck-holder"), l.Findings)
			must.True(t, slices.Contains(rulesOf(b.Findings), "clock-skew"), b.Findings)
			if held := heldFor(t, s.cfg, l); held.Known == describe.About || held.Duration > time.Hour {
				t.Errorf("held %v", held)
			}
		})
	}
}

// No release is advised if the server's clock is unknown.
func TestUnknownClockAdvisesNoRelease(t *testing.T) {
	t.Parallel()
	s := wrongClock(t, -2*time.Hour, "srvr")
	b, l := look(t, s.cfg)
	must.True(t, !b.ClockKnown(), b.Clock)
	i := slices.Index(rulesOf(l.Findings), "stuck-holder")
	if i < 0 {
		t.Fatalf("%+v", l.Findings)
	}
	f := l.Findings[i]
	must.Equal(t, f.Severity, inspect.Warning, "severity")
	must.Equal(t, f.Confidence, recipe.Possible, "confidence")
	must.True(t, !strings.Contains(f.Advice(), "release"), f.Advice())
	must.Contain(t, f.Advice(), "date")
	held := heldFor(t, s.cfg, l)
	must.Equal(t, held.Known, describe.About, held)
	must.Contain(t, held.String(), "about 2h")
}

func TestFutureNodeRevealsFastClock(t *testing.T) {
	t.Parallel()
	b, _ := look(t, wrongClock(t, 2*time.Hour, "srvr").cfg)
	if off := b.ClockOffset(); b.ClockKnown() || off < 2*time.Hour-time.Minute || off > 2*time.Hour {
		t.Errorf("%+v", b.Clock)
	}
}

// The clock is the leader's, whichever member we are connected to.
func TestSingleLookUsesLeadersClock(t *testing.T) {
	t.Parallel()
	_, s := onEnsemble(t, servertest.EnsembleConfig{})
	s.cfg.Admin = nil
	for range 6 {
		if b, l := look(t, s.cfg); !b.ClockKnown() || l == nil || b.Clock.Offset.Abs() > b.Clock.Within {
			t.Errorf("%+v, servers %+v", b.Clock, b.Servers)
		}
	}
}

// After a server restart, clients may reconnect until their sessions expire. Meanwhile, none of
// them counts as gone, and no watch as missing.
func TestReturningClientsAreNotGhosts(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	wire := servertest.StartWire(t, zks.Addr)
	holder := onServer(t, &servertest.ZooKeeper{Addr: wire.Addr()}).as(20 * time.Second)
	waiter := holder.as(20 * time.Second)
	held := holder.queue("/l", "a")[0]
	waiter.create("/l/"+guid2+"__lock__", "b", contender)
	waiter.lookAfter(held)
	see := func() (b *inspect.Backend, l *inspect.Lock) {
		b, l = look(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}})
		if l == nil || len(l.Waiters) != 1 {
			t.Fatalf("%+v, %+v", b, l)
		}
		for _, rule := range rulesOf(l.Findings) {
			must.True(t, rule != "ghost-owner" && rule != "missing-watch", l.Findings)
		}
		return b, l
	}
	must.Become(t, "the holder is 6 s old", func() bool {
		_, l := see()
		return time.Since(l.Holders[0].Since) > 6*time.Second
	})
	restarted := time.Now()
	zks.Kill(t)
	wire.Stop(servertest.ToServer)
	wire.Reset()
	zks.Restart(t)
	b, l := see()
	if b.DisturbedAt.Before(restarted) || l.Waiters[0].Watch != inspect.Unconfirmed {
		t.Errorf("disturbed at %v, restarted at %v; watch %v", b.DisturbedAt, restarted, l.Waiters[0].Watch)
	}
	if len(l.Holders) != 1 || l.Holders[0].Owner.Client != "" {
		t.Errorf("the holder has reconnected: %+v", l.Holders)
	}
	wire.Heal()
	must.Become(t, "both have reconnected", func() bool {
		_, l := see()
		return l.Holders[0].Owner.Client != "" && l.Waiters[0].Watch == inspect.Confirmed
	})
}

// A server that hangs is down. Its locks age until it answers again.
func TestHungServersLockAges(t *testing.T) {
	t.Parallel()
	s := onServer(t, servertest.StartZooKeeper(t))
	s.queue("/lock", "a")
	v := s.watchHastily()
	v.awaitState("/lock", inspect.StateHeld)
	asOf := func(now time.Time) (at time.Time) {
		v.Peek(func() { at = v.Locks["/lock"].AsOf(v.Backend, now) })
		return at
	}
	now := time.Now()
	must.Equal(t, asOf(now), now, "as of")
	hung := time.Now()
	s.zks.Pause(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down && v.Backend.Error != "" })
	if at := asOf(time.Now()); at.After(hung) || hung.Sub(at) > 10*time.Second {
		t.Errorf("as of %v, hung since %v", at, hung)
	}
	s.zks.Resume(t)
	v.awaitConnection(inspect.Connected)
	v.Peek(func() { must.True(t, v.Backend.DisturbedAt.After(hung), "disturbed at", v.Backend.DisturbedAt) })
}

func TestPolledLockAgesUntilReadAgain(t *testing.T) {
	t.Parallel()
	s := embedded(t, zkserver.Config{WithoutAddWatch: true})
	s.queue("/l", "a")
	v := s.watchHastily()
	var read time.Time
	v.awaitLock("/l", "polled", func(l *inspect.Lock) bool { read = l.ReadAt; return l.Polled })
	v.awaitLock("/l", "a later read", func(l *inspect.Lock) bool { return l.ReadAt.After(read) })
	v.Peek(func() {
		l := v.Locks["/l"]
		must.True(t, l.AsOf(v.Backend, time.Now()).Equal(l.ReadAt), "as of another time than", l.ReadAt)
	})
}
