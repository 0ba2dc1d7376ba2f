package lockops_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// eachRW runs a test on every kind of server with every recipe.
func eachRW(t *testing.T, f func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option)) {
	t.Helper()
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		for _, name := range []string{"curator", "kazoo", "madelson", "sequential"} {
			t.Run(name, func(t *testing.T) { f(t, server, servertest.UniquePath(t), lockops.WithRecipe(name)) })
		}
	})
}

// reentrantMaker makes the read (r) or write (w) side of a lock WithReentry.
func reentrantMaker(s *lockops.ZKSession, path string, mode byte, opts ...lockops.Option) maker {
	return func(more ...lockops.Option) lockops.Locker {
		m := lockops.NewZKRWMutex(s, path, slices.Concat(opts, more, []lockops.Option{lockops.WithReentry()})...)
		if mode == 'r' {
			return m.Read()
		}
		return m.Write()
	}
}

// reentrantReader is the read side of a lock WithReentry.
func reentrantReader(s *lockops.ZKSession, path string, opts ...lockops.Option) lockops.Locker {
	return reentrantMaker(s, path, 'r', opts...)()
}

// reentrantWriter is the write side of a lock WithReentry.
func reentrantWriter(s *lockops.ZKSession, path string, opts ...lockops.Option) lockops.Locker {
	return reentrantMaker(s, path, 'w', opts...)()
}

// Contenders arrive one after the other, and all current holders leave together.
func TestReadersShareAndWritersQueue(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		sessions := []*lockops.ZKSession{zkSession(t, server.Addr), zkSession(t, server.Addr)}
		for _, tt := range []struct {
			come  string
			hold  []string // holders after the first arrival, after the first holders left, and so on
			tries string   // sides whose TryAcquire succeeds when all have arrived
		}{
			{"r", []string{"0"}, "r"},
			{"w", []string{"0"}, ""},
			{"rrr", []string{"012"}, "r"},
			{"ww", []string{"0", "1"}, ""},
			{"rw", []string{"0", "1"}, ""},
			{"wrr", []string{"0", "12"}, ""},
			{"rwrr", []string{"0", "1", "23"}, ""},
			{"rrwrwrr", []string{"01", "2", "3", "4", "56"}, ""},
		} {
			path := servertest.UniquePath(t)
			come(t, sessions, path, tt.come, tt.hold, tt.tries, recipe)
			must.Same(t, children(t, server, path), nil, "nodes left")
		}
	})
}

func come(t *testing.T, sessions []*lockops.ZKSession, path, modes string, hold []string, tries string, recipe lockops.Option) {
	t.Helper()
	results := make([]<-chan acquired, len(modes))
	for i := range modes {
		l := reentrantMaker(sessions[i%2], path, modes[i], recipe)
		if strings.ContainsRune(hold[0], rune('0'+i)) {
			got := make(chan acquired, 1)
			got <- acquired{h: acquire(t, l())}
			results[i] = got
			continue
		}
		_, results[i] = mustQueue(t, within(t), l)
	}
	for _, mode := range "rw" {
		h, err := reentrantMaker(sessions[0], path, byte(mode), recipe)().TryAcquire(within(t))
		must.Equal(t, err == nil, strings.ContainsRune(tries, mode), modes, "TryAcquire of", string(mode), "succeeds")
		releaseUnless(t, h, err, lockops.ErrHeld)
	}
	var last uint64 // token of the last write
	for _, together := range hold {
		var holds []*lockops.Hold
		for _, i := range together {
			a := <-results[i-'0']
			if a.err != nil {
				t.Fatalf("%s: %c: %v", modes, i, a.err)
			}
			token, ok := a.h.Token()
			must.True(t, ok && token > last, modes, string(i), "has token", token, ok, "the last write", last)
			if modes[i-'0'] == 'w' {
				last = token
			}
			holds = append(holds, a.h)
		}
		for i, r := range results {
			must.Equal(t, len(r), 0, modes, i, "granted during", together)
		}
		release(t, holds...)
	}
}

