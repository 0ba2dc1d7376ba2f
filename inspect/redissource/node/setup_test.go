package node

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A server that refuses what a connection begins with has answered nothing: not that there is no key, nor
// what time it is. A user is disabled, or its password changed, while we look.
func TestARefusedConnectionHasNotAnswered(t *testing.T) {
	server := servertest.StartRedis(t, "--databases", "1")
	ctx := context.Background()
	admin := server.Client(t)
	for _, words := range [][]any{
		{"set", "lock:a", "one"},
		{"acl", "setuser", "disabled", "off", ">pw", "allkeys", "allchannels", "+@all"},
		{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all", "-select"},
	} {
		must.Succeed(t, admin.Do(ctx, words...).Err())
	}
	for name, options := range map[string]redis.UniversalOptions{
		"a disabled user":  {Username: "disabled", Password: "pw"},
		"another password": {Username: "viewer", Password: "old"},
		"SELECT is denied": {Username: "viewer", Password: "pw", DB: 1},
		"no such database": {DB: 1},
	} {
		t.Run(name, func(t *testing.T) {
			options.Addrs = []string{server.Addr}
			m := New(server.Addr, options, Settings{Timeout: 30 * time.Second, Now: time.Now})
			defer m.Close()
			if votes, err := m.Votes(ctx, []string{"lock:a"}); err == nil {
				t.Errorf("the key was read: %+v", votes)
			}
			if st, err := m.ReadStatus(ctx); err == nil {
				t.Errorf("the server reported of itself: %+v", st)
			}
			if err := m.readRole(ctx, &Status{}); err == nil {
				t.Error("it reported its role")
			}
		})
	}
}
