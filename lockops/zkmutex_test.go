package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// Many contenders are granted the lock one at a time, in the order of their nodes.
func TestZkMutexIsExclusiveAndFair(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t) + "/nested/lock"
		sessions := []*lockops.ZKSession{zkSession(t, server.Addr), zkSession(t, server.Addr), zkSession(t, server.Addr)}
		var last atomic.Uint64
		neverTwoHolders(t, 12, 8, func(i int) lockops.Locker {
			return lockops.NewZKMutex(sessions[i%3], path, lockops.WithLabel("worker"))
		}, func(h *lockops.Hold) {
			token, ok := h.Token()
			before := last.Swap(token)
			must.True(t, ok && token > before, "token", token, ok, "after", before, "not in the order of the queue")
		})
	})
}

func TestZkTryAcquireLeavesNothing(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		h := must.Have(m.TryAcquire(within(t)))(t)
		refused(t, m, lockops.ErrHeld, "second TryAcquire")
		must.Same(t, children(t, server, path), []string{h.Name()}, "nodes")
		release(t, h)
		must.Same(t, children(t, server, path), nil, "nodes left")
		must.Be(t, h.Release(within(t)), lockops.ErrNotHeld, "second release")
		must.Be(t, context.Cause(h.Context()), lockops.ErrReleased, "cause")
	})
}

// All levels of a directory are created, and created again after they were removed.
func TestZ14_DirectoriesAreMadeAndMayVanish(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		m := lockops.NewZKMutex(zkSession(t, server.Addr, lockops.WithChroot(path)), "/a/b/c")
		look := plain(t, server.Addr)
		for range 3 {
			release(t, acquire(t, m))
			for _, dir := range []string{"/a/b/c", "/a/b", "/a", ""} {
				must.Succeed(t, look.Delete(path+dir, -1))
			}
			release(t, must.Have(m.TryAcquire(within(t)))(t))
		}
	})
}

// Nodes that are not contenders of any library are ignored.
func TestZ16_ForeignChildrenAreIgnored(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		m := lockops.NewZKMutex(zkSession(t, server.Addr), path)
		release(t, acquire(t, m))
		look := plain(t, server.Addr)
		for _, name := range []string{"README", "leases", "_c_x", "lock-", "_c_\u202e-lock-1"} {
			must.Have(look.Create(path+"/"+name, nil, 0, zk.WorldACL(zk.PermAll)))(t)
		}
		release(t, acquire(t, m))
		h := must.Have(m.TryAcquire(within(t)))(t)
		release(t, h)
	})
}

// New nodes are closed to other users if the directory is. A release reports a node that it may not
// delete.
func TestNodesInheritDirectoryAccess(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		look := plain(t, server.Addr)
		must.Succeed(t, look.AddAuth("digest", []byte("user:password")))
		must.Have(look.Create(path, nil, 0, zk.AuthACL(zk.PermAll)))(t)
		s := zkSession(t, server.Addr, lockops.WithDigest("user", "password"))
		h := acquire(t, lockops.NewZKMutex(s, path+"/locks/a"))
		want, _, err := look.GetACL(path)
		must.Succeed(t, err)
		for _, node := range []string{"/locks", "/locks/a", "/locks/a/" + h.Name()} {
			got, _, err := look.GetACL(path + node)
			must.True(t, err == nil && slices.Equal(got, want), node, got, err, "want", want)
		}
		release(t, h)
		_, err = lockops.NewZKMutex(zkSession(t, server.Addr), path+"/locks/a").Acquire(within(t))
		must.Be(t, err, zk.ErrNoAuth, "another user")
		open := zk.WorldACL(zk.PermCreate | zk.PermRead)
		must.Have(look.Create(path+"/stuck", nil, 0, open))(t)
		h = acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path+"/stuck"))
		err = h.Release(within(t))
		must.True(t, errors.Is(err, zk.ErrNoAuth) && contains(err, h.Name(), "delete"), "release of a node that cannot be deleted:", err)
	})
}

