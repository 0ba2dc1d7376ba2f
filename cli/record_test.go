package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// home returns an environment with its own empty home.
func home(t *testing.T) map[string]string {
	return map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
}

// untilLong calls look with longer and longer spans until it succeeds, for busy machines.
func untilLong(t *testing.T, span time.Duration, what string, look func(span string) bool) {
	t.Helper()
	for ; !look(span.String()); span *= 2 {
		if span > 30*time.Second {
			t.Fatalf("not seen within %v: %s", span, what)
		}
	}
}

// recordUntil records until the recording has a lock.
func recordUntil(t *testing.T, env map[string]string, lock string, args ...string) outcome {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan outcome, 1)
	go func() { ended <- runIn(t, ctx, env, append([]string{"record"}, args...)...) }()
	for limit := time.Now().Add(time.Minute); !hasAll(t, args[0], lock); {
		if time.Now().After(limit) {
			t.Fatalf("no %s in %s, or no complete first pass", lock, args[0])
		}
		select {
		case got := <-ended:
			return got
		case <-time.After(10 * time.Millisecond):
		}
	}
	end()
	return <-ended
}

// hasAll reports whether a recording has a lock and a complete first pass. Without one, diff
// compares nothing.
func hasAll(t *testing.T, file, lock string) bool {
	t.Helper()
	return strings.Contains(run(t, "ls", file).stdout, lock) &&
		strings.Contains(run(t, "diff", file, file).stdout, "nothing changed")
}

func TestARecordingEndsAtItsBound(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.ClockTTL(false) // otherwise it goes through all keys on each command
	const locks = 3000
	for i := range locks {
		must.Succeed(t, server.Mini.Set(fmt.Sprintf("lock:%d", i), strings.Repeat("x", 500)))
	}
	target := "redis://" + server.Addr
	file := filepath.Join(t.TempDir(), "r.jsonl")
	run(t, "record", file, target, "--max-mib", "1").wants(t, app.ExitNo, "", "stopped at 1 MiB")
	info, err := os.Stat(file)
	if err != nil || info.Size() < 1<<20 || info.Size() > 3<<20 {
		t.Errorf("%v, %v", info.Size(), err)
	}
	if got := run(t, "ls", file); got.code == app.ExitUsage || !strings.Contains(got.stdout, "lock:1 ") || strings.Contains(got.stderr, "damaged") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
	small := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, small.Mini.Set("lock:small", "x"))
	target = "redis://" + small.Addr
	for _, args := range [][]string{{file, target, "--force"}, {file + "2", target, "--max-mib", "0"}} {
		recordUntil(t, home(t), "lock:small", args...).wants(t, 0, "", "", args)
	}
	run(t, "record", file, target, "--max-mib", "-1").wants(t, app.ExitUsage, "", "")
}

func TestReplayInATerminal(t *testing.T) {
	t.Parallel()
	r := inTerminal(t, 140, 40, "replay", tour, "--speed", "1000")
	s := r.awaitText("REPLAY", "READ-ONLY", "/locks/orders ", "The recording ends here")
	must.True(t, !strings.Contains(s, " WRITE "), "writing is enabled for a recording:", s)
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
}
