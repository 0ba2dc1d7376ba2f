package redissource_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/redissource"
	"lockscope/internal/servertest"
)

// flushStorm is a view of many locks that are renewed all the time, and how they end.
type flushStorm struct {
	t     *testing.T
	keys  []string
	c     *redis.Client
	taken chan *inspect.Snapshot
	held  map[inspect.ID]bool
	ends  map[inspect.EventKind]int
}

func newFlushStorm(t *testing.T, locks int) *flushStorm {
	t.Helper()
	m := servertest.StartRedis(t)
	cfg := pushConfig(m)
	cfg.Timeout = 20 * time.Second
	cfg.Budget.Pushes, cfg.Budget.Reads = 10_000_000, 1000 // else it is polled: never
	o := inspect.NewObserver(time.Now, redissource.New(cfg))
	s := &flushStorm{t: t, c: client(t, m), taken: make(chan *inspect.Snapshot, 1000), held: map[inspect.ID]bool{}, ends: map[inspect.EventKind]int{}}
	for i := range locks {
		s.keys = append(s.keys, fmt.Sprintf("lock:%d", i))
	}
	ctx, stop := context.WithCancel(context.Background())
	sub := o.Subscribe()
	var tasks sync.WaitGroup
	t.Cleanup(tasks.Wait)
	t.Cleanup(stop)
	tasks.Go(func() { _ = o.Run(ctx) })
	tasks.Go(func() {
		for {
			snap, err := sub.Next(ctx)
			if err != nil {
				return
			}
			select {
			case s.taken <- snap:
			case <-ctx.Done():
				return
			}
		}
	})
	s.await("push", func(snap *inspect.Snapshot) bool {
		b := snap.Backends
		return len(b) == 1 && b[0].Mode == inspect.ModePush && b[0].FirstPass
	})
	return s
}

// await takes in what is published until something holds.
func (s *flushStorm) await(what string, ok func(*inspect.Snapshot) bool) {
	s.t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case snap := <-s.taken:
			for i := range snap.Events {
				switch e := &snap.Events[i]; e.Kind {
				case inspect.EventAcquired, inspect.EventHandover:
					s.held[e.Lock] = true
				case inspect.EventReleased, inspect.EventExpired, inspect.EventLost, inspect.EventForced, inspect.EventEnded:
					delete(s.held, e.Lock)
					s.ends[e.Kind]++
				}
			}
			if snap.Dropped > 0 {
				s.t.Fatalf("%d events were dropped", snap.Dropped)
			}
			if ok(snap) {
				return
			}
		case <-limit.C:
			s.t.Fatalf("%s: not within two minutes; %d held, ends: %v", what, len(s.held), s.ends)
		}
	}
}

// round has all keys held and renewed, ends them, and returns how they ended.
func (s *flushStorm) round(end func(context.Context)) map[inspect.EventKind]int {
	s.t.Helper()
	ctx := context.Background()
	s.each(s.keys, func(p redis.Pipeliner, key string) { p.Set(ctx, key, "x", time.Hour) })
	s.await("held", func(*inspect.Snapshot) bool { return len(s.held) == len(s.keys) })
	clear(s.ends)
	stop := make(chan struct{})
	var renewers sync.WaitGroup
	for half := range 2 {
		renewers.Go(func() {
			keys := s.keys[half*len(s.keys)/2 : (half+1)*len(s.keys)/2]
			for n := 0; ; n++ {
				s.each(keys, func(p redis.Pipeliner, key string) { p.PExpire(ctx, key, time.Hour+time.Duration(n)*time.Second) })
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // of renewals
	end(ctx)
	time.Sleep(10 * time.Millisecond) // and of those after it
	close(stop)
	renewers.Wait()
	s.await("gone", func(*inspect.Snapshot) bool { return len(s.held) == 0 })
	return s.ends
}

func (s *flushStorm) each(keys []string, do func(redis.Pipeliner, string)) {
	for len(keys) > 0 {
		n := min(100, len(keys))
		if _, err := s.c.Pipelined(context.Background(), func(p redis.Pipeliner) error {
			for _, key := range keys[:n] {
				do(p, key)
			}
			return nil
		}); err != nil {
			s.t.Error(err)
			return
		}
		keys = keys[n:]
	}
}

// TestAFlushOfManyLocksGivesNoneBack has locks renewed while all end at once: none of them was released by a flush, and none lost where all
// were deleted. More locks, and more of it: LOCKSCOPE_STORM=8000,20.
func TestAFlushOfManyLocksGivesNoneBack(t *testing.T) {
	locks, rounds := 1000, 2
	if more := os.Getenv("LOCKSCOPE_STORM"); more != "" {
		if _, err := fmt.Sscanf(more, "%d,%d", &locks, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	s := newFlushStorm(t, locks)
	for range rounds {
		for name, tt := range map[string]struct {
			end   func(context.Context)
			never inspect.EventKind
		}{
			"flushed":                          {s.flush, inspect.EventReleased},
			"deleted":                          {func(ctx context.Context) { s.del(ctx, s.keys) }, inspect.EventLost},
			"deleted, and another one's flush": {s.delAndFlushAnother, inspect.EventLost},
		} {
			start := time.Now()
			ends := s.round(tt.end)
			t.Logf("%s: %v in %v", name, ends, time.Since(start).Round(time.Millisecond))
			if ends[tt.never] > 0 {
				t.Errorf("%s: %v", name, ends)
			}
		}
	}
}

func (s *flushStorm) flush(ctx context.Context) {
	if err := s.c.FlushAll(ctx).Err(); err != nil {
		s.t.Error(err)
	}
}

func (s *flushStorm) del(ctx context.Context, keys []string) {
	s.each(keys, func(p redis.Pipeliner, key string) { p.Del(ctx, key) })
}

// delAndFlushAnother deletes all keys, and has another database flushed in the middle of it.
func (s *flushStorm) delAndFlushAnother(ctx context.Context) {
	s.del(ctx, s.keys[:len(s.keys)/2])
	other := s.c.Conn()
	defer other.Close()
	if err := cmp.Or(other.Select(ctx, 3).Err(), other.FlushDB(ctx).Err()); err != nil {
		s.t.Error(err)
	}
	s.del(ctx, s.keys[len(s.keys)/2:])
}
