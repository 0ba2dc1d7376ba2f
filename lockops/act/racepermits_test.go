package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestZooKeeperPermitsInRaces: the same for the znodes of Curator's and of kazoo's semaphores: the holder
// deletes its permit, and the other permit and who waits for one stay.
func TestZooKeeperPermitsInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		create := func(path string, data string, flags int32) string {
			made := must.Have(holder.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll)))(t)
			return made
		}
		const protected, sequential = "/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-", zk.FlagEphemeral | zk.FlagSequence
		ours, pace := 0, racePace{}
		for try := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), try)
			var permits []string
			if curator := try%2 == 0; curator {
				create(dir, "", 0)
				create(dir+"/leases", "", 0)
				create(dir+"/locks", "", 0)
				permits = []string{create(dir+"/leases"+protected+"lease-", "", sequential), create(dir+"/leases"+protected+"lease-", "", sequential)}
			} else {
				create(dir, "2", 0)
				permits = []string{create(dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718", "a", zk.FlagEphemeral), create(dir+"/7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d", "b", zk.FlagEphemeral)}
			}
			name := permits[0][strings.LastIndexByte(permits[0], '/')+1:]
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(name)})
			var own error
			result, err := pace.run(func() { own = holder.Delete(permits[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) || result.Released == (own == nil) || !result.Released && result.Reason != Gone {
				t.Fatalf("%s: the holder's own delete says %v, and we report %+v, %v", name, own, result, err)
			}
			if there, _, err := conn.Exists(permits[1]); err != nil || !there {
				t.Fatalf("%s: the other permit is gone, %v", name, err)
			}
			if result.Released {
				ours++
			}
		}
		t.Logf("of %d races we won %d", *tries, ours)
	})
}
