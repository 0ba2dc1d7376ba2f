package finding

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// Commands in advice name the right server and the options that its client needs.
func TestCommandsNameTheirServers(t *testing.T) {
	t.Parallel()
	reach := map[string]inspect.Reach{
		"zk": {Target: "zk://z1:2181", Client: "-server z1:2181/app"}, "redis": {Target: "-p prod", Client: "-n 3 --tls"},
	}
	alien := with(queue("kazoo", 2), func(l *inspect.Lock) { l.Aliens = []inspect.Untrusted{"a b"} })
	silent := func(addr string) *inspect.Lock {
		return with(votes("aa!"), func(l *inspect.Lock) { l.Masters[2].Addr = addr })
	}
	endless := with(votes("a"), func(l *inspect.Lock) { l.Masters[0].NoExpiry = true })
	for _, tt := range []struct {
		rule      string
		lock      *inspect.Lock
		with, not string // the expected command with and without the backend's facts
	}{
		{"alien-child", alien, "zkCli.sh -server z1:2181/app stat '", "zkCli.sh stat '"},
		{"blind", silent("r3:7000"), "redis-cli -h r3 -p 7000 -n 3 --tls PING", "redis-cli -h r3 -p 7000 PING"},
		{"blind", silent("[::1]:7000"), "redis-cli -h ::1 -p 7000 -n 3 --tls PING", "redis-cli -h ::1 -p 7000 PING"},
		{"blind", silent("/tmp/my r.sock"), "redis-cli -s '/tmp/my r.sock' -n 3 --tls PING", "redis-cli -s '/tmp/my r.sock' PING"},
		{"no-ttl", endless, " -p prod --owner ", ""},
	} {
		for _, known := range []bool{true, false} {
			c, want := present(tt.lock), tt.not
			if known {
				c.Reach, want = reach, tt.with
			}
			advice := diagnose(t, tt.rule, c)[0].Advice()
			must.Contain(t, advice, want, tt.rule)
			must.True(t, !strings.Contains(advice, "HOST"), tt.rule, advice)
		}
	}
}
