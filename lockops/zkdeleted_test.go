package lockops_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// deleteTree removes a node and its descendants in one transaction, and retries if others change
// them.
func deleteTree(t testing.TB, look *zk.Conn, root string) {
	t.Helper()
	for {
		paths, err := treeOf(look, root)
		if err != nil {
			t.Errorf("list %s: %v", root, err)
			return
		}
		var deletes []any
		for _, path := range paths {
			deletes = append(deletes, &zk.DeleteRequest{Path: path, Version: -1})
		}
		if len(deletes) == 0 {
			return
		}
		switch _, err := look.Multi(deletes...); {
		case err == nil:
			return
		case !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty):
			t.Errorf("delete %s: %v", root, err)
			return
		}
	}
}

// treeOf lists a node and its descendants, children first. It returns nothing if the node does not
// exist.
func treeOf(look *zk.Conn, root string) ([]string, error) {
	names, _, err := look.Children(root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		below, err := treeOf(look, root+"/"+name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	return append(paths, root), nil
}

// zkKinds are all kinds of locks in ZooKeeper.
var zkKinds = []struct {
	name string
	data string // of the directory
	on   func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker
}{
	{"mutex", "", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return mutexOn(s, path)
	}},
	{"mutex of plain names", "", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return mutexOn(s, path, lockops.WithRecipe("sequential"))
	}},
	{"read side", "", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return side(s, path, 'r')
	}},
	{"write side", "", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return side(s, path, 'w')
	}},
	{"curator's semaphore", "", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return semaphoreOn(s, path, 1, "curator")
	}},
	{"kazoo's semaphore", "1", func(s *lockops.ZKSession, path string) func(...lockops.Option) lockops.Locker {
		return semaphoreOn(s, path, 1, "kazoo")
	}},
}

// All waiters queue again in a new directory, and each is granted the lock in turn.
func TestZ14_WaitersRequeueAfterDirectoryDeletion(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		look := plain(t, server.Addr)
		for _, kind := range zkKinds {
			t.Run(kind.name, func(t *testing.T) {
				root := servertest.UniquePath(t)
				path := root + "/lock"
				holder := acquire(t, writerOrAny(kind.name, zkSession(t, server.Addr), path, kind.on))
				s := zkSession(t, server.Addr)
				_, first := queueUp(t, within(t), kind.on(s, path))
				_, second := queueUp(t, within(t), kind.on(s, path))
				deleteTree(t, look, root)
				for range 2 {
					var a acquired
					select {
					case a = <-first:
					case a = <-second:
					}
					if a.err != nil {
						t.Fatalf("a waiter whose directory was deleted: %v", a.err)
					}
					release(t, a.h)
				}
				<-holder.Context().Done()
				must.Be(t, context.Cause(holder.Context()), lockops.ErrLost, "cause of the holder")
			})
		}
	})
}

// writerOrAny returns a lock that excludes the kind: a writer for the read side, else the same
// kind.
func writerOrAny(name string, s *lockops.ZKSession, path string, on func(*lockops.ZKSession, string) func(...lockops.Option) lockops.Locker) lockops.Locker {
	if name == "read side" {
		return writer(s, path)
	}
	return on(s, path)()
}

// The directory is deleted before each request of an Acquire in turn. Acquire starts again and
// succeeds.
func TestZ14_AcquireSurvivesDirectoryDeletion(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		look := plain(t, server.Addr)
		for _, kind := range zkKinds {
			t.Run(kind.name, func(t *testing.T) {
				root := servertest.UniquePath(t)
				var left atomic.Int32 // requests until the deletion
				p := startProxy(t, server.Addr)
				p.before = func(int32) {
					if left.Add(-1) == 0 {
						deleteTree(t, look, root)
					}
				}
				s := zkSession(t, p.addr())
				l := kind.on(s, root+"/lock")()
				for _, there := range []bool{true, false} { // whether the directory exists at first
					moments := int32(0)
					for ran := true; ran; moments++ {
						if !there {
							deleteTree(t, look, root)
							l = kind.on(s, root+"/lock")()
						}
						left.Store(moments + 1)
						h, err := l.Acquire(within(t))
						ran = left.Load() <= 0
						if err != nil {
							t.Fatalf("directory at first: %v; deleted before request %d: %v", there, moments+1, err)
						}
						if data, _, err := look.Get(root + "/lock"); kind.data != "" && err == nil && string(data) != kind.data {
							t.Errorf("directory at first: %v; deleted before request %d: new data %q, want %q", there, moments+1, data, kind.data)
						}
						// The watch on the hold's own node is a request, too, so the hold may be
						// lost by now.
						if err := h.Release(within(t)); err != nil && !errors.Is(err, lockops.ErrLost) {
							t.Fatalf("directory at first: %v; deleted before request %d: release: %v", there, moments+1, err)
						}
					}
					if moments < 3 {
						t.Errorf("an Acquire had only %d requests", moments-1)
					}
				}
			})
		}
	})
}
