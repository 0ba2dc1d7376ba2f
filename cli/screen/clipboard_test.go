package screen

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestCommandsToCopy(t *testing.T) {
	targets, err := connect.ParseTargets([]string{
		"zk://z1:2181,z2:2181/locks?chroot=/app", "redis://r1:6379,r2:6380/3", "redis+unix:///tmp/r.sock?name=local", "rediss://s:1?name=safe&ca=/etc/my ca.pem",
	})
	must.Succeed(t, err)
	s := app.Setup{Targets: targets, Config: config.Config{OwnerCommand: "ssh {host} jstack {pid}"}}
	worker := inspect.Contender{Name: "lock-0000000001", Owner: inspect.Owner{Process: inspect.Process{Host: "h1", PID: "42"}}}
	voted := func(addrs ...string) (votes []inspect.Vote) {
		for _, addr := range addrs {
			votes = append(votes, inspect.Vote{Addr: addr, Up: true, Present: true, Value: "v", ExpiresAt: time.Now()})
		}
		return votes
	}
	hostile := inspect.Contender{Name: "lock-0000000001", Owner: inspect.Owner{Process: inspect.Process{Host: "h;reboot", PID: "42"}}}
	for _, test := range []struct {
		name      string
		lock      inspect.Lock
		contender *inspect.Contender
		want      []describe.Command
	}{
		{"znode", inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/locks/orders"}}, &worker, []describe.Command{
			{Name: "zkCli", Text: "zkCli.sh -server z1:2181,z2:2181/app ls /locks/orders"},
			{Name: "zkCli", Text: "zkCli.sh -server z1:2181,z2:2181/app get -s /locks/orders/lock-0000000001"},
			{Name: "owner", Text: "ssh h1 jstack 42"},
		}},
		{"nobody", inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/locks/a$b"}}, nil, []describe.Command{
			{Name: "zkCli", Text: "zkCli.sh -server z1:2181,z2:2181/app ls '/locks/a$b'"},
		}},
		{"what cannot be quoted", inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/locks/a b\x1b"}}, &hostile, nil},
		{"masters", inspect.Lock{ID: inspect.ID{Backend: "redis", Path: "lock:it's"}, Masters: voted("r1:6379", "r2:6380")}, nil, []describe.Command{
			{Name: "redis-cli", Text: `redis-cli -h r1 -p 6379 -n 3 get 'lock:it'\''s'`},
			{Name: "redis-cli", Text: `redis-cli -h r1 -p 6379 -n 3 pttl 'lock:it'\''s'`},
			{Name: "redis-cli", Text: `redis-cli -h r2 -p 6380 -n 3 get 'lock:it'\''s'`},
		}},
		{"socket", inspect.Lock{ID: inspect.ID{Backend: "local", Path: "k"}, Masters: voted("/tmp/r.sock")}, nil, []describe.Command{
			{Name: "redis-cli", Text: "redis-cli -s /tmp/r.sock get k"}, {Name: "redis-cli", Text: "redis-cli -s /tmp/r.sock pttl k"},
		}},
		{"TLS", inspect.Lock{ID: inspect.ID{Backend: "safe", Path: "k"}, Masters: voted("s:1")}, nil, []describe.Command{
			{Name: "redis-cli", Text: "redis-cli -h s -p 1 --tls --cacert '/etc/my ca.pem' get k"},
			{Name: "redis-cli", Text: "redis-cli -h s -p 1 --tls --cacert '/etc/my ca.pem' pttl k"},
		}},
		{"a key that looks like an option", inspect.Lock{ID: inspect.ID{Backend: "local", Path: "-x"}, Masters: voted("/tmp/r.sock")}, nil, nil},
		{"replayed", inspect.Lock{ID: inspect.ID{Backend: "other", Path: "/x"}}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			must.NoDiff(t, cmp.Diff(test.want, shellCommands(s, &test.lock, test.contender)))
		})
	}
}
