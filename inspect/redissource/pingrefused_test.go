package redissource_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// If only PING fails (disk failure or missing right), the master pushes over one connection.
func TestMasterRefusingOnlyPingPushes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare, write [][]any
		said           string
		user           string
	}{
		"the disk failed": {
			prepare: [][]any{{"config", "set", "save", "3600 1"}, {"set", "other", "x"}, {"bgsave"}},
			write:   [][]any{{"config", "set", "stop-writes-on-bgsave-error", "no"}, {"set", "lock:a", "one"}, {"config", "set", "stop-writes-on-bgsave-error", "yes"}},
			said:    "MISCONF",
		},
		"PING is denied": {
			prepare: [][]any{{"acl", "setuser", "viewer", "on", ">pw", "~*", "&*", "+@all", "-ping"}},
			write:   [][]any{{"set", "lock:a", "one"}},
			said:    "NOPERM",
			user:    "viewer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := servertest.StartRedis(t, "--dir", dir)
			must.Succeed(t, os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o755)) // makes snapshots fail
			admin, ctx := client(t, server), context.Background()
			do := func(lines [][]any) {
				t.Helper()
				for _, words := range lines {
					if err := admin.Do(ctx, words...).Err(); err != nil {
						t.Fatalf("%v: %v", words, err)
					}
				}
			}
			do(tt.prepare)
			cfg := pushConfig(server)
			asked := admin
			if tt.user != "" {
				cfg.Masters[0].Username, cfg.Masters[0].Password = tt.user, "pw"
				asked = redis.NewClient(&redis.Options{Addr: server.Addr, Username: tt.user, Password: "pw"})
				defer asked.Close()
			}
			for err := asked.Ping(ctx).Err(); ; err = asked.Ping(ctx).Err() { // no event reports the end of a snapshot
				if err != nil {
					if !strings.HasPrefix(err.Error(), tt.said) {
						t.Fatal(err)
					}
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			v, _ := watch(t, cfg)
			awaitPush(v)
			do(tt.write)
			v.Await("held", state(v, "lock:a", inspect.StateHeld))
			awaitPush(v)
			must.Equal(t, commands(t, server)["client|tracking"], 1, "tracking connections")
		})
	}
}
