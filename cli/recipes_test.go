package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const ownRecipes = `recipes:
  acme:
    backend: zookeeper
    kind: rw
    lock: /[^/]+/acme/[^/]+
    contender: (?P<mode>read|write)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}
    data: job=(?P<label>.*)
  jobs:
    backend: redis
    lock: job:.*:lock
    contender: (?P<host>[^:]+):(?P<pid>\d+):(?P<thread>\d+)
`

func TestRecipesOfOnesOwn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(ownRecipes), 0o600))
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		conn := servertest.ConnectZooKeeper(t, server.Addr, 10*time.Second)
		for _, node := range []string{"", "/acme", "/acme/orders"} {
			must.Have(conn.Create(root+node, nil, 0, zk.WorldACL(zk.PermAll)))(t)
		}
		for _, node := range []string{"read-web1-100-", "read-web2-200-", "write-web3-300-"} {
			must.Have(conn.Create(root+"/acme/orders/"+node, []byte("job=nightly"), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
		}
		got := run(t, "ls", "-o", "json", "--config", file, "zk://"+server.Addr+root)
		l := parse(t, got.stdout).lock(t, "zk:"+root+"/acme/orders")
		if l.Recipe != "acme" || l.Confidence != "certain" || l.Kind != "rw" || len(l.Holders) != 2 || len(l.Waiters) != 1 {
			t.Fatalf("%+v", l)
		}
		if h := l.Holders[1]; h.Owner.Host != "web2" || h.Owner.Label != "nightly" || h.Blocked != 1 {
			t.Errorf("reader: %+v", h)
		}
		if w := l.Waiters[0]; w.Watches == nil || *w.Watches != l.Holders[1].Name {
			t.Errorf("writer: %+v", w)
		}
	})
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		c := servers[0].Client(t)
		key := "job:" + servertest.UniqueName(t) + ":lock"
		must.Succeed(t, c.Set(t.Context(), key, "web1:100:7", time.Minute).Err())
		l := parse(t, run(t, "ls", "-o", "json", "--config", file, "redis://"+servers[0].Addr).stdout).lock(t, "redis:"+key)
		if l.Recipe != "jobs" || l.Kind != "mutex" || len(l.Holders) != 1 || l.Holders[0].Owner.Host != "web1" || l.Holders[0].Name != "web1:100:7" {
			t.Errorf("%+v", l)
		}
	})
	for _, bad := range []string{"(", "(?P<hots>x)"} {
		must.Succeed(t, os.WriteFile(file, []byte("recipes: {mine: {backend: redis, lock: '"+bad+"'}}\n"), 0o600))
		for _, command := range []string{"config check", "ls redis://127.0.0.1:1"} {
			run(t, append(strings.Fields(command), "--config", file)...).wants(t, 2, "", `recipe "mine": pattern lock`)
		}
	}
}
