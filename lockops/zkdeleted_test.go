package lockops_test

import (
	"errors"
	"fmt"
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
	{"mutex", "curator"}, {"mutex", "sequential"}, {"read", "curator"}, {"write", "curator"},
	{"semaphore=1", "curator"}, {"semaphore=1", "kazoo"},
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
				_, first := queueUp(t, within(t), kind.on(t, s, path))
				_, second := queueUp(t, within(t), kind.on(t, s, path))
				deleteTree(t, look, root)
				for range 2 {
					select {
					case a := <-first:
						must.Succeed(t, a.err)
						release(t, a.h)
					case a := <-second:
						must.Succeed(t, a.err)
						release(t, a.h)
					}
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
	return kindOn(t, kind, s, path, lockops.WithRecipe(k.recipe))
}
