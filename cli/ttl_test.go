package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/internal/servertest"
)

func newRedisClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	return client
}

// TestTheAdvisedTTLIsSet: what doctor advises for a key without an end is a command that does it, and after
// it the finding is gone.
func TestTheAdvisedTTLIsSet(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	const value = "YWFhYWFhYWFhYWFhYWFhYQ=="
	client := newRedisClient(t, server.Addr)
	client.Set(t.Context(), "lock:a", value, 0)
	target := "redis://" + server.Addr
	finding := func() string {
		t.Helper()
		var s struct {
			Locks []struct {
				Findings []reportedFinding
			}
		}
		got := run(t, "ls", target, "-o", "json")
		if err := json.Unmarshal([]byte(got.stdout), &s); err != nil || len(s.Locks) != 1 {
			t.Fatalf("%v in %+v", err, got)
		}
		for _, f := range s.Locks[0].Findings {
			if f.Rule == "no-ttl" {
				return f.Advice
			}
		}
		return ""
	}
	const command = "lockscope ttl redis:lock:a"
	advice := finding()
	_, advised, found := strings.Cut(advice, command)
	if !found || !strings.HasPrefix(advised, " "+target+" --owner "+value+" --set 10m") {
		t.Fatalf("advice %q", advice)
	}
	args := []string{"ttl", "redis:lock:a", target, "--owner", value, "--set", "10m", "-o", "json"}
	var j act.TTLJSON
	try := func(code int, more ...string) {
		t.Helper()
		got := run(t, append(args, more...)...)
		j = act.TTLJSON{}
		if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != code {
			t.Fatalf("%v: %v in %+v", more, err, got)
		}
	}
	if try(1); j.Reason != "declined" || j.Set {
		t.Errorf("without a terminal and --yes: %+v", j)
	}
	if got := run(t, args[:len(args)-2]...); got.code != 1 || got.stdout != server.Addr+"  not asked\n" {
		t.Errorf("declined: %+v", got)
	}
	if try(0, "--dry-run"); !j.DryRun || j.Set || len(j.Masters) != 1 || *j.Masters[0].Before != -1 || client.TTL(t.Context(), "lock:a").Val() != -1 {
		t.Errorf("dry run: %+v", j)
	}
	if try(0, "--yes"); !j.Set || j.TTL != 600000 || !j.Masters[0].Set || *j.Masters[0].After > 600000 || *j.Masters[0].After < 1 {
		t.Errorf("set: %+v", j)
	}
	if left := client.TTL(t.Context(), "lock:a").Val(); left <= 0 || left > 10*time.Minute {
		t.Errorf("%v left", left)
	}
	if advice := finding(); advice != "" {
		t.Errorf("it is found still: %s", advice)
	}
	run(t, "ttl", "redis:lock:a", target, "--owner", value, "--set", "5ms", "--yes").wants(t, 2, "", "from 1s")
	run(t, "ttl", "redis:lock:a", target, "--owner", "another", "--set", "1m", "--yes").wants(t, 1, "", "not set (changed)")
	if got := run(t, "ttl", "redis:lock:a", target, "--owner", value, "--set", "1m", "--dry-run"); got.code != 0 || !strings.Contains(got.stdout, "now     "+server.Addr+": expires in") || strings.Contains(got.stdout, "ends in") {
		t.Errorf("preview: %+v", got)
	}
}
