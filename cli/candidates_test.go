package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// TestCandidatesOfARealHolder: the connection of a redis-py client that holds a lock is among the candidates, by what it sent last and
// since when it is there; one that only reads is not; and none is said to be certain.
func TestCandidatesOfARealHolder(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	reader := redis.NewClient(&redis.Options{Addr: server.Addr, ClientName: "reader", PoolSize: 1, DisableIdentity: true})
	defer reader.Close()
	if err := reader.Get(t.Context(), "other").Err(); err != redis.Nil {
		t.Fatal(err)
	}
	holder := servertest.StartRedisPy(t, server.Addr, "lock:a")
	holder.Expect(t, "acquired")
	target := "redis://" + server.Addr
	got := run(t, "candidates", "redis:lock:a", target, "-o", "json")
	var j candidatesJSON
	if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if j.Certain || len(j.Contenders) != 1 || len(j.Contenders[0].Candidates) == 0 {
		t.Fatalf("%+v", j)
	}
	for _, c := range j.Contenders[0].Candidates {
		if c.Name == "reader" || len(c.For) == 0 {
			t.Errorf("%+v", c)
		}
	}
	if first := j.Contenders[0].Candidates[0]; !slices.ContainsFunc(first.For, func(why string) bool { return strings.Contains(why, "its last command was") }) {
		t.Errorf("%+v", first)
	}
	if got := run(t, "candidates", "redis:lock:a", target); got.code != 0 || !strings.Contains(got.stdout, "not certain") || !strings.Contains(got.stdout, "possible  127.0.0.1:") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "show", "redis:lock:a", target); got.code != 0 || !strings.Contains(got.stdout, "possible: 127.0.0.1:") ||
		!strings.Contains(got.stdout, "none of them is certain") || !strings.Contains(got.stdout, "lockscope candidates redis:lock:a") {
		t.Errorf("show: %+v", got)
	}
	if got := run(t, "candidates", "redis:lock:none", target); got.code != exitNo {
		t.Errorf("%+v", got)
	}
	if got := run(t, "candidates", "zk:/a", "zk://127.0.0.1:1"); got.code != exitUsage || !strings.Contains(got.stderr, "lockscope show") {
		t.Errorf("%+v", got)
	}
	second := servertest.StartRedis(t)
	redisDo(t, second.Addr, "SET", "lock:a", "x", "PX", "600000")
	redisDo(t, server.Addr, "SET", "lock:b", "x", "PX", "600000")
	redisDo(t, second.Addr, "SET", "lock:b", "x", "PX", "600000")
	redisDo(t, second.Addr, "ACL", "SETUSER", "default", "-client|list")
	if got := run(t, "candidates", "redis:lock:b", target+","+second.Addr); got.code != exitUnreachable || !strings.Contains(got.stdout, "not certain") || !strings.Contains(got.stderr, "client|list") {
		t.Errorf("of two masters one lists its connections: %+v", got)
	}
	elsewhere := redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3, PoolSize: 1, DisableIdentity: true})
	defer elsewhere.Close()
	if err := elsewhere.Set(t.Context(), "other", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "show", "redis:lock:b", target+","+second.Addr); !strings.Contains(got.stdout, "; but it is in database 3") ||
		!strings.Contains(got.stdout, "not all masters listed their connections: ") {
		t.Errorf("show: %+v", got)
	}
	redisDo(t, second.Addr, "ACL", "SETUSER", "default", "resetkeys", "~none")
	if got := run(t, "candidates", "redis:lock:b", "redis://"+second.Addr); got.code != exitUnreachable || !strings.Contains(got.stderr, "unknown") {
		t.Errorf("who holds it may not be read: %+v", got)
	}
	redisDo(t, server.Addr, "ACL", "SETUSER", "default", "-client|list")
	if got := run(t, "candidates", "redis:lock:a", target); got.code != exitUnreachable || !strings.Contains(got.stderr, "client|list") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "show", "redis:lock:a", target); !strings.Contains(got.stdout, "which connection may be its holder's is unknown") || strings.Contains(got.stdout, "possible: ") {
		t.Errorf("show: %+v", got)
	}
}
