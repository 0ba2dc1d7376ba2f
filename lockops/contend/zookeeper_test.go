package contend

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A connection that has just begun may tell 0 as its session: nodes without an owner are not its remains.
func TestWhatNobodyOwnsIsNotLeft(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := NewZooKeeper(onZooKeeper(server, path)).(*zkTarget)
		must.Succeed(t, target.Open(t.Context()))
		must.Have(plainZK(t, server).Create(path+"/leases", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
		target.ours = map[int64]bool{0: true}
		if left, err := target.Close(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("left %v: %v", left, err)
		}
		wantNoNode(t, server, path)
	})
}