// A reader watches the earlier writer that its recipe prescribes. A writer watches the entry right
// before it, reader or writer.
func TestZ9_ReadersWatchAWriter(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		const modes = "rwrwrr"
		watches := []int{-1, 0, 1, 2, 3, 3}          // the last writer before a reader
		if strings.HasSuffix(t.Name(), "/curator") { // InterProcessReadWriteLock.readLockPredicate
			watches = []int{-1, 0, 1, 2, 1, 1} // the first writer
		}
		var names []string
		var sessions []*lockops.ZKSession
		var results []<-chan acquired
		first := acquire(t, reentrantWriter(zkSession(t, server.Addr), path, recipe)) // so that all of them wait at first
		for i := range modes {
			s := zkSession(t, server.Addr)
			n, got := mustQueue(t, within(t), reentrantMaker(s, path, modes[i], recipe))
			names, sessions, results = append(names, n), append(sessions, s), append(results, got)
		}
		release(t, first)
		held := granted(t, results[0])
		for i, before := range watches[1:] {
			must.Become(t, modes[:i+2]+": the last one watches the right node", func() bool {
				return slices.Equal(watchedBy(t, server, sessions[i+1]), []string{path + "/" + names[before]})
			})
		}
		release(t, held)
		for _, r := range results[1:] {
			release(t, granted(t, r))
		}
	})
}

// A writer can acquire a read and keep it when it releases the write. No other client gets in
// between.
func TestZ20_ReadInsideOfAWrite(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		s := zkSession(t, server.Addr)
		w := acquire(t, reentrantWriter(s, path, recipe))
		_, second := mustQueue(t, within(t), reentrantMaker(zkSession(t, server.Addr), path, 'w', recipe))
		_, behind := mustQueue(t, within(t), reentrantMaker(zkSession(t, server.Addr), path, 'r', recipe))
		written, _ := w.Token()

		r := must.Have(reentrantReader(s, path, recipe).Acquire(w.Context()))(t)
		must.True(t, r.Name() != w.Name() && slices.Contains(children(t, server, path), r.Name()), r.Name(), "is not a separate node")
		token, _ := r.Token()
		must.Equal(t, token, written, "the read's token")
		again := must.Have(reentrantReader(s, path, recipe).TryAcquire(w.Context()))(t)
		must.Equal(t, again.Name(), r.Name(), "a second read inside the write")
		release(t, again)
		inner := must.Have(reentrantWriter(s, path, recipe).Acquire(r.Context()))(t)
		must.Equal(t, inner.Name(), w.Name(), "a write inside the read inside the write")
		release(t, inner)

		release(t, w)
		must.Succeed(t, context.Cause(r.Context()))
		must.Be(t, r.Extend(within(t)), nil)
		for _, mode := range []byte("rw") {
			refused(t, reentrantMaker(s, path, mode, recipe)(), lockops.ErrHeld, mode, "during the read, with a writer waiting")
		}
		_, err := reentrantWriter(s, path, recipe).Acquire(r.Context())
		must.Be(t, err, lockops.ErrUpgrade, "a write inside the remaining read")
		must.Equal(t, len(second)+len(behind), 0, "grants to other clients during the read")
		release(t, r)
		for _, next := range []<-chan acquired{second, behind} {
			h := granted(t, next)
			tokensGrow(t, w, h)
			release(t, h)
		}
	})
}

// A write inside a read is refused, since it would wait for itself.
func TestZ20_NoUpgrade(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		m := lockops.NewZKRWMutex(zkSession(t, server.Addr), path, recipe)
		r := acquire(t, m.Read())
		for _, try := range []func(context.Context) (*lockops.Hold, error){m.Write().Acquire, m.Write().TryAcquire} {
			_, err := try(r.Context())
			must.Be(t, err, lockops.ErrUpgrade)
			must.True(t, contains(err, path), err)
		}
		must.Same(t, children(t, server, path), []string{r.Name()}, "nodes")
		release(t, r)
		release(t, must.Have(m.Write().Acquire(context.WithoutCancel(r.Context())))(t)) // the read has been released
	})
}

// Each side can be re-entered with the context of a hold on the lock. The last release frees it.
func TestZ21_EachSideReenters(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		s := zkSession(t, server.Addr)
		for _, mode := range []byte("rw") {
			path := servertest.UniquePath(t)
			l := reentrantMaker(s, path, mode)
			outer := acquire(t, l())
			inner := must.Have(l().Acquire(outer.Context()))(t)
			must.Equal(t, inner.Name(), outer.Name(), "re-entered hold")
			must.Same(t, children(t, server, path), []string{outer.Name()}, "nodes")
			release(t, outer)
			refused(t, reentrantWriter(s, path), lockops.ErrHeld, mode, "TryAcquire of a write during the inner hold")
			release(t, inner)
			release(t, acquire(t, reentrantWriter(s, path)))
		}
	})
}

