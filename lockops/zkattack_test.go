package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// slowClose closes slowly, as TLS does when its peer does not read.
type slowClose struct{ net.Conn }

func (c slowClose) Close() error {
	time.Sleep(50 * time.Millisecond) // longer than a redial takes
	return c.Conn.Close()
}

// A waiter's watch is set again on the next connection, however long the old one takes to close.
func TestAWaiterOutlivesAReconnect(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s := zkSession(t, p.addr(), lockops.WithSessionTimeout(20*time.Second),
			lockops.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				return slowClose{conn}, nil
			}))
		_, got := queueUp(t, within(t), mutexOn(s, path))
		p.cut()
		time.Sleep(200 * time.Millisecond) // the server drops the old watch with its connection
		must.Become(t, "the waiter watches again", func() bool { return len(watchedBy(t, server, s)) != 0 })
		release(t, holder)
		release(t, granted(t, got))
	})
}

// A directory whose counter is used up repeats its last number, so it cannot order contenders.
func TestADirectoryWithoutNumbersIsRefused(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Numbers: map[string]int32{"/q": math.MaxInt32 - 1, "/s": math.MaxInt32 - 1}})
	s := zkSession(t, server.Addr)
	for path, recipe := range map[string]string{"/q": "curator", "/s": "sequential"} {
		l := lockops.NewZKMutex(s, path, lockops.WithRecipe(recipe))
		h := acquire(t, l) // gets the second-to-last number
		for range 2 {
			_, err := l.Acquire(within(t))
			must.True(t, err != nil && contains(err, "another directory"), recipe, err)
		}
		release(t, h)
		_, err := l.TryAcquire(within(t))
		must.True(t, err != nil && contains(err, "another directory"), recipe, "after the release", err)
		must.Same(t, children(t, server, path), nil, recipe, "nodes left")
	}
}

// A node of the program itself, named like ours except for the number, survives a search for our
// lost node. That holds whether ours was created or not.
func TestAnAdoptedConnectionsNodesAreSpared(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		for _, created := range []bool{true, false} {
			path := servertest.UniquePath(t) + fmt.Sprint(created)
			p := startProxy(t, server.Addr)
			s, conn := adopted(t, p.addr())
			l := mutexOn(s, path, lockops.WithRecipe("sequential"))
			release(t, acquire(t, l()))
			own, err := conn.Create(path+"/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			must.Succeed(t, err)
			lost := &p.cutRequest
			if created {
				lost = &p.cutReply
			}
			lost.Store(opCreate)
			_, got := queueUp(t, within(t), l)
			if names := children(t, server, path); len(names) != 2 || path+"/"+names[0] != own {
				t.Fatalf("created %v: queue %q, want %s and one of ours", created, names, own)
			}
			must.Succeed(t, conn.Delete(own, -1))
			release(t, granted(t, got))
		}
	})
}

// The program's watch on a node survives when our waiter gives up its watch on the same node.
func TestAnAdoptedConnectionsWatchesAreSpared(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		h := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s, conn := adopted(t, server.Addr)
		_, _, fired, err := conn.GetW(path + "/" + h.Name())
		must.Succeed(t, err)
		ctx, cancel := context.WithCancel(within(t))
		_, got := queueUp(t, ctx, mutexOn(s, path))
		cancel()
		if a := <-got; !errors.Is(a.err, context.Canceled) {
			t.Fatal(a.err)
		}
		s.Close()
		release(t, h)
		select {
		case <-fired:
		case <-time.After(time.Minute):
			t.Fatal("the program's watch never fired")
		}
	})
}

// While a session searches for a lost node, an Acquire in another directory still ends with its
// context.
func TestASearchDelaysNoAcquire(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(40*time.Second))
	lost, other := lockops.NewZKMutex(s, "/lost", lockops.WithRecipe("sequential")), lockops.NewZKMutex(s, "/other", lockops.WithRecipe("sequential"))
	for _, l := range []lockops.Locker{lost, other} {
		release(t, acquire(t, l))
	}
	ctx, cancel := context.WithCancel(within(t))
	p.asked()
	p.mute.Store(opSync)
	p.cutReply.Store(opCreate)
	got := begin(ctx, lost)
	must.Become(t, "the search has started", func() bool { return slices.Contains(p.asked(), opSync) })
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	start := time.Now()
	if h, err := other.Acquire(short); err == nil {
		release(t, h)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("an Acquire with a timeout of 100 ms returned after %v", took)
	}
	cancel()
	select {
	case a := <-got:
		must.Be(t, a.err, context.Canceled)
	case <-time.After(10 * time.Second): // the connection is given up after 13 s
		t.Error("a cancelled Acquire waits for the search")
	}
	p.mute.Store(0)
	p.cut()
}

// Extend returns when the hold is lost, even if no server answers and its context has not ended.
func TestExtendReturnsOnLoss(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 500 * time.Millisecond})
	p := startProxy(t, server.Addr)
	h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(5*time.Second)), "/lock"))
	p.blackHole.Store(true)
	must.Be(t, returned(t, "Extend", func() error { return h.Extend(within(t)) }), lockops.ErrLost)
	p.blackHole.Store(false)
}
