package cli

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// started is the real program running with its standard error read line by line.
func started(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	path := must.Have(program())(t)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	stderr := must.Have(cmd.StderrPipe())(t)
	must.Succeed(t, cmd.Start())
	limit := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() }) // a line that does not come ends the wait
	t.Cleanup(func() {
		limit.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(stderr)
}

// awaitLine reads lines until one holds text.
func awaitLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	var said []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("the program ended without saying %q; it said %q", text, said)
}

func TestInterruptWhileHoldingReleasesAndWhileWaitingLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := "zk://" + server.Addr
		holder, holds := started(t, "acquire", "zk:"+path, target)
		awaitLine(t, holds, "holding")
		waiter, waits := started(t, "acquire", "zk:"+path, target)
		awaitLine(t, waits, "waiting")
		waiter.Process.Signal(os.Interrupt)
		waiter.Wait()
		if code := waiter.ProcessState.ExitCode(); code != 130 {
			t.Errorf("interrupted while waiting: exit code %d, want 130", code)
		}
		hungUp, waits := started(t, "acquire", "zk:"+path, target)
		awaitLine(t, waits, "waiting")
		hungUp.Process.Signal(syscall.SIGHUP) // its terminal was closed
		hungUp.Wait()
		if children := childrenOf(t, server.Addr, path); len(children) != 1 {
			t.Errorf("the waiter left something: %v", children)
		}
		holder.Process.Signal(os.Interrupt)
		holder.Wait()
		if code := holder.ProcessState.ExitCode(); code != 0 {
			t.Errorf("interrupted while holding: exit code %d, want 0", code)
		}
		if children := childrenOf(t, server.Addr, path); len(children) != 0 {
			t.Errorf("the holder left something: %v", children)
		}
	})
}

// When the lock is lost, all that COMMAND started is stopped, not only the shell that started it.
func TestLossStopsWhatTheCommandStarted(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd, lines := started(t, "acquire", "redis:lock:a", "redis://"+server.Addr, "--ttl", "9s", "--", "sh", "-c",
		"sleep 600 & echo $! > "+pidFile+"; echo ready >&2; wait; echo after")
	awaitLine(t, lines, "ready")
	server.Mini.Set("lock:a", "a thief")
	awaitLine(t, lines, "was stopped")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	if v, _ := server.Mini.Get("lock:a"); v != "a thief" {
		t.Errorf("the other holder's value is %q", v)
	}
	text := must.Have(os.ReadFile(pidFile))(t)
	pid := must.Have(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	for limit := time.Now().Add(time.Minute); alive(pid); time.Sleep(5 * time.Millisecond) { // a signal takes its time
		if time.Now().After(limit) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the command's child goes on without the lock")
		}
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A signal that goes to the program alone is passed on to COMMAND, whose exit code counts.
func TestSignalIsPassedOnToTheCommand(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	cmd, lines := started(t, "acquire", "redis:lock:a", "redis://"+server.Addr, "--", "sh", "-c",
		`trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.05; done`)
	awaitLine(t, lines, "ready")
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 9 {
		t.Errorf("exit code %d, want the command's own, 9", code)
	}
	if server.Mini.Exists("lock:a") {
		t.Error("the lock was not given back")
	}
}

// Every signal ends a command that shows or holds as the user expects.
func TestTermWhileShowingOrHoldingIsNoFailure(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	server := servertest.StartEmbeddedRedis(t)
	target := "redis://" + server.Addr
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	must.Succeed(t, err)
	defer mute.Close()
	for line, args := range map[string][]string{
		"watching": {"watch", target}, "holding": {"acquire", "redis:lock:a", target},
		"recording": {"record", t.TempDir() + "/nothing", "redis://" + mute.Addr().String()},
	} {
		cmd, lines := started(t, args...)
		awaitLine(t, lines, line)
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%v: exit code %d, want 0", args, code)
		}
	}
}
