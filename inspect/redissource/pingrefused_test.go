package redissource_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/redisreply"
	"github.com/lockscope/lockscope/internal/servertest"
)

// If only PING fails (disk failure or missing right), the master pushes over one connection.
func TestMasterRefusingOnlyPingPushes(t *testing.T) {
	t.Parallel()
	const stopWrites = "CONFIG SET stop-writes-on-bgsave-error "
	for name, tt := range map[string]struct {
		rules, prepare string
		write          string
		said           string // to PING
	}{
		"the disk failed": {
			prepare: "SET other x\nBGSAVE", said: "MISCONF",
			write: stopWrites + "no\nSET lock:a one\n" + stopWrites + "yes",
		},
		"PING is denied": {rules: "-ping", write: "SET lock:a one", said: "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := servertest.StartRedis(t, "--dir", dir, "--save", "3600 1")
			must.Succeed(t, os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o755)) // makes snapshots fail
			admin := server.Client(t)
			run(t, admin, tt.prepare)
			cfg := pushConfig(server)
			cfg.Masters = viewed(t, server, tt.rules).Masters
			asked := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "viewer", Password: "pw"})
			defer asked.Close()
			must.Become(t, "PING is refused", func() bool {
				return redisreply.Starts(asked.Ping(t.Context()).Err(), tt.said)
			})
			v := watchPushed(t, cfg)
			run(t, admin, tt.write)
			v.Await("held", state(v, "lock:a", inspect.StateHeld))
			awaitPush(v)
			must.Equal(t, commands(t, admin)["client|tracking"], 1, "tracking connections")
		})
	}
}
