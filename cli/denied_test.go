package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The error names the sentinels that refused, and a master that they do not know.
func TestActingNamesTheSentinelsThatRefuse(t *testing.T) {
	t.Parallel()
	sentinel := servertest.StartEmbeddedRedis(t)
	err := sentinel.Mini.Server().Register("SENTINEL", func(c *server.Peer, _ string, _ []string) { c.WriteError("NOAUTH Authentication required.") })
	must.Succeed(t, err)
	for _, args := range [][]string{{"acquire", "redis:lock:a", "--wait", "0"}, {"contend", "redis:lock:a", "-n", "1", "--rounds", "1"}} {
		o := run(t, append(args, "redis+sentinel://"+sentinel.Addr+"/mymaster")...)
		if o.code != app.ExitUnreachable || !strings.Contains(o.stderr, "LOCKSCOPE_REDIS_SENTINEL_PASSWORD") || strings.Contains(o.stderr, "unreachable") {
			t.Errorf("%s: exit %d: %s", args[0], o.code, o.stderr)
		}
	}
}

// If anyone may create nodes in a directory but not read its access list, the account gets no lock.
func TestHiddenAccessListRefusesTheLock(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	owner := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
	must.Succeed(t, owner.AddAuth("digest", []byte("app:s")))
	own := zk.DigestACL(zk.PermAll, "app", "s")
	for path, more := range map[string]int32{"/hidden": zk.PermCreate, "/digests": zk.PermCreate | zk.PermRead} {
		must.Have(owner.Create(path, nil, 0, slices.Concat(own, zk.WorldACL(more))))(t)
		for _, command := range [][]string{{"acquire", "zk:" + path + "/a", "--wait", "0"}, {"contend", "zk:" + path + "/a", "-n", "1", "--rounds", "1"}} {
			run(t, append(command, "zk://"+server.Addr)...).wants(t, app.ExitNo, "", "--acl", command[0], path)
		}
	}
}