// Concurrent reads inside a write leave no nodes, even if the write is released first.
func TestZ20_ManyReadsInsideOfAWrite(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		s := zkSession(t, server.Addr)
		l := reentrantReader(s, path, recipe)
		for range 5 {
			w := acquire(t, reentrantWriter(s, path, recipe))
			done := make(chan error, 8)
			for range cap(done) {
				go func() {
					h, err := l.Acquire(context.WithoutCancel(w.Context())) // the write may be released first
					if err == nil {
						err = h.Release(context.Background())
					}
					done <- err
				}()
			}
			release(t, w)
			for range cap(done) {
				must.Be(t, <-done, nil)
			}
			must.Same(t, children(t, server, path), nil, "nodes left")
		}
	})
}

// Kinds of locks that would not wait for each other refuse to share a directory, and leave no
// nodes.
func TestIncompatibleLockKindsAreRefused(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		s := zkSession(t, server.Addr)
		for _, tt := range []struct{ holder, comer, found, foundKind, wantKind string }{
			{"mutex curator", "rw curator", "curator", "mutex", "read-write lock"},
			{"mutex go-zookeeper", "rw curator", "go-zookeeper", "mutex", "read-write lock"},
			{"rw curator", "mutex curator", "curator", "read-write lock", "mutex"},
			{"rw curator", "mutex go-zookeeper", "curator", "read-write lock", "mutex"},
			{"mutex sequential", "rw sequential", "sequential", "mutex", "read-write lock"},
			{"mutex sequential", "rw madelson", "sequential", "mutex", "read-write lock"},
			{"rw sequential", "mutex sequential", "madelson", "read-write lock", "mutex"},
			{"rw kazoo", "rw curator", "kazoo", "", ""},
			{"rw madelson", "rw kazoo", "madelson", "", ""},
			{"mutex kazoo", "rw sequential", "kazoo", "", ""},
			{"mutex kazoo", "mutex curator", "kazoo", "", ""},
			{"mutex kazoo", "mutex sequential", "kazoo", "", ""},
		} {
			path := servertest.UniquePath(t)
			lock := func(words string) lockops.Locker {
				kind, recipe, _ := strings.Cut(words, " ")
				if kind == "rw" {
					return reentrantReader(s, path, lockops.WithRecipe(recipe))
				}
				return lockops.NewZKMutex(s, path, lockops.WithRecipe(recipe))
			}
			h := acquire(t, lock(tt.holder))
			_, want, _ := strings.Cut(tt.comer, " ")
			for _, try := range []func(context.Context) (*lockops.Hold, error){lock(tt.comer).Acquire, lock(tt.comer).TryAcquire} {
				_, err := try(within(t))
				var refused *lockops.RecipeError
				if !errors.As(err, &refused) || refused.Want != want || refused.Found != tt.found || refused.Child != h.Name() ||
					refused.FoundKind != tt.foundKind || refused.WantKind != tt.wantKind || !contains(err, path, tt.found, tt.foundKind, h.Name()) {
					t.Errorf("%s with a holder of %s: %v, want a RecipeError", tt.comer, tt.holder, err)
				}
			}
			must.Equal(t, len(children(t, server, path)), 1, tt.comer, "with a holder of", tt.holder, "nodes")
			release(t, h)
		}
	})
}

// Kazoo names the nodes of its mutex and of its writers alike.
func TestKazooMutexQueuesWithReaders(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s, kazoo := zkSession(t, server.Addr), lockops.WithRecipe("kazoo")
		r := acquire(t, reentrantReader(s, path, kazoo))
		_, mutex := mustQueue(t, within(t), mutexMaker(s, path, kazoo))
		_, second := mustQueue(t, within(t), reentrantMaker(s, path, 'r', kazoo))
		release(t, r)
		h := granted(t, mutex)
		must.Equal(t, len(second), 0, "readers granted next to the mutex")
		release(t, h)
		release(t, granted(t, second))
	})
}
