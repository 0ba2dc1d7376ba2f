package zksource_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The count includes only directories that had children and lost them all, and names the parent with
// most of them.
func TestEmptyDirectoriesAreCounted(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		for _, dir := range []string{"/a", "/b", "/never", "/used"} {
			create(t, c, root+dir, "", 0)
		}
		create(t, c, root+"/used/lock-", "", contender)
		create(t, c, root+"/ephemeral", "", zk.FlagEphemeral)
		for i, in := range []string{"/a", "/b", "/b"} {
			dir := fmt.Sprintf("%s%s/%d", root, in, i)
			create(t, c, dir, "", 0)
			must.Succeed(t, c.Delete(create(t, c, dir+"/lock-", "", contender), -1))
		}
		s := observe(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Roots: []string{root}})
		e := s.Backends[0].Empty
		if e.Oldest.IsZero() || e.Count != 3 || e.Under != root+"/b" || e.UnderCount != 2 {
			t.Errorf("%+v", e)
		}
	})
}
