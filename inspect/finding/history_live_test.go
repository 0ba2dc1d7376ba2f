package finding

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// watched is a lock on a real master, watched by an observer with all rules until the test ends.
type watched struct {
	t        *testing.T
	ctx      context.Context
	client   *redis.Client
	observer *inspect.Observer
	sub      *inspect.Subscription
	id       inspect.ID
}

func watchKey(t *testing.T, master *servertest.Redis, stuckAfter time.Duration) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	w := &watched{t: t, ctx: ctx, client: redis.NewClient(&redis.Options{Addr: master.Addr}), id: inspect.ID{Backend: "redis", Path: servertest.UniqueName(t)}}
	w.observer = inspect.NewObserver(time.Now, redissource.New(redissource.Config{
		Backend: "redis", Only: w.id.Path, Tick: 20 * time.Millisecond, Timeout: 30 * time.Second, Masters: []*redis.UniversalOptions{{Addrs: []string{master.Addr}}},
	}))
	w.observer.Diagnose(Rules(), stuckAfter)
	w.sub = w.observer.Subscribe()
	done := make(chan error, 1)
	go func() { done <- w.observer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Be(t, <-done, nil)
		w.client.Close()
	})
	w.await("first pass", func(s *inspect.Snapshot) bool { return len(s.Backends) > 0 && s.Backends[0].FirstPass })
	return w
}

func (w *watched) await(what string, ok func(*inspect.Snapshot) bool) {
	w.t.Helper()
	for !ok(w.observer.Snapshot()) {
		if _, err := w.sub.Next(w.ctx); err != nil {
			w.t.Fatalf("%s: %v; %+v", what, err, w.observer.Snapshot().Lock(w.id))
		}
	}
}

func (w *watched) awaitLock(what string, ok func(*inspect.Lock) bool) {
	w.t.Helper()
	w.await(what, func(s *inspect.Snapshot) bool {
		l := s.Lock(w.id)
		return l != nil && ok(l)
	})
}

// has reports whether a rule has a finding about the lock.
func (w *watched) has(l *inspect.Lock, rule string) bool {
	return slices.ContainsFunc(l.Findings, func(f inspect.Finding) bool {
		if f.Rule == rule {
			readable(w.t, f)
		}
		return f.Rule == rule
	})
}

func (w *watched) heldBy(name string) func(*inspect.Lock) bool {
	return func(l *inspect.Lock) bool { return len(l.Holders) == 1 && string(l.Holders[0].Name) == name }
}

func (w *watched) do(args ...any) {
	w.t.Helper()
	if err := w.client.Do(w.ctx, args...).Err(); err != nil {
		w.t.Fatalf("%v: %v", args, err)
	}
}

// renew extends the key this many times, each after the previous renewal was seen.
func (w *watched) renew(times int, ttl, every time.Duration) {
	w.t.Helper()
	beat := time.NewTicker(every)
	defer beat.Stop()
	for range times {
		<-beat.C // the rhythm of the watchdog
		end := w.observer.Snapshot().Lock(w.id).Holders[0].ExpiresAt
		w.do("PEXPIRE", w.id.Path, ttl.Milliseconds())
		w.awaitLock("key renewed", func(l *inspect.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].ExpiresAt.After(end) })
	}
}

const first = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:1"

// A key that is no longer renewed as before is reported while it lasts.
func TestStoppedRenewalIsFoundLive(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		w := watchKey(t, masters[0], time.Hour)
		w.do("HSET", w.id.Path, first, 1)
		w.do("PEXPIRE", w.id.Path, 12000)
		w.awaitLock("lock held", w.heldBy(first))
		w.renew(6, 12*time.Second, 2400*time.Millisecond)
		if l := w.observer.Snapshot().Lock(w.id); w.has(l, "renewal-stopped") {
			t.Errorf("found while renewed: %+v", l.Findings)
		}
		w.awaitLock("renewal-stopped", func(l *inspect.Lock) bool { return w.has(l, "renewal-stopped") })
		w.do("DEL", w.id.Path) // its client stops its work, as advised
		w.awaitLock("free without findings", func(l *inspect.Lock) bool { return l.State == inspect.StateFree && len(l.Findings) == 0 })
	})
}

// A key renewed for longer than 8 s while another client waits is reported, until it expires.
func TestZombieRenewalIsFoundLive(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		w := watchKey(t, masters[0], 8*time.Second)
		waiter := w.client.Subscribe(w.ctx, "redisson_lock__channel:{"+w.id.Path+"}")
		defer waiter.Close()
		must.Have(waiter.Receive(w.ctx))(t)
		w.do("HSET", w.id.Path, first, 1)
		w.do("PEXPIRE", w.id.Path, 12000)
		w.awaitLock("lock held with a waiter", func(l *inspect.Lock) bool { return w.heldBy(first)(l) && l.WaitersAtLeast == 1 })
		w.renew(6, 12*time.Second, 300*time.Millisecond)
		if l := w.observer.Snapshot().Lock(w.id); w.has(l, "zombie-renewal") {
			t.Errorf("found after a short hold: %+v", l.Findings)
		}
		w.renew(24, 12*time.Second, 300*time.Millisecond)
		w.awaitLock("zombie-renewal", func(l *inspect.Lock) bool { return w.has(l, "zombie-renewal") })
		// No more renewals, as after a restart of its process.
		w.awaitLock("expired without the finding", func(l *inspect.Lock) bool { return l.State == inspect.StateFree && !w.has(l, "zombie-renewal") })
	})
}
