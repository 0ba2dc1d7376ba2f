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

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// muting is a server with a key that never expires, and the home of who mutes that finding.
type muting struct {
	*testing.T
	target, state, config string
}

func startMuting(t *testing.T) muting {
	server := servertest.StartRedis(t)
	newRedisClient(t, server.Addr).Set(t.Context(), "lock:a", "YWFhYWFhYWFhYWFhYWFhYQ==", 0)
	return muting{t, "redis://" + server.Addr, t.TempDir(), t.TempDir()}
}

func (m muting) do(args ...string) outcome {
	m.Helper()
	return runIn(m.T, m.Context(), map[string]string{"XDG_STATE_HOME": m.state, "XDG_CONFIG_HOME": m.config}, args...)
}

// exits does something, and expects this exit code of it.
func (m muting) exits(code int, args ...string) outcome {
	m.Helper()
	got := m.do(args...)
	if got.code != code {
		m.Errorf("%v: %+v, want exit code %d", args, got, code)
	}
	return got
}

func (m muting) file() string { return filepath.Join(m.state, "lockscope", "mutes.json") }

// TestAMutedFindingCallsNobody: doctor reports it as muted, does not exit with 1 because of it, and does
// again once it is unmuted.
func TestAMutedFindingCallsNobody(t *testing.T) {
	m := startMuting(t)
	if got := m.exits(1, "doctor", m.target); !strings.Contains(got.stdout, "no-ttl") {
		t.Fatalf("a key without a TTL: %+v", got)
	}
	if got := m.exits(0, "mute", "redis:lock:a", "no-ttl", "--for", "1h", "--reason", "see OPS-7"); !strings.Contains(got.stdout, "OPS-7") {
		t.Fatalf("mute: %+v", got)
	}
	if info, err := os.Stat(m.file()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	got := m.exits(0, "doctor", m.target)
	if _, muted, ok := strings.Cut(got.stdout, "\nMUTED\n"); !ok || !strings.Contains(muted, "no-ttl") || !strings.Contains(muted, "OPS-7") || !strings.HasPrefix(got.stdout, "no problems found") {
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
	if err := json.Unmarshal([]byte(m.do("doctor", m.target, "-o", "json").stdout), &s); err != nil || len(s.Locks) != 1 || len(s.Locks[0].Findings) != 1 || s.Locks[0].Findings[0].Muted == nil {
		t.Errorf("in JSON: %+v, %v", s, err)
	}
	if got := m.exits(0, "mute"); !strings.Contains(got.stdout, "redis:lock:a  no-ttl  until ") {
		t.Errorf("the list: %+v", got)
	}
	m.exits(0, "unmute", "redis:lock:a", "no-ttl")
	m.exits(1, "unmute", "redis:lock:a", "no-ttl") // once more
	m.exits(1, "doctor", m.target)
}

func TestAMuteNamesAFindingAReasonAndAnEnd(t *testing.T) {
	t.Parallel()
	m := startMuting(t)
	for _, bad := range [][]string{
		{"mute", "redis:lock:a", "no-ttl", "--for", "1h"},
		{"mute", "redis:lock:a", "no-ttl", "--reason", "x"},
		{"mute", "redis:lock:a", "no-ttl", "--reason", "x", "--for", "721h"},
		{"mute", "redis:lock:a", "no-such", "--reason", "x", "--for", "1h"},
		{"mute", "redis:lock:a"},
		{"unmute", "redis:lock:a"},
	} {
		m.exits(2, bad...)
	}
	const order = "the lock comes first: redis:lock:a no-ttl"
	if o := run(t, "mute", "no-ttl", "redis:lock:a", "--reason", "x", "--for", "1h"); o.code != app.ExitUsage || !strings.Contains(o.stderr, order) {
		t.Errorf("%+v, want %q", o, order)
	}
}

// TestAMuteThatIsOverMutesNothing: nor does a file that cannot be read.
func TestAMuteThatIsOverMutesNothing(t *testing.T) {
	m := startMuting(t)
	m.exits(0, "mute", "redis:lock:a", "no-ttl", "--for", "1h", "--reason", "its file is there")
	over := `[{"lock":"redis:lock:a","finding":"no-ttl","until":"2020-01-01T00:00:00Z","reason":"old","by":"ann","at":"2019-12-31T00:00:00Z"}]`
	for text, said := range map[string]string{over: "", "{": "nothing is muted"} {
		must.Succeed(t, os.WriteFile(m.file(), []byte(text), 0o600))
		if got := m.exits(1, "doctor", m.target); !strings.Contains(got.stderr, said) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestMutesOfManyProcessesAreAllKept: none undoes what another writes at the same time.
func TestMutesOfManyProcessesAreAllKept(t *testing.T) {
	t.Parallel()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	const n = 16
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			runIn(t, t.Context(), env, "mute", fmt.Sprintf("redis:lock:%d", i), "no-ttl", "--for", "1h", "--reason", "x").wants(t, 0, "", "")
		})
	}
	all.Wait()
	if got := runIn(t, t.Context(), env, "mute"); strings.Count(got.stdout, "\n") != n {
		t.Errorf("%d were muted: %+v", n, got)
	}
}
