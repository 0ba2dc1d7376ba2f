package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		first := servertest.StartKazoo(t, server.Addr, root+"/orders", "worker-1")
		first.Expect(t, "acquired")
		file := filepath.Join(t.TempDir(), "incident.jsonl")
		target := "zk://" + server.Addr + root + "?admin=" + server.Admin
		recorder, says := started(t, "record", file, target)
		awaitLine(t, says, "recording zk to "+file)
		events := startWatch(t, target)
		second := servertest.StartKazoo(t, server.Addr, root+"/orders", "worker-2")
		events.await("waiting", "worker-2")
		first.Release(t)
		second.Expect(t, "acquired")
		events.await("handover", "worker-2")
		awaitInFile(t, file, "worker-2", `"holding"`)
		recorder.Process.Signal(syscall.SIGTERM) // as a service manager ends it; ctrl-c is the same
		awaitLine(t, says, "recorded")
		recorder.Wait()
		if code := recorder.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}

		r := inTerminal(t, 140, 40, "replay", file, "--speed", "10")
		s := r.awaitText("REPLAY", "READ-ONLY", "/orders ", "worker-2", "The recording ends here")
		if strings.Contains(s, " WRITE ") {
			t.Errorf("a recording may be written to:\n%s", s)
		}
		r.keys("q")
		if code := r.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// awaitInFile waits until a line of a file holds all texts.
func awaitInFile(t *testing.T, path string, texts ...string) {
	t.Helper()
	for limit := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		content := must.Have(os.ReadFile(path))(t)
		for line := range strings.Lines(string(content)) {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(line, text)
			}
			if all {
				return
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("no line with %q in %s", texts, content)
		}
	}
}

// home is its own empty home.
func home(t *testing.T) map[string]string {
	return map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
}

// untilLong looks for longer and longer until it sees the expected state: a busy machine needs more time.
func untilLong(t *testing.T, span time.Duration, what string, look func(span string) bool) {
	t.Helper()
	for ; !look(span.String()); span *= 2 {
		if span > 30*time.Second {
			t.Fatalf("not seen within %v: %s", span, what)
		}
	}
}

// recordUntil records until the recording has a lock, and returns how that ended.
func recordUntil(t *testing.T, env map[string]string, lock string, args ...string) outcome {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan outcome, 1)
	go func() { ended <- runIn(t, ctx, env, append([]string{"record"}, args...)...) }()
	for limit := time.Now().Add(time.Minute); !hasAll(t, args[0], lock); {
		if time.Now().After(limit) {
			t.Fatalf("no %s in %s, or no whole first look", lock, args[0])
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

// hasAll reports whether a recording has a lock and a first look that ended: without one nothing is compared.
func hasAll(t *testing.T, file, lock string) bool {
	t.Helper()
	return strings.Contains(run(t, "ls", file).stdout, lock) &&
		strings.Contains(run(t, "diff", file, file).stdout, "nothing changed")
}

// A recording that is never ended does not fill the disk: it ends at a limit, and is complete.
func TestARecordingEndsAtItsBound(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.ClockTTL(false) // else it goes over all keys at each command
	const locks = 3000
	for i := range locks {
		must.Succeed(t, server.Mini.Set(fmt.Sprintf("lock:%d", i), strings.Repeat("x", 500)))
	}
	target := "redis://" + server.Addr
	file := filepath.Join(t.TempDir(), "r.jsonl")
	got := run(t, "record", file, target, "--max-mib", "1")
	if got.code != app.ExitNo || !strings.Contains(got.stderr, "ended early at 1 MiB") {
		t.Errorf("%+v", got)
	}
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
		if got := recordUntil(t, home(t), "lock:small", args...); got.code != 0 {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := run(t, "record", file, target, "--max-mib", "-1"); got.code != app.ExitUsage {
		t.Errorf("%+v", got)
	}
}
