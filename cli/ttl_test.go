package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
	"lockscope/lockops/act"
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
	var j ttlJSON
	try := func(code int, more ...string) {
		t.Helper()
		got := run(t, append(args, more...)...)
		j = ttlJSON{}
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
	if got := run(t, "ttl", "redis:lock:a", target, "--owner", value, "--set", "5ms", "--yes"); got.code != 2 || !strings.Contains(got.stderr, "from 1s") {
		t.Errorf("too short: %+v", got)
	}
	if got := run(t, "ttl", "redis:lock:a", target, "--owner", "another", "--set", "1m", "--yes"); got.code != 1 || !strings.Contains(got.stderr, "not set (changed)") {
		t.Errorf("another owner: %+v", got)
	}
	if got := run(t, "ttl", "redis:lock:a", target, "--owner", value, "--set", "1m", "--dry-run"); got.code != 0 || !strings.Contains(got.stdout, "now     "+server.Addr+": expires in") || strings.Contains(got.stdout, "ends in") {
		t.Errorf("preview: %+v", got)
	}
}

// TestTheTTLsOutcomeIsSaidByMaster: a master that was not asked, or has the value and another expiry, is not
// said to have another value.
func TestTheTTLsOutcomeIsSaidByMaster(t *testing.T) {
	never := inspect.Vote{Up: true, Present: true, NoExpiry: true}
	for name, tt := range map[string]struct {
		master act.MasterResult
		says   string
	}{
		"not asked":      {act.MasterResult{}, "not asked"},
		"another value":  {act.MasterResult{Lacked: true, After: never}, "has another value, or none"},
		"another expiry": {act.MasterResult{OtherExpiry: true, After: never}, "not set: it has a TTL by now, or none any more; never expires"},
		"unread after":   {act.MasterResult{Set: true}, "set; unknown: it does not answer"},
		"gone after":     {act.MasterResult{Set: true, After: inspect.Vote{Up: true}}, "set; no such key"},
		"failed":         {act.MasterResult{Err: errors.New("refused"), After: never}, "refused"},
	} {
		var stdout strings.Builder
		r := &setTTL{lockAction: lockAction{action: action{app: &app{Environment: Environment{Stdout: &stdout, Now: time.Now}}}}}
		tt.master.Addr = "r1:6379"
		r.result.Masters = []act.MasterResult{tt.master}
		r.print()
		if got := stdout.String(); got != "r1:6379  "+tt.says+"\n" {
			t.Errorf("%s: %q", name, got)
		}
		j := r.json().(ttlJSON).Masters[0]
		if j.Set != tt.master.Set || (j.Error != "") != (tt.master.Err != nil) || (j.After != nil && *j.After == -1) != tt.master.After.NoExpiry || j.After == nil == tt.master.After.NoExpiry {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
