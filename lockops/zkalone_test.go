package lockops_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// taken takes a lock again and again that nobody else wants, until no listing is asked for any more: a cycle is a creation
// and a deletion. It returns the number of the last node.
func taken(t *testing.T, s *lockops.ZKSession, l lockops.Locker) (number int32) {
	t.Helper()
	eventually(t, "a cycle of two requests", func() bool {
		before := s.Requests()
		h := acquire(t, l)
		_, number, _ = recipe.SplitSequence(h.Name())
		release(t, h)
		return s.Requests()-before == 2
	})
	return number
}

// othersCome creates n nodes of others before ours is created again.
func othersCome(t *testing.T, look *zk.Conn, path string, n int) (nodes []string) {
	t.Helper()
	for range n {
		node, err := look.CreateProtectedEphemeralSequential(path+"/lock-", nil, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func makeAnew(t *testing.T, look *zk.Conn, path string) {
	t.Helper()
	if err := look.Delete(path, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := look.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

// TestAloneSeesWhoCame: a contender that took a lock alone, and so asks for no listing, is not granted it when others have come in
// between: before its next node or, by the same number, in a directory that was made anew; also while it was not connected.
func TestAloneSeesWhoCame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others func(t *testing.T, look *zk.Conn, p *proxy, path string, number int32) []string
	}{
		{"somebody is before it", func(t *testing.T, look *zk.Conn, _ *proxy, path string, _ int32) []string {
			return othersCome(t, look, path, 1)
		}},
		{"the directory was made anew", func(t *testing.T, look *zk.Conn, _ *proxy, path string, number int32) []string {
			makeAnew(t, look, path)
			return othersCome(t, look, path, int(number)+1)
		}},
		{"the directory was made anew during a cut", func(t *testing.T, look *zk.Conn, p *proxy, path string, number int32) []string {
			p.noEvents.Store(true)
			makeAnew(t, look, path)
			nodes := othersCome(t, look, path, int(number)+1)
			p.cut()
			p.noEvents.Store(false)
			return nodes
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
				p := startProxy(t, server.Addr)
				path := servertest.UniquePath(t)
				s := zkSession(t, p.addr())
				waiting := make(chan string, 10)
				l := lockops.NewZKMutex(s, path, lockops.OnWaiting(func(name string) { waiting <- name }))
				number := taken(t, s, l)
				look := plain(t, server.Addr)
				nodes := tt.others(t, look, p, path, number)
				got := make(chan acquired, 1)
				go func() {
					h, err := l.Acquire(within(t))
					got <- acquired{h, err}
				}()
				select {
				case <-waiting:
				case a := <-got:
					t.Fatalf("granted before others: %v", a.err)
				}
				for _, n := range nodes {
					if err := look.Delete(n, -1); err != nil {
						t.Fatal(err)
					}
				}
				a := <-got
				if a.err != nil {
					t.Fatal(a.err)
				}
				release(t, a.h)
			})
		})
	}
}

// TestAloneWatchGoes: the watch on the directory stays while it is of use, and not after.
func TestAloneWatchGoes(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		s := zkSession(t, server.Addr, lockops.WithSessionTimeout(3*time.Second))
		l := lockops.NewZKMutex(s, servertest.UniquePath(t))
		taken(t, s, l)
		eventually(t, "no watch is left", func() bool { return len(watchedBy(t, server, s)) == 0 })
		taken(t, s, l) // it is set again

		s, conn := adopted(t, server.Addr)
		l = lockops.NewZKMutex(s, servertest.UniquePath(t))
		taken(t, s, l)
		s.Close()
		if _, err := l.Acquire(within(t)); !errors.Is(err, lockops.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		own := conn.SessionID()
		eventually(t, "no watch of the closed session is left", func() bool { return len(watchedBySession(t, server, own)) == 0 })
	})
}

// TestCloseLeavesNoWatch: a session that is closed while it holds, waits and keeps a directory has no watches on the server.
func TestCloseLeavesNoWatch(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		taken(t, s, lockops.NewZKMutex(s, path+"-alone"))
		acquire(t, lockops.NewZKMutex(s, path))
		_, got := queueUp(t, within(t), mutexOn(s, path))
		eventually(t, "the hold's node is watched", func() bool { return len(watchedBy(t, server, s)) > 0 })
		id := s.Conn().SessionID()
		s.Close()
		if a := <-got; !errors.Is(a.err, lockops.ErrClosed) {
			t.Error(a.err)
		}
		eventually(t, "no watch is left", func() bool { return len(watchedBySession(t, server, id)) == 0 })
	})
}
