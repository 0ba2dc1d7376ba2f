package lockops_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// All levels of a directory are created, and created again after they were removed.
func TestZ14_DirectoriesAreMadeAndMayVanish(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		m := lockops.NewZKMutex(zkSession(t, server.Addr, lockops.WithChroot(path)), "/a/b/c")
		look := plain(t, server.Addr)
		for range 3 {
			release(t, acquire(t, m))
			for _, dir := range []string{"/a/b/c", "/a/b", "/a", ""} {
				must.Succeed(t, look.Delete(path+dir, -1))
			}
			h := must.Have(m.TryAcquire(within(t)))(t)
			release(t, h)
		}
	})
}

// Nodes that are not contenders of any library are ignored.
func TestZ16_ForeignChildrenAreIgnored(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		look := plain(t, server.Addr)
		must.Succeed(t, look.AddAuth("digest", []byte("user:password")))
		must.Have(look.Create(path, nil, 0, zk.AuthACL(zk.PermAll)))(t)
		s := zkSession(t, server.Addr, lockops.WithDigest("user", "password"))
		h := acquire(t, lockops.NewZKMutex(s, path+"/locks/a"))
		want, _, err := look.GetACL(path)
		must.Succeed(t, err)
		for _, node := range []string{"/locks", "/locks/a", "/locks/a/" + h.Name()} {
			if got, _, err := look.GetACL(path + node); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %+v, %v; want %+v", node, got, err, want)
			}
		}
		release(t, h)
		if _, err := lockops.NewZKMutex(zkSession(t, server.Addr), path+"/locks/a").Acquire(within(t)); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("another user: %v, want ErrNoAuth", err)
		}
		open := zk.WorldACL(zk.PermCreate | zk.PermRead)
		must.Have(look.Create(path+"/stuck", nil, 0, open))(t)
		h = acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path+"/stuck"))
		if err := h.Release(within(t)); !errors.Is(err, zk.ErrNoAuth) || !contains(err, h.Name(), "delete") {
			t.Errorf("release of a node that cannot be deleted: %v, want ErrNoAuth", err)
		}
	})
}
