package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
)

func TestParseTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		urls string
		want []Target
	}{
		{
			"defaults", "zk://a redis://b",
			[]Target{
				{Service: ZooKeeper, Name: "zk", Servers: []string{"a:2181"}, Roots: []string{"/"}},
				{Service: RedisMasters, Name: "redis", Servers: []string{"b:6379"}},
			},
		},
		{
			"an ensemble with a root, IPv6 and admin servers", "zk://a:1,[::1],[fe80::1]:3/locks/x/?admin=http://a:8080,https://b:8080/&chroot=/app&name=prod",
			[]Target{{
				Service: ZooKeeper, Name: "prod", Servers: []string{"a:1", "[::1]:2181", "[fe80::1]:3"}, Roots: []string{"/locks/x"},
				Admin: []string{"http://a:8080", "https://b:8080"}, Chroot: "/app",
			}},
		},
		{
			"masters with patterns", "redis://a,b:7,c/3?match=lock:*&match=50%25[%23]?",
			[]Target{{
				Service: RedisMasters, Name: "redis", Servers: []string{"a:6379", "b:7", "c:6379"}, DB: 3,
				Match: []string{"lock:*", "50%[#]?"},
			}},
		},
		{
			"the same servers are one backend", "zk://a/x zk://a:2181/y redis://r?match=a redis://r?match=b&name=r zk://b",
			[]Target{
				{Service: ZooKeeper, Name: "zk", Servers: []string{"a:2181"}, Roots: []string{"/x", "/y"}},
				{Service: RedisMasters, Name: "r", Servers: []string{"r:6379"}, Match: []string{"a", "b"}},
				{Service: ZooKeeper, Name: "zk2", Servers: []string{"b:2181"}, Roots: []string{"/"}},
			},
		},
		{
			"a taken name is not given twice", "zk://a redis://b?name=zk",
			[]Target{
				{Service: ZooKeeper, Name: "zk2", Servers: []string{"a:2181"}, Roots: []string{"/"}},
				{Service: RedisMasters, Name: "zk", Servers: []string{"b:6379"}},
			},
		},
		{
			"other kinds of Redis", "redis+sentinel://a,b/mymaster redis+cluster://c redis+unix:///run/r.sock rediss://d?ca=ca.pem&server_name=x",
			[]Target{
				{Service: RedisSentinel, Name: "redis", Servers: []string{"a:26379", "b:26379"}, Master: "mymaster"},
				{Service: RedisCluster, Name: "redis2", Servers: []string{"c:6379"}},
				{Service: RedisUnix, Name: "redis3", Servers: []string{"/run/r.sock"}},
				{Service: RedisMasters, Name: "redis4", Servers: []string{"d:6379"}, TLS: &TLS{CA: "ca.pem", ServerName: "x"}},
			},
		},
	} {
		got, err := ParseTargets(strings.Fields(tt.urls))
		must.Be(t, err, nil, tt.name)
		must.NoDiff(t, cmp.Diff(tt.want, got), tt.name, "-want +got")
	}
}

func TestUnusableTargetsAreRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "host:2181", "http://h", "zk://", "zk://,", "zk://a,,b", "zk://a:0", "zk://a:65536", "zk://a:x", "zk://fe80::1", "zk://a//b",
		"redis://a/x", "redis://a/-1", "redis+cluster://a/1", "redis+sentinel://a", "redis+unix://a/b", "redis+unix://",
		"zk://a?admin=localhost:8080", "zk://a?admin=ftp://x", "zk://a?chroot=x", "zk://a?name=", "zk://a?name=a:b", "zk://a?match=x",
		"redis://a?admin=http://x", "redis://a?ca=x", "redis://a?nope=1", "redis://u:hunter2@a", "redis://hunter2@a/?match=x", "zk://digest:hunter2@a",
		"redis://user:hunter2/et@h", "redis://:hunter2?ss@h", "redis://a?password=hunter2", "zk://a?admin=http://u:hunter2@h:1",
		"redis://:p=hunter2@h", "redis://u:hunter2#x@h",
	} {
		_, err := ParseTargets([]string{url})
		must.Be(t, err, ErrTarget, url)
		must.True(t, err == nil || !strings.Contains(err.Error(), "hunter2"), url, "the error contains the password:", err)
	}
	_, err := ParseTargets([]string{"zk://a?name=x", "zk://b?name=x"})
	must.Be(t, err, ErrTarget, "two backends with one name")
	_, err = ParseTargets([]string{"zk://a/1?name=x", "zk://a/2?name=y"})
	must.Be(t, err, ErrTarget, "one backend with two names")
}

func FuzzParseTarget(f *testing.F) {
	f.Add("zk://a:1,[::1]/root?admin=http://x:1&name=y")
	f.Add("redis://a,b/0?match=%25*")
	f.Fuzz(func(t *testing.T, url string) {
		targets, err := ParseTargets([]string{url})
		if err == nil && (len(targets) != 1 || len(targets[0].Servers) == 0 || targets[0].Name == "") {
			t.Errorf("%q: %+v", url, targets)
		}
	})
}

// A target's URL parses to the same backend with the same name.
func TestTargetURLRoundTrips(t *testing.T) {
	t.Parallel()
	targets := must.Have(ParseTargets([]string{
		"zk://a/locks?admin=http://a:8080", "zk://b,c:7?chroot=/app", "zks://[::1]:3?ca=/etc/my%25ca.pem&server_name=x", "redis://r1,r2:1,r3/4?match=lock:*",
		"rediss://s?cert=c&key=k", "redis+sentinel://h1,h2/mymaster", "rediss+cluster://k1,k2", "redis+unix:///tmp/r.sock?name=local",
	}))(t)
	for i, want := range []string{
		"zk://a:2181", "zk://b:2181,c:7?chroot=/app&name=zk2", "zks://[::1]:3?ca=/etc/my%25ca.pem&server_name=x&name=zk3", "redis://r1:6379,r2:1,r3:6379/4",
		"rediss://s:6379?cert=c&key=k&name=redis2", "redis+sentinel://h1:26379,h2:26379/mymaster?name=redis3",
		"rediss+cluster://k1:6379,k2:6379?name=redis4", "redis+unix:///tmp/r.sock?name=local",
	} {
		u := targets[i].URL()
		must.Equal(t, u, want)
		again := must.Have(ParseTargets([]string{u}))(t)
		one := targets[i]
		one.Match, one.Admin = nil, nil
		if one.Service == ZooKeeper {
			one.Roots = []string{"/"}
		}
		must.NoDiff(t, cmp.Diff(one, again[0]), u)
	}
}

// Child processes get none of our secrets, even if the names are in another case, as on Windows.
func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LOCKSCOPE_LOCK=zk:/a"}
	for _, name := range SecretVariables() {
		environ = append(environ, name+"=x", strings.ToLower(name)+"=x", "Lockscope"+strings.TrimPrefix(name, "LOCKSCOPE")+"=x")
	}
	must.Same(t, WithoutSecrets(environ), []string{"PATH=/bin", "LOCKSCOPE_LOCK=zk:/a"})
}
