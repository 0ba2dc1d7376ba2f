package cli

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

func TestRecordReplacesNothingUnasked(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	file := filepath.Join(t.TempDir(), "kept.jsonl")
	must.Succeed(t, os.WriteFile(file, []byte("mine"), 0o644))
	target := "redis://" + server.Addr
	run(t, "record", file, target, "--for", "1s").wants(t, 2, "", "--force")
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	run(t, "replay", file).wants(t, 2, "", "lockscope record")
	server.Mini.Set("lock:\x1b[2J", "\x1b]0;evil\a")
	if got := recordUntil(t, home(t), "lock:", file, target, "--force"); got.code != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "lock:") || strings.Contains(string(text), "\x1b") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRecordAndReplayRefuseBadUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"record"}, 2},
		{[]string{"record", "zk://h"}, 2},
		{[]string{"record", dir + "/x"}, 2},
		{[]string{"record", dir + "/x.gz", "redis://127.0.0.1:1"}, 2},
		{[]string{"record", dir + "/none/x", "redis://127.0.0.1:1"}, 2},
		{[]string{"record", dir + "/x", "redis://127.0.0.1:1", "--for", "-1s"}, 2},
		{[]string{"record", dir + "/down", "redis://127.0.0.1:1", "--for", "1500ms"}, 3},
		{[]string{"replay"}, 2},
		{[]string{"replay", dir + "/none"}, 2},
		{[]string{"replay", dir + "/none", "--speed", "0"}, 2},
		{[]string{"replay", dir + "/none", "--write"}, 2},
		{[]string{"replay", dir + "/none", "--at", "3s"}, 2},
		{[]string{"replay", dir + "/none", "--at", "-3s"}, 2},
		{[]string{"demo", "--record", dir + "/x"}, 2},
	} {
		if got := run(t, tt.args...); got.code != tt.code || got.stderr == "" {
			t.Errorf("%q: %+v, want exit code %d", tt.args, got, tt.code)
		}
	}
	if _, err := os.Stat(dir + "/x"); err == nil {
		t.Error("a file is left although nothing was recorded")
	}
}

// ls, show and doctor take a recording instead of a target, packed or not, and show its end.
func TestARecordingIsLookedAt(t *testing.T) {
	t.Parallel()
	const packed = "../screenshots/tour.jsonl.gz"
	got := run(t, "ls", packed, "-o", "json")
	s := parse(t, got.stdout)
	if got.code != 0 || len(s.Backends) != 2 || len(s.Locks) < 10 {
		t.Fatalf("code %d, says %q, %d backends, %d locks", got.code, got.stderr, len(s.Backends), len(s.Locks))
	}
	if l := s.lock(t, "zk:/locks/reports"); len(l.Holders) != 1 || len(l.Waiters) == 0 {
		t.Errorf("%+v", l)
	}
	if again := run(t, "ls", packed, "-o", "json"); again.stdout != got.stdout {
		t.Error("looked at again it is another")
	}
	plain := filepath.Join(t.TempDir(), "tour.jsonl")
	unpack(t, packed, plain)
	if got := run(t, "ls", plain, "-o", "json"); got.stdout != run(t, "ls", packed, "-o", "json").stdout {
		t.Errorf("unpacked it is another: code %d, says %q", got.code, got.stderr)
	}
	run(t, "show", "zk:/locks/reports", packed).wants(t, 0, " has held it", "")
	run(t, "show", "zk2:/x", packed).wants(t, 2, "", `no backend of the recording is named "zk2" (there are: `)
	run(t, "show", "zk:/nowhere", packed).wants(t, 1, "", "no such lock")
	run(t, "doctor", packed).wants(t, 1, "stuck-holder", "")
}

// A backend that was not well at the end of a recording was not seen in full.
func TestARecordingThatEndsInTrouble(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "short.jsonl")
	text := `{"recording":2,"at":"2026-11-21T09:00:00Z"}
{"at":"2026-11-21T09:00:01Z","update":{"Backend":{"Name":"redis","Kind":"redis","State":"connected"}}}
{"at":"2026-11-21T09:00:02Z","update":{"Backend":{"Name":"redis","Kind":"redis","State":"degraded","Error":"r2 has gone"}}}
`
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	if got := run(t, "ls", path); got.code != 3 || !strings.Contains(got.stderr, "redis is degraded: r2 has gone") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

// A recording is packed unless its name says that it is text, for its owner only, and is read like any other.
func TestAPackedRecordingIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, server.Mini.Set("lock:a", "x"))
	path := filepath.Join(t.TempDir(), "night")
	if got := recordUntil(t, home(t), "lock:a", path, "redis://"+server.Addr+"?match=lock:*"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "\x28\xb5\x2f\xfd") {
		t.Errorf("it is not packed: %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	whole := run(t, "ls", path)
	if whole.code != 0 || !strings.Contains(whole.stdout, "lock:a") || strings.Contains(whole.stderr, "cut") {
		t.Errorf("%+v", whole)
	}
	untilLong(t, time.Second, "a lock in the demo's recording", func(span string) bool {
		demo := filepath.Join(t.TempDir(), "demo.zst")
		if got := run(t, "demo", "stuck", "--headless", "--for", span, "--record", demo); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		got := run(t, "ls", demo)
		if strings.Contains(got.stderr, "cut") {
			t.Errorf("%+v", got)
		}
		return strings.Contains(got.stdout, "zk:/locks/invoices")
	})
}

// unpack unpacks a file of gzip.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	file := must.Have(os.Open(from))(t)
	defer file.Close()
	in := must.Have(gzip.NewReader(file))(t)
	text := must.Have(io.ReadAll(in))(t)
	must.Succeed(t, os.WriteFile(to, text, 0o600))
}
