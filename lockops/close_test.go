package lockops_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// closing is a lock of one kind on a session that the test closes.
type closing struct {
	kind lockops.Kind
	name string
	s    lockops.Session
	zk   *servertest.ZooKeeper
	// masters are the Redis servers that the lock uses.
	masters []*servertest.Redis
}

// closeTTL is long enough for Redis locks to survive on a busy machine.
const closeTTL = 20 * time.Second

func (c *closing) session(t *testing.T) lockops.Session {
	if c.kind.On == lockops.OnZooKeeper {
		return zkSession(t, c.zk.Addr)
	}
	return redisSession(t, c.masters...)
}

func (c *closing) lock(t *testing.T, kind lockops.Kind, s lockops.Session, opts ...lockops.Option) lockops.Locker {
	t.Helper()
	if kind.On != lockops.OnZooKeeper {
		opts = append(opts, lockops.WithTTL(closeTTL))
	}
	return lockOf(t, kind, s, c.name, opts...)
}

// occupy acquires all permits of the lock on another session.
func (c *closing) occupy(t *testing.T) (holds []*lockops.Hold) {
	t.Helper()
	kind := c.kind
	if kind.Shared {
		kind = must.Have(lockops.KindNamed(kind.On, "write"))(t)
	}
	l := c.lock(t, kind, c.session(t))
	for range kind.Permits {
		holds = append(holds, acquire(t, l))
	}
	return holds
}

// wait starts an Acquire on the session and returns once it waits.
func (c *closing) wait(t *testing.T) <-chan acquired {
	t.Helper()
	_, got := mustQueue(t, within(t), func(opts ...lockops.Option) lockops.Locker {
		return c.lock(t, c.kind, c.s, opts...)
	})
	return got
}

// nothing waits until the lock has no nodes or keys left. If held is set, a hold was not released,
// and its keys may still have to expire.
func (c *closing) nothing(t *testing.T, held bool) {
	t.Helper()
	must.Become(t, "no nodes or keys of "+c.name+" are left", func() bool {
		if c.kind.On == lockops.OnZooKeeper {
			return !slices.ContainsFunc(append(children(t, c.zk, c.name), append(children(t, c.zk, c.name+"/locks"),
				children(t, c.zk, c.name+"/leases")...)...), func(n string) bool { return n != "locks" && n != "leases" })
		}
		for _, m := range c.masters {
			for _, key := range redisClient(t, m).Keys(within(t), "*"+strings.Trim(c.name, "/")+"*").Val() {
				if slices.Contains(c.kind.AuxiliaryKeys(c.name), key) {
					continue
				}
				left := redisClient(t, m).PTTL(within(t), key).Val()
				if !held || left < 0 || left > closeTTL {
					return false
				}
			}
		}
		return true
	})
}

// closeStates are the states in which the session is closed. run returns whether a hold was left
// unreleased.
var closeStates = []struct {
	name string
	run  func(t *testing.T, c *closing) (held bool)
}{
	{"before the first request", func(t *testing.T, c *closing) bool {
		l := c.lock(t, c.kind, c.s)
		c.s.Close()
		refused(t, l, lockops.ErrClosed)
		must.Be(t, (<-begin(within(t), l)).err, lockops.ErrClosed)
		return false
	}},
	{"asking", func(t *testing.T, c *closing) bool {
		l := c.lock(t, c.kind, c.s)
		got := begin(within(t), l)
		c.s.Close()
		return closedOrLost(t, <-got)
	}},
	{"waiting", func(t *testing.T, c *closing) bool {
		holds := c.occupy(t)
		got := c.wait(t)
		c.s.Close()
		must.Be(t, (<-got).err, lockops.ErrClosed)
		release(t, holds...)
		return false
	}},
	{"being granted", func(t *testing.T, c *closing) bool {
		holds := c.occupy(t)
		got := c.wait(t)
		var all sync.WaitGroup
		for _, h := range holds {
			all.Go(func() { must.Be(t, h.Release(within(t)), nil) })
		}
		c.s.Close()
		all.Wait()
		return closedOrLost(t, <-got)
	}},
	{"holding", func(t *testing.T, c *closing) bool {
		h := acquire(t, c.lock(t, c.kind, c.s))
		c.s.Close()
		closedOrLost(t, acquired{h, nil})
		must.Be(t, h.Release(within(t)), lockops.ErrLost, "release after Close")
		return true
	}},
	{"releasing", func(t *testing.T, c *closing) bool {
		h := acquire(t, c.lock(t, c.kind, c.s))
		done := make(chan error, 1)
		go func() { done <- h.Release(within(t)) }()
		c.s.Close()
		err := <-done
		isAny(t, err, nil, lockops.ErrLost, lockops.ErrClosed)
		return err != nil
	}},
	{"lost", func(t *testing.T, c *closing) bool {
		h := acquire(t, c.lock(t, c.kind, c.s))
		c.deleteNode(t, h)
		must.Be(t, h.Extend(within(t)), lockops.ErrLost, "extend")
		c.s.Close()
		must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
		return false
	}},
}

// closedOrLost checks the result of an Acquire during Close: an error, or a hold that ends.
func closedOrLost(t *testing.T, a acquired) (held bool) {
	t.Helper()
	if a.err != nil {
		must.Be(t, a.err, lockops.ErrClosed)
		return false
	}
	<-a.h.Context().Done()
	isAll(t, context.Cause(a.h.Context()), lockops.ErrLost, lockops.ErrClosed)
	return true
}

// deleteNode deletes the node or keys of a hold, as an operator would.
func (c *closing) deleteNode(t *testing.T, h *lockops.Hold) {
	t.Helper()
	if c.kind.On != lockops.OnZooKeeper {
		for _, m := range c.masters {
			must.Succeed(t, redisClient(t, m).Del(within(t), c.name).Err())
		}
		return
	}
	dir := c.name
	if len(children(t, c.zk, c.name+"/leases")) > 0 {
		dir += "/leases"
	}
	isAny(t, plain(t, c.zk.Addr).Delete(dir+"/"+h.Name(), -1), nil, zk.ErrNoNode)
}

// Close ends every call and hold, whatever state a contender is in. Nothing is left on the servers
// except Redis keys of unreleased holds, which expire.
func TestCloseInEveryState(t *testing.T) {
	t.Parallel()
	ensemble := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	masters := anyMasters(t)
	for _, kind := range lockops.Kinds() {
		for _, state := range closeStates {
			t.Run(kind.Name+" on "+[]string{"zookeeper", "redis", "masters"}[kind.On]+"/"+state.name, func(t *testing.T) {
				c := &closing{kind: kind, zk: ensemble, name: servertest.UniquePath(t)}
				if kind.On != lockops.OnZooKeeper {
					c.masters = mastersOf(kind, masters)
				}
				c.s = c.session(t)
				held := state.run(t, c)
				c.s.Close() // a second call does nothing
				c.nothing(t, held)
			})
		}
	}
}
