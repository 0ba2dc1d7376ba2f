package zksource_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A lock that is not on the screen and does not change is unknown soon after our right to read it was taken:
// no watch reports a change of an ACL. It is known again when the right is given back.
func TestARightThatIsTakenIsNoticedWhereNothingChanges(t *testing.T) {
	t.Parallel()
	servers := map[string]func(*testing.T) *servertest.ZooKeeper{"real": func(t *testing.T) *servertest.ZooKeeper { return servertest.StartZooKeeper(t) }}
	for name, cfg := range generations {
		servers[name] = func(t *testing.T) *servertest.ZooKeeper { return servertest.StartEmbeddedZooKeeper(t, cfg) }
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zks := start(t)
			c := client(t, zks)
			must.Succeed(t, c.AddAuth("digest", []byte("ops:secret")))
			allow := func(p string, acl []zk.ACL) {
				t.Helper()
				must.Have(c.SetACL(p, acl, -1))(t)
			}
			create(t, c, "/l", "", 0)
			create(t, c, "/l/"+guid+"__lock__", "a", contender)
			create(t, c, "/secretive", "", 0)
			create(t, c, "/secretive/"+guid+"__lock__", "a", contender)
			allow(create(t, c, "/secretive/"+guid2+"__lock__", "b", contender), zk.DigestACL(zk.PermAll, "ops", "secret"))
			v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
			seen := func() bool {
				l, s := v.Locks["/l"], v.Locks["/secretive"]
				return v.Backend != nil && v.Backend.FirstPass && l != nil && l.State == inspect.StateHeld && s != nil && s.State == inspect.StateContended
			}
			v.Await("seen", seen)
			for _, p := range []string{"/l", "/secretive"} {
				allow(p, zk.DigestACL(zk.PermAll, "ops", "secret"))
				v.Await(p+" is unknown", func() bool { return hidden(v.Locks[p], "READ on "+p) })
			}
			for _, p := range []string{"/l", "/secretive"} {
				allow(p, zk.WorldACL(zk.PermAll))
			}
			v.Await("seen again", seen)
		})
	}
}
