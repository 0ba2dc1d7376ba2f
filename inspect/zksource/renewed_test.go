package zksource_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// ZooKeeper takes any digest: only what it then refuses to read shows that a password was changed.
func TestNewCredentialsAreUsedAfterARefusal(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c := client(t, zks)
		for _, password := range []string{"old", "new"} {
			must.Succeed(t, c.AddAuth("digest", []byte("ops:"+password)))
		}
		dir := servertest.UniquePath(t)
		create(t, c, dir, "", 0)
		create(t, c, dir+"/l", "", 0)
		create(t, c, dir+"/l/"+guid+"__lock__", "a", contender)
		allow := func(password string) {
			t.Helper()
			must.Have(c.SetACL(dir+"/l", zk.DigestACL(zk.PermAll, "ops", password), -1))(t)
		}
		allow("old")
		v, _ := watchHastily(t, zksource.Config{
			Servers: []string{zks.Addr}, Roots: []string{dir}, Auth: []byte("ops:old"),
			NewAuth: func() []byte { return []byte("ops:new") },
		})
		held := func() bool { l := v.Locks[dir+"/l"]; return l != nil && l.State == inspect.StateHeld }
		v.Await("held", held)
		allow("new")
		create(t, c, dir+"/l/"+guid2+"__lock__", "b", contender)
		v.Await("seen with the new password", func() bool {
			l := v.Locks[dir+"/l"]
			return l.Contention() == 2 && len(l.Unseen) == 0
		})
	})
}
