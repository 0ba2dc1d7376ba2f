package lockops_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// The reply to a create request is lost for each side, and for a read inside a write. The node is
// found again.
func TestZ1_LostCreateReplyOfEachSide(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		p := startProxy(t, server.Addr)
		s := zkSession(t, p.addr())
		release(t, acquire(t, reentrantReader(s, path, recipe))) // creates the directory
		for _, mode := range []byte("rw") {
			p.cutReply.Store(opCreate)
			h := acquire(t, reentrantMaker(s, path, mode, recipe)())
			must.Same(t, children(t, server, path), []string{h.Name()}, "nodes")
			if mode == 'w' {
				p.cutReply.Store(opCreate)
				r := must.Have(reentrantReader(s, path, recipe).Acquire(h.Context()))(t)
				must.Equal(t, len(children(t, server, path)), 2, "nodes")
				p.cutReply.Store(opDelete)
				defer release(t, r)
			}
			release(t, h)
		}
	})
}

// If a writer's node is deleted, a read inside the write is refused, since another client may have
// the lock. A read granted before continues.
func TestZ5_AWritersNodeIsDeleted(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		for _, before := range []bool{false, true} {
			s := zkSession(t, server.Addr)
			w := acquire(t, reentrantWriter(s, path, recipe))
			var r *lockops.Hold
			if before {
				r = must.Have(reentrantReader(s, path, recipe).Acquire(w.Context()))(t)
			}
			must.Succeed(t, plain(t, server.Addr).Delete(path+"/"+w.Name(), -1))
			if !before {
				_, err := reentrantReader(s, path, recipe).Acquire(w.Context())
				must.Be(t, err, lockops.ErrLost, "a read inside a write without a node")
			}
			<-w.Context().Done()
			must.Be(t, w.Release(within(t)), lockops.ErrLost, "release of the write")
			if before {
				refused(t, reentrantWriter(s, path, recipe), lockops.ErrHeld, "TryAcquire of a write during the read")
				release(t, r)
			}
			becomeEmpty(t, server, path)
		}
	})
}

func TestZ11_CancelledReadInsideOfAWrite(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		s := zkSession(t, server.Addr)
		for range 40 {
			w := acquire(t, reentrantWriter(s, path, recipe))
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(rand.N(1500))*time.Microsecond)
			r, err := reentrantReader(s, path, recipe).Acquire(ctx)
			cancel()
			must.Succeed(t, context.Cause(w.Context()))
			release(t, w)
			releaseUnless(t, r, err, context.DeadlineExceeded)
			becomeEmpty(t, server, path)
		}
	})
}

// When a reader that downgraded from a write is cut off, its hold ends before the next writer is
// granted the lock.
func TestZ13_ReaderLossPrecedesNextWriter(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		s := zkSession(t, p.addr(), lockops.WithSessionTimeout(6*time.Second))
		w := acquire(t, reentrantWriter(s, path))
		h := must.Have(reentrantReader(s, path).Acquire(w.Context()))(t)
		release(t, w)
		lossPrecedesGrant(t, p, h, reentrantMaker(zkSession(t, server.Addr), path, 'w'))
	})
}

func TestReadersAndWritersExcludeEachOther(t *testing.T) {
	eachRW(t, func(t *testing.T, server *servertest.ZooKeeper, path string, recipe lockops.Option) {
		proxies := []*proxy{startProxy(t, server.Addr), startProxy(t, server.Addr)}
		sessions := []*lockops.ZKSession{zkSession(t, proxies[0].addr()), zkSession(t, proxies[1].addr()), zkSession(t, server.Addr)}
		var rw inUse
		if underRaceDetector {
			t.Log("without broken connections: go-zookeeper has a data race when it sets its watches again (lastZxid)")
		}
		var all sync.WaitGroup
		var grants atomic.Int32
		for i := range 9 {
			all.Go(func() {
				for round := range 12 {
					if i < 2 && round%4 == 1 && !underRaceDetector {
						proxies[i].cut()
					}
					grants.Add(int32(rw.visit(t, sessions[i%3], path, recipe)))
				}
			})
		}
		all.Wait()
		must.True(t, grants.Load() != 0, "the lock was never granted")
		becomeEmpty(t, server, path)
	})
}

// inUse counts the holders of a lock.
type inUse struct{ readers, writers atomic.Int32 }

func (u *inUse) enter(t testing.TB, mode byte) {
	var readers, writers int32 // other holders
	if mode == 'w' {
		writers = u.writers.Add(1) - 1
		readers = u.readers.Load()
	} else {
		u.readers.Add(1)
		writers = u.writers.Load()
	}
	must.True(t, readers == 0 && writers == 0, string(mode), "was granted the lock along with", readers, "readers and", writers, "writers")
}

func (u *inUse) leave(mode byte) {
	map[byte]*atomic.Int32{'w': &u.writers, 'r': &u.readers}[mode].Add(-1)
}

// visit tries to acquire the lock once in a random way, and returns the number of grants.
func (u *inUse) visit(t testing.TB, s *lockops.ZKSession, path string, recipe lockops.Option) int {
	mode := "rrw"[rand.N(3)]
	l := reentrantMaker(s, path, mode, recipe)()
	ctx := limited(t, time.Duration(rand.N(60)+1)*time.Millisecond)
	take := l.Acquire
	switch rand.N(4) {
	case 0:
		take = l.TryAcquire
	case 1:
		ctx = within(t)
	}
	h, err := take(ctx)
	if err != nil {
		isAny(t, err, lockops.ErrHeld, context.DeadlineExceeded)
		return 0
	}
	u.enter(t, mode)
	if mode == 'w' && rand.N(2) == 0 {
		r, err := reentrantReader(s, path, recipe).Acquire(h.Context())
		if must.Be(t, err, nil); err == nil {
			u.leave('w')
			u.enter(t, 'r')
			mode = 'r'
			must.Be(t, h.Release(within(t)), nil)
			h = r
		}
	}
	time.Sleep(time.Duration(rand.N(1000)) * time.Microsecond) // long enough to notice others inside
	u.leave(mode)
	must.Be(t, h.Release(within(t)), nil)
	return 1
}
