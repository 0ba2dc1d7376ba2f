package contend

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// A new connection may report 0 as its session. Nodes without an owner are not its leftovers.
func TestOwnerlessNodesAreNotLeftovers(t *testing.T) {
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

// Leftovers of contenders are listed, and keep their directory. Other nodes are not listed.
func TestLeftoversAreListed(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	target := NewZooKeeper(onZooKeeper(server, "/a/b")).(*zkTarget)
	must.Succeed(t, target.Open(t.Context()))
	conn := plainZK(t, server)
	must.Have(conn.Create("/a/b/deep", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	must.Have(conn.Create("/a/b/deep/x", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	target.ours = map[int64]bool{conn.SessionID(): true}
	left, err := target.Close(t.Context())
	must.Be(t, err, nil)
	must.Same(t, left, []string{"/a/b/deep/x"}, "left")
	there, _, err := conn.Exists("/a/b")
	must.Equal(t, fmt.Sprint(there, err), "true <nil>", "directory exists")
}

func TestTargetsDescribeThemselves(t *testing.T) {
	t.Parallel()
	zks, one, masters := lockops.KindsOn(lockops.OnZooKeeper), lockops.KindsOn(lockops.OnRedis), lockops.KindsOn(lockops.OnRedisMasters)
	permits := zks[0]
	permits.Permits = 3
	describe := func(d Description) string {
		return fmt.Sprintf("%s %s by %s, %d at once, tokens after %v", d.Lock, d.Kind, d.Order, d.Permits, d.TokenAfter)
	}
	for want, target := range map[string]Target{
		"zk:/a mutex by ZooKeeper's sequence numbers, 1 at once, tokens after 15ms":                     NewZooKeeper(ZooKeeper{Site: Site{Backend: "zk:", Name: "/a", Kinds: zks[:1]}}),
		"/a mutex by " + OrderOfCalls + ", 3 at once, tokens after 15ms":                                NewZooKeeper(ZooKeeper{Site: Site{Name: "/a", Kinds: []lockops.Kind{permits}}}),
		"a mutex,fair by the master's clock when it first saw each attempt, 1 at once, tokens after 0s": NewRedis(Redis{Site: Site{Name: "a", Kinds: one[:2]}}),
		"a redlock by " + OrderOfCalls + ", 1 at once, tokens after 0s":                                 NewRedis(Redis{Site: Site{Name: "a", Kinds: masters[:1]}}),
	} {
		must.Equal(t, describe(target.Describe()), want)
	}
	must.Same(t, upTo("/a/b/c"), []string{"/a", "/a/b", "/a/b/c"})
	err := NewZooKeeper(ZooKeeper{Site: Site{Name: "a//b\x1b", Kinds: zks[:1]}}).Open(t.Context())
	must.Contain(t, fmt.Sprint(err), `a//b\u{1b}: no znode can have this path: `)
}