// deleteTree removes a node and its descendants in one transaction, and retries if others change
// them.
func deleteTree(t testing.TB, look *zk.Conn, root string) {
	t.Helper()
	for {
		var deletes []any
		err := treeOf(look, root, func(path string) { deletes = append(deletes, &zk.DeleteRequest{Path: path, Version: -1}) })
		if err == nil && len(deletes) > 0 {
			_, err = look.Multi(deletes...)
		}
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
			continue
		}
		must.Be(t, err, nil, "delete", root)
		return
	}
}

// treeOf visits a node and its descendants, children first. It finds nothing if the node does not
// exist.
func treeOf(look *zk.Conn, root string, found func(path string)) error {
	names, _, err := look.Children(root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	for _, name := range names {
		if err == nil {
			err = treeOf(look, root+"/"+name, found)
		}
	}
	found(root)
	return err
}

// zkKinds are all kinds of locks in ZooKeeper.
var zkKinds = []zkKind{
	{"mutex", "curator"},
	{"mutex", "sequential"},
	{"read", "curator"},
	{"write", "curator"},
	{"semaphore=1", "curator"},
	{"semaphore=1", "kazoo"},
}

// All waiters queue again in a new directory, and each is granted the lock in turn.
func TestZ14_WaitersRequeueAfterDirectoryDeletion(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		look := plain(t, server.Addr)
		for _, kind := range zkKinds {
			t.Run(kind.kind+" "+kind.recipe, func(t *testing.T) {
				root := servertest.UniquePath(t)
				path := root + "/lock"
				other := kind
				if kind.kind == "read" { // readers do not exclude each other
					other.kind = "write"
				}
				holder := acquire(t, other.on(t, zkSession(t, server.Addr), path)())
				s := zkSession(t, server.Addr)
				_, first := mustQueue(t, within(t), kind.on(t, s, path))
				_, second := mustQueue(t, within(t), kind.on(t, s, path))
				deleteTree(t, look, root)
				for range 2 {
					var a acquired
					select {
					case a = <-first:
					case a = <-second:
					}
					must.Succeed(t, a.err)
					release(t, a.h)
				}
				awaitLoss(t, holder)
			})
		}
	})
}

// The directory is deleted before each request of an Acquire in turn. Acquire starts again and
// succeeds.
func TestZ14_AcquireSurvivesDirectoryDeletion(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		look := plain(t, server.Addr)
		for _, kind := range zkKinds {
			t.Run(kind.kind+" "+kind.recipe, func(t *testing.T) {
				root := servertest.UniquePath(t)
				var left atomic.Int32 // requests until the deletion
				p := startProxy(t, server.Addr)
				p.before = func(int32) {
					if left.Add(-1) == 0 {
						deleteTree(t, look, root)
					}
				}
				lock := kind.on(t, zkSession(t, p.addr()), root+"/lock")
				l := lock()
				for _, there := range []bool{true, false} { // whether the directory exists at first
					moments := int32(0)
					for ran := true; ran; moments++ {
						if !there {
							deleteTree(t, look, root)
							l = lock()
						}
						left.Store(moments + 1)
						moment := fmt.Sprintf("directory at first: %v; deleted before request %d", there, moments+1)
						h, err := l.Acquire(within(t))
						ran = left.Load() <= 0
						if err != nil {
							t.Fatalf("%s: %v", moment, err)
						}
						if data, _, err := look.Get(root + "/lock"); kind == (zkKind{"semaphore=1", "kazoo"}) && err == nil {
							must.Equal(t, string(data), "1", moment, "new data")
						}
						// The watch on the hold's own node is a request, too, so the hold may be
						// lost by now.
						if err := h.Release(within(t)); err != nil && !errors.Is(err, lockops.ErrLost) {
							t.Fatalf("%s: release: %v", moment, err)
						}
					}
					must.True(t, moments >= 3, "an Acquire had only", moments-1, "requests")
				}
			})
		}
	})
}

// zkKind is a kind of lock with one of its recipes.
type zkKind struct{ kind, recipe string }

func (k zkKind) on(t testing.TB, s *lockops.ZKSession, path string) maker {
	kind := must.Have(lockops.KindNamed(lockops.OnZooKeeper, k.kind))(t)
	return kindMaker(t, kind, s, path, lockops.WithRecipe(k.recipe))
}
