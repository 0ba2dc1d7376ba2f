package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestKillClient: the command ends the connection behind a holder, with the lock in its preview. It refuses without a
// confirmation, for a connection that is gone, and for a ZooKeeper session.
func TestKillClient(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	const value = "YWFhYWFhYWFhYWFhYWFhYQ=="
	pool := redis.NewClient(&redis.Options{Addr: server.Addr, ClientName: value, MaxRetries: -1, PoolSize: 1})
	defer pool.Close()
	worker := pool.Conn()
	defer worker.Close()
	must.Succeed(t, worker.SetNX(t.Context(), "lock:a", value, 0).Err())
	info, err := worker.Do(t.Context(), "client", "info").Text() // go-redis' ClientInfo fails on a name with an equals sign
	must.Succeed(t, err)
	_, after, _ := strings.Cut(info, " addr=")
	addr, _, _ := strings.Cut(after, " ")
	target, client := "redis://"+server.Addr, "redis:"+addr
	var j act.KillJSON
	try := func(code int, args ...string) outcome {
		t.Helper()
		got := run(t, append(args, "-o", "json")...)
		j = act.KillJSON{}
		if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != code {
			t.Fatalf("%v: %v in %+v", args, err, got)
		}
		return got
	}
	if got := try(0, "kill-client", client, target, "--dry-run"); !j.DryRun || j.Ended || len(j.Connections) != 1 || len(j.Holds) != 1 || j.Holds[0] != "redis:lock:a" || !strings.Contains(got.stderr, "it holds redis:lock:a") {
		t.Errorf("the preview: %+v", got)
	}
	if try(1, "kill-client", client, target); j.Reason != "declined" {
		t.Errorf("not confirmed: %+v", j)
	}
	if err := worker.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("it was ended too early: %v", err)
	}
	if try(0, "kill-client", client, target, "--yes", "--reason", "a test"); !j.Ended || j.Reason != "" {
		t.Errorf("%+v", j)
	}
	if err := worker.Ping(t.Context()).Err(); err == nil {
		t.Error("its connection lives")
	}
	if try(1, "kill-client", client, target, "--yes"); j.Ended || j.Reason != "gone" {
		t.Errorf("a gone client: %+v", j)
	}
	if try(1, "kill-client", "zk:0x1000000000001", "zk://"+server.Addr, "--yes"); j.Reason != "unsupported" || !strings.Contains(j.Detail, "password") {
		t.Errorf("a ZooKeeper session: %+v", j)
	}
}
