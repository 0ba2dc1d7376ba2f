package redissource

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// A server that tells of itself while it refuses every key, as it does while it loads its data or has lost its master, is not up.
func TestAServerThatRefusesEveryKeyIsNotUp(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, nobody, _ := net.SplitHostPort(gone.Addr().String())
	gone.Close()
	server := servertest.StartRedis(t)
	admin, ctx := redis.NewClient(&redis.Options{Addr: server.Addr}), t.Context()
	defer admin.Close()
	m := newMaster(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}}, 30*time.Second, time.Now)
	defer m.close()
	if _, err := m.readStatus(ctx); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]any{{"config", "set", "replica-serve-stale-data", "no"}, {"replicaof", "127.0.0.1", nobody}} {
		if err := admin.Do(ctx, words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.readVotes(ctx, []string{"lock:a"}); !replyStarts(err, "MASTERDOWN") {
		t.Fatal("it has its master:", err)
	}
	if st, err := m.readStatus(ctx); !replyStarts(err, "MASTERDOWN") {
		t.Errorf("%v, %+v", err, st)
	}
}
