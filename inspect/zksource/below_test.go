package zksource_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// generations are servers of different ages. A server with only one of multiRead and addWatch counts
// as old.
var generations = map[string]zkserver.Config{
	"3.5":             {WithoutMultiRead: true, WithoutAddWatch: true},
	"multiRead alone": {WithoutAddWatch: true},
	"addWatch alone":  {WithoutMultiRead: true},
	"3.6":             {},
}

// Every generation shows the same locks.
func TestServerGenerationsGiveSameResult(t *testing.T) {
	t.Parallel()
	for name, cfg := range generations {
		t.Run(name, func(t *testing.T) {
			s := onEmbedded(t, cfg)
			s.cfg.Roots = []string{"/locks"}
			s.dirs("/locks")
			lock := func(i int) string { return fmt.Sprintf("/locks/l%03d", i) }
			var first string
			for i := range 60 {
				first = s.queue(lock(i), "a", "b")[0]
			}
			v := s.watchHastily()
			for i := range 60 {
				v.awaitLock(lock(i), "contended", func(l *inspect.Lock) bool {
					return l.State == inspect.StateContended && l.Waiters[0].Owner.Label == "b"
				})
			}
			old := cfg.WithoutMultiRead || cfg.WithoutAddWatch
			v.Peek(func() {
				b := v.Backend
				must.Equal(t, strings.Contains(b.Reading, "polled"), old, b.Reading)
				must.Equal(t, strings.Contains(b.Reading, "one watch per root"), !old, b.Reading)
				must.Equal(t, b.Cost.Watches == 1, !old, "one watch")
				must.True(t, b.Lost == 0 && b.State == inspect.Connected, b)
				must.Equal(t, v.Locks[lock(0)].Polled, old, "polled")
			})
			follows(v, s, lock(59), "/locks/new1")
			v.loseSession(s)
			s.remove(first)
			v.awaitState(lock(59), inspect.StateHeld)
			follows(v, s, lock(59), "/locks/new2")
		})
	}
}

// follows expects a new contender, its departure and a new lock.
func follows(v watching, s *scene, lock, fresh string) {
	s.t.Helper()
	created, before := s.join(lock, fresh), 0
	v.awaitLock(lock, "one more contender", func(l *inspect.Lock) bool {
		before = l.Contention()
		return len(l.Waiters) > 0 && string(l.Waiters[len(l.Waiters)-1].Owner.Label) == fresh
	})
	s.remove(created)
	v.awaitLock(lock, "its departure", func(l *inspect.Lock) bool { return l.Contention() == before-1 })
	s.queue(fresh, "d")
	v.awaitHolder(fresh, "d")
}

func TestThrottledRequestsAreAskedAgain(t *testing.T) {
	t.Parallel()
	for name, cfg := range generations {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			throttling := map[int32]bool{3: true, 4: true, 8: true, 12: true, 22: true, 106: true} // reads and watches
			var on atomic.Bool
			cfg.Throttled = func(op int32) bool { return on.Load() && throttling[op] && asked.Add(1)%3 == 1 }
			s := onEmbedded(t, cfg)
			s.cfg.Roots = []string{"/locks"}
			s.dirs("/locks")
			for i := range 5 {
				s.queue(fmt.Sprint("/locks/", i), "a")
			}
			on.Store(true)
			v := s.watchHastily()
			for i := range 5 {
				v.awaitHolder(fmt.Sprint("/locks/", i), "a")
			}
			v.Peek(func() {
				many := strings.Contains(v.Backend.Reading, "many reads per request")
				must.Equal(t, many, !cfg.WithoutMultiRead && !cfg.WithoutAddWatch, v.Backend.Reading)
				must.True(t, len(v.Backend.Unseen) == 0 && asked.Load() >= 4, "unseen", v.Backend.Unseen, "after", asked.Load())
			})
		})
	}
}

// readsAll expects that number of contenders of one client.
func (s *scene) readsAll(dir string, contenders int) {
	s.t.Helper()
	v := s.once()
	l := demand(s.t, v.Locks[s.root+dir], fmt.Sprint("kazoo mutex contended 1+", contenders-1))
	must.Equal(s.t, v.Backend.Lost, 0, "connections lost")
	for _, w := range l.Waiters {
		must.Equal(s.t, w.Owner.Session, s.conn.SessionID(), w.Name, "was not read")
	}
}

func TestNodesWithMuchDataAreRead(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := onServer(t, zks).as(40 * time.Second) // so much data delays pings on a busy machine
	s.cfg.Timeout = time.Minute
	s.queue("/l", slices.Repeat([]string{strings.Repeat("x", 900_000)}, 12)...)
	s.readsAll("/l", 12)
}

// A server closes the connection if one request has fifty long paths.
func TestNodesWithLongPathsAreRead(t *testing.T) {
	eachServer(t, func(_ *testing.T, s *scene) {
		long := "/" + strings.Repeat("l", 30_000)
		s.queue(long, slices.Repeat([]string{"x"}, 60)...)
		s.readsAll(long, 60)
	})
}
