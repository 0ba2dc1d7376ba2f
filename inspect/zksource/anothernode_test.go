package zksource_test

import (
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// If an ephemeral node replaces a deleted directory before the parent is listed, the parent's list
// looks unchanged.
func TestEphemeralReplacingDirectoryEndsLock(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c := client(t, zks)
		root := servertest.UniquePath(t)
		create(t, c, root, "", 0)
		lock := root + "/lock"
		create(t, c, lock, "", 0)
		holder := create(t, c, lock+"/"+guid+"__lock__", "a", contender)
		v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("the first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass && v.Locks[lock] != nil })

		_, err := c.Multi(
			&zk.DeleteRequest{Path: holder, Version: -1}, &zk.DeleteRequest{Path: lock, Version: -1},
			&zk.CreateRequest{Path: lock, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral},
		)
		must.Succeed(t, err)
		v.Await("the old queue gone", func() bool { // the new node itself may be a lock
			l := v.Locks[lock]
			return l == nil || len(l.Holders) == 0 || l.Holders[0].Name.Raw() != path.Base(holder)
		})
	})
}

func TestDirectoryReplacingEphemeralIsFound(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for name, members := range map[string][]string{"a lone node": {"member"}, "one of two nodes": {"member", "other"}} {
			t.Run(name, func(t *testing.T) {
				c := client(t, zks)
				root := servertest.UniquePath(t)
				create(t, c, root, "", 0)
				for _, m := range members {
					create(t, c, root+"/"+m, "a", zk.FlagEphemeral)
				}
				lock := root + "/member"
				v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
				v.Await("the first pass", func() bool {
					return v.Backend != nil && v.Backend.FirstPass && (v.Locks[lock] != nil) == (len(members) == 1)
				})

				_, err := c.Multi(
					&zk.DeleteRequest{Path: lock, Version: -1},
					&zk.CreateRequest{Path: lock, Acl: zk.WorldACL(zk.PermAll)},
					&zk.CreateRequest{Path: lock + "/" + guid + "__lock__", Acl: zk.WorldACL(zk.PermAll), Flags: contender},
				)
				must.Succeed(t, err)
				v.Await("the new queue", func() bool {
					return v.Locks[lock] != nil && v.Locks[lock].Recipe == "kazoo" && v.Locks[lock].Contention() == 1
				})
			})
		}
	})
}
