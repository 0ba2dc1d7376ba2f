package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
)

// The URL of a target alone reaches the same backend under the same name.
func TestURLIsATargetAgain(t *testing.T) {
	t.Parallel()
	targets, err := ParseTargets([]string{
		"zk://a/locks?admin=http://a:8080", "zk://b,c:7?chroot=/app", "zks://[::1]:3?ca=/etc/my%25ca.pem&server_name=x", "redis://r1,r2:1,r3/4?match=lock:*",
		"rediss://s?cert=c&key=k", "redis+sentinel://h1,h2/mymaster", "rediss+cluster://k1,k2", "redis+unix:///tmp/r.sock?name=local",
	})
	must.Succeed(t, err)
	for i, want := range []string{
		"zk://a:2181", "zk://b:2181,c:7?chroot=/app&name=zk2", "zks://[::1]:3?ca=/etc/my%25ca.pem&server_name=x&name=zk3", "redis://r1:6379,r2:1,r3:6379/4",
		"rediss://s:6379?cert=c&key=k&name=redis2", "redis+sentinel://h1:26379,h2:26379/mymaster?name=redis3",
		"rediss+cluster://k1:6379,k2:6379?name=redis4", "redis+unix:///tmp/r.sock?name=local",
	} {
		u := targets[i].URL()
		must.Equal(t, u, want)
		again, err := ParseTargets([]string{u})
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		one := targets[i]
		one.Match, one.Admin = nil, nil
		if one.Service == ZooKeeper {
			one.Roots = []string{"/"}
		}
		must.Equal(t, cmp.Diff(one, again[0]), "", u)
	}
}
