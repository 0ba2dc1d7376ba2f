package zksource_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

var (
	churnFor   = flag.Duration("churn", 0, "churn locks for so long at least in TestThePictureUnderChurn, while servers restart")
	churnLocks = flag.Int("churn.locks", 30, "locks in TestThePictureUnderChurn")
)

// Locks come, change and go on a real ensemble while its servers are restarted one after another. In the end every
// lock is reported as the servers have it, with one watch on the root. (That no goroutine is left, goleak checks at the end.)
func TestThePictureUnderChurn(t *testing.T) {
	t.Parallel()
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	var addrs []string
	for _, zks := range servers {
		addrs = append(addrs, zks.Addr)
	}
	conn := ensembleClient(t, addrs)
	churn := &churner{conn: conn, names: make([]string, *churnLocks)}
	until(t, func() error {
		_, err := conn.Create("/locks", nil, 0, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
	for i := range churn.names {
		churn.names[i] = fmt.Sprintf("/locks/l%04d", i)
	}

	v := sourcetest.NewView(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- zksource.NewHasty(zksource.Config{Backend: "zk", Servers: addrs, Roots: []string{"/locks"}}).Run(ctx, v.Emit)
	}()
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })

	stop := make(chan struct{})
	var churning sync.WaitGroup
	for seed := range uint64(4) {
		churning.Go(func() { churn.run(t, seed, stop) })
	}
	for start := time.Now(); ; {
		for _, zks := range servers {
			zks.Stop(t)
			zks.Restart(t)
			v.Await("connected again", func() bool { return v.Backend.State == inspect.Connected })
		}
		if time.Since(start) >= *churnFor {
			break
		}
	}
	close(stop)
	churning.Wait()

	want := churn.onServers(t)
	v.Await("the picture is what is on the servers", func() bool {
		for _, p := range churn.names {
			var got []string
			if l := v.Locks[p]; l != nil {
				for _, c := range slices.Concat(l.Holders, l.Waiters) {
					got = append(got, fmt.Sprintf("%s %x", string(c.Name), c.Owner.Session))
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want[p]) {
				return false
			}
		}
		return v.Backend.Cost.Watches == 1 && v.Backend.State == inspect.Connected
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// churner makes and deletes contenders of its session in locks.
type churner struct {
	conn  *zk.Conn
	names []string
}

func ensembleClient(t *testing.T, addrs []string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect(addrs, 30*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}

// lost reports whether a request failed because its server went away.
func lost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

// until repeats what fails because a server went away.
func until(t *testing.T, request func() error) {
	t.Helper()
	limit := time.Now().Add(sourcetest.Limit)
	for {
		err := request()
		if err == nil {
			return
		}
		if !lost(err) || time.Now().After(limit) {
			t.Error(err)
			return
		}
		time.Sleep(pause)
	}
}

// pause is between two changes of one goroutine.
const pause = 5 * time.Millisecond

// run changes a lock every few milliseconds until stop is closed; what fails with its server is left as it is.
func (c *churner) run(t *testing.T, seed uint64, stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(seed, 12))
	acl := zk.WorldACL(zk.PermAll)
	var mine []string
	for {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		lock := c.names[random.IntN(len(c.names))]
		var err error
		switch {
		case len(mine) > 40 || len(mine) > 0 && random.IntN(2) == 0:
			i := random.IntN(len(mine))
			err = c.conn.Delete(mine[i], -1)
			mine = slices.Delete(mine, i, i+1)
		case random.IntN(20) == 0:
			err = c.conn.Delete(lock, -1)
		default:
			var made string
			if made, err = c.conn.Create(lock+"/"+guid+"__lock__", []byte("c"), contender, acl); errors.Is(err, zk.ErrNoNode) {
				_, err = c.conn.Create(lock, nil, 0, acl)
			} else if err == nil {
				mine = append(mine, made)
			}
		}
		if err != nil && !lost(err) && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) && !errors.Is(err, zk.ErrNodeExists) {
			t.Error(err)
			return
		}
	}
}

// onServers are the contenders of each lock that has any, with their sessions.
func (c *churner) onServers(t *testing.T) map[string][]string {
	t.Helper()
	want := map[string][]string{}
	until(t, func() error { _, err := c.conn.Sync("/locks"); return err })
	for _, lock := range c.names {
		until(t, func() error {
			want[lock] = nil
			names, _, err := c.conn.Children(lock)
			for _, name := range names {
				_, stat, err := c.conn.Exists(lock + "/" + name)
				if err != nil {
					return err
				}
				want[lock] = append(want[lock], fmt.Sprintf("%s %x", name, stat.EphemeralOwner))
			}
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
		slices.Sort(want[lock])
	}
	return want
}
