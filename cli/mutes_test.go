package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockscope/internal/servertest"
)

// TestAMutedFindingCallsNobody: doctor reports it as muted, does not exit with 1 because of it, and does again once it is unmuted
// or its time is up.
func TestAMutedFindingCallsNobody(t *testing.T) {
	server := servertest.StartRedis(t)
	client := newRedisClient(t, server.Addr)
	client.Set(t.Context(), "lock:a", "YWFhYWFhYWFhYWFhYWFhYQ==", 0)
	target, state, config := "redis://"+server.Addr, t.TempDir(), t.TempDir()
	do := func(args ...string) outcome {
		t.Helper()
		return runIn(t, t.Context(), map[string]string{"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": config}, args...)
	}
	if got := do("doctor", target); got.code != 1 || !strings.Contains(got.stdout, "no-ttl") {
		t.Fatalf("a key without a TTL: %+v", got)
	}
	for _, bad := range [][]string{
		{"mute", "redis:lock:a", "no-ttl", "--for", "1h"},
		{"mute", "redis:lock:a", "no-ttl", "--reason", "x"},
		{"mute", "redis:lock:a", "no-ttl", "--reason", "x", "--for", "721h"},
		{"mute", "redis:lock:a", "no-such", "--reason", "x", "--for", "1h"},
		{"mute", "redis:lock:a"},
		{"unmute", "redis:lock:a"},
	} {
		if got := do(bad...); got.code != 2 {
			t.Errorf("%v: %+v", bad, got)
		}
	}
	if got := do("mute", "redis:lock:a", "no-ttl", "--for", "1h", "--reason", "see OPS-7"); got.code != 0 || !strings.Contains(got.stdout, "OPS-7") {
		t.Fatalf("mute: %+v", got)
	}
	if info, err := os.Stat(filepath.Join(state, "lockscope", "mutes.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	got := do("doctor", target)
	if _, muted, ok := strings.Cut(got.stdout, "\nMUTED\n"); got.code != 0 || !ok || !strings.Contains(muted, "no-ttl") || !strings.Contains(muted, "OPS-7") || !strings.HasPrefix(got.stdout, "no problems found") {
		t.Errorf("muted: %+v", got)
	}
	var s struct {
		Locks []struct {
			Findings []struct {
				Rule  string
				Muted *struct {
					Until      time.Time
					Reason, By string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(do("doctor", target, "-o", "json").stdout), &s); err != nil || len(s.Locks) != 1 || len(s.Locks[0].Findings) != 1 || s.Locks[0].Findings[0].Muted == nil {
		t.Errorf("in JSON: %+v, %v", s, err)
	}
	if got := do("mute"); got.code != 0 || !strings.Contains(got.stdout, "redis:lock:a  no-ttl  until ") {
		t.Errorf("the list: %+v", got)
	}
	if got := do("unmute", "redis:lock:a", "no-ttl"); got.code != 0 {
		t.Errorf("unmute: %+v", got)
	}
	if got := do("unmute", "redis:lock:a", "no-ttl"); got.code != 1 {
		t.Errorf("unmute once more: %+v", got)
	}
	if got := do("doctor", target); got.code != 1 {
		t.Errorf("unmuted: %+v", got)
	}
	over := `[{"lock":"redis:lock:a","finding":"no-ttl","until":"2020-01-01T00:00:00Z","reason":"old","by":"ann","at":"2019-12-31T00:00:00Z"}]`
	if err := os.WriteFile(filepath.Join(state, "lockscope", "mutes.json"), []byte(over), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := do("doctor", target); got.code != 1 {
		t.Errorf("its time is up: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(state, "lockscope", "mutes.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := do("doctor", target); got.code != 1 || !strings.Contains(got.stderr, "nothing is muted") {
		t.Errorf("a damaged file: %+v", got)
	}
}

// TestMutesOfManyProcessesAreAllKept: none undoes what another writes at the same time.
func TestMutesOfManyProcessesAreAllKept(t *testing.T) {
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	const n = 16
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if got := runIn(t, t.Context(), env, "mute", fmt.Sprintf("redis:lock:%d", i), "no-ttl", "--for", "1h", "--reason", "x"); got.code != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	if got := runIn(t, t.Context(), env, "mute"); strings.Count(got.stdout, "\n") != n {
		t.Errorf("%d were muted: %+v", n, got)
	}
}
