package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// program is a link to this test binary. Under that name it runs as the program (TestMain).
var program = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := servertest.Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, programName)
	return path, os.Symlink(self, path)
})

// terminalRun is the program in a pseudo-terminal, seen through a terminal emulator.
type terminalRun struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	raw  strings.Builder
	done chan struct{} // closed at the end of the program's output

	mu      sync.Mutex
	screen  *vt.Emulator
	changed chan struct{}
}

// inTerminal starts the program with its own home on a terminal of this size.
func inTerminal(t *testing.T, width, height int, args ...string) *terminalRun {
	t.Helper()
	path := must.Have(program())(t)
	return startInTerminal(t, width, height, exec.Command(path, args...))
}

// startInTerminal runs a program in a pseudo-terminal of this size.
func startInTerminal(t *testing.T, width, height int, cmd *exec.Cmd) *terminalRun {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	tty := must.Have(pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}))(t)
	r := &terminalRun{
		t: t, cmd: cmd, tty: tty, done: make(chan struct{}), screen: vt.NewEmulator(width, height), changed: make(chan struct{}, 1),
	}
	r.screen.RegisterCsiHandler('r', func(params ansi.Params) bool { // ignores the scroll region of an earlier, larger screen
		bottom, _, _ := params.Param(1, 0)
		return bottom > r.screen.Height()
	})
	answers := make(chan struct{})
	go func() { // passes the terminal's replies to the program
		defer close(answers)
		io.Copy(tty, r.screen)
	}()
	go r.read()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		tty.Close()
		if c, ok := r.screen.InputPipe().(io.Closer); ok { // or the last replies would block
			c.Close()
		}
		<-r.done
		<-answers
	})
	return r
}

func (r *terminalRun) read() {
	defer close(r.done)
	buf := make([]byte, 1<<16)
	for {
		n, err := r.tty.Read(buf)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.raw.Write(buf[:n])
		r.screen.Write(buf[:n])
		r.mu.Unlock()
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}
}

func (r *terminalRun) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.screen.String()
}

// await waits until the screen satisfies ok.
func (r *terminalRun) await(what string, ok func(screen string) bool) string {
	r.t.Helper()
	limit := time.After(60 * time.Second)
	for {
		if s := r.text(); ok(s) {
			return s
		}
		select {
		case <-r.changed:
		case <-r.done:
			r.t.Fatalf("the program ended before %s:\n%s", what, r.text())
		case <-limit:
			r.t.Fatalf("no %s on the screen:\n%s", what, r.text())
		}
	}
}

func (r *terminalRun) awaitText(texts ...string) string {
	r.t.Helper()
	return r.await(strings.Join(texts, ", "), func(s string) bool {
		for _, text := range texts {
			if !strings.Contains(s, text) {
				return false
			}
		}
		return true
	})
}

// keys types each key on its own, as a person would.
func (r *terminalRun) keys(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		must.Have(io.WriteString(r.tty, k))(r.t)
	}
}

// exit waits for the program to end and returns its exit code.
func (r *terminalRun) exit() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(60 * time.Second):
		r.t.Fatalf("the program is still running:\n%s", r.text())
	}
	r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

const (
	enter  = "\r"
	escape = "\x1b"
)

func TestDemoInATerminal(t *testing.T) {
	t.Parallel()
	r := inTerminal(t, 120, 36, "demo")
	r.awaitText("zk:/locks/", "redis:lock:", "SANDBOX")
	r.awaitText("zk:/locks/orders")
	r.keys("/", "orders", enter)
	r.await("the filter", func(s string) bool {
		return strings.Contains(s, "/ orders") && strings.Contains(s, "▌● zk:/locks/orders")
	})
	r.keys(enter)
	r.awaitText("holds", "waits", "last acquisitions")
	first := r.awaitText("handoff ")
	r.await("another handoff", func(s string) bool { return strings.Contains(s, "handoff ") && s != first })
	must.Succeed(t, pty.Setsize(r.tty, &pty.Winsize{Cols: 80, Rows: 24}))
	r.mu.Lock()
	r.screen.Resize(80, 24)
	r.mu.Unlock()
	r.await("a frame in the new size", func(s string) bool {
		lines := strings.Split(strings.TrimRight(s, "\n "), "\n")
		return len(lines) <= 24 && strings.Contains(lines[len(lines)-1], "quit") && strings.Contains(s, "holds")
	})
	r.keys("?")
	r.awaitText("Keys")
	r.keys(escape)
	r.await("list without the help", func(s string) bool { return !strings.Contains(s, "Keys") }) // escape and q at once are alt+q
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
	if out := r.raw.String(); !strings.Contains(out, "\x1b[?1049l") || !strings.Contains(out, "\x1b[?25h") {
		t.Error("the terminal was not restored: alternate screen or cursor")
	}
}

func TestConcurrentDemosEndOnSignal(t *testing.T) {
	t.Parallel()
	a, b := inTerminal(t, 100, 30, "demo", "fair"), inTerminal(t, 100, 30, "demo", "redlock")
	a.awaitText("zk:/locks/billing")
	b.awaitText("redis:lock:invoices")
	must.True(t, !strings.Contains(a.text(), "redis:lock:invoices"), "one demo shows the locks of the other")
	for r, s := range map[*terminalRun]os.Signal{a: os.Interrupt, b: syscall.SIGTERM} {
		r.cmd.Process.Signal(s)
		must.Equal(t, r.exit(), 0, "exit code after", s)
		must.Contain(t, r.raw.String(), "\x1b[?1049l", "the terminal was not restored")
	}
}

// Kazoo processes queue. The holder is killed and the screen shows the handoff. A stuck holder is
// force-released by typing its path, and the next waiter gets the lock.
func TestScreenOnARealQueue(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		var peers []*servertest.Peer
		r := inTerminal(t, 160, 50, fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, path, server.Admin), "--write")
		for i := range 4 {
			peers = append(peers, servertest.StartKazoo(t, server.Addr, path+"/orders", fmt.Sprintf("worker-%d", i+1)))
			if i == 0 {
				peers[0].Expect(t, "acquired")
				r.awaitText(path + "/orders") // a new lock appears without a key press
				r.keys(enter)
			}
			r.awaitText(fmt.Sprintf("worker-%d", i+1))
		}
		s := r.awaitText("worker-1", "worker-2", "worker-3", "worker-4", "3 wait", "127.0.0.1:")
		last := -1
		for i := range 4 { // the rows below the sentence that names the holder
			rows := s[strings.Index(s, "CONTENDER"):]
			at := strings.Index(rows, fmt.Sprintf("worker-%d", i+1))
			if at < last {
				t.Errorf("worker-%d is too high:\n%s", i+1, s)
			}
			last = at
		}
		peers[0].Expire(t)
		peers[1].Expect(t, "acquired")
		r.await("worker-2 as holder", func(s string) bool { return strings.Contains(s, "● worker-2") })
		r.keys("g", "x")
		r.awaitText("Force-release", "worker-3", "Cancel")
		r.keys("wrong", enter)
		r.awaitText("path does not match") // and nothing is sent
		r.keys(escape)
		r.await("screen without the dialog", func(s string) bool { return !strings.Contains(s, "Force-release") })
		r.keys("x")
		r.awaitText("Force-release", "worker-3", "Cancel")
		r.keys(strings.Split(path+"/orders", "")...)
		r.keys("\t", enter) // Cancel is the default button
		peers[2].Expect(t, "acquired")
		r.awaitText("Released")
		r.await("worker-3 as holder", func(s string) bool { return strings.Contains(s, "● worker-3") })
		r.keys(escape)
		r.await("screen without the dialog", func(s string) bool { return !strings.Contains(s, "Force-release") })
		r.keys("q")
		must.Equal(t, r.exit(), 0, "exit code")
	})
}

// Without a target the program explains itself and starts the demonstration on enter.
func TestWelcomeInATerminal(t *testing.T) {
	t.Parallel()
	r := inTerminal(t, 100, 30)
	r.awaitText("Point it at", "lockscope zk://", "enter  starts a demonstration")
	r.keys(enter)
	r.awaitText("SANDBOX", "zk:/locks/orders")
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
	r = inTerminal(t, 80, 24)
	r.awaitText("Point it at")
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
	must.Contain(t, r.raw.String(), "\x1b[?1049l", "the terminal was not restored")
}

func TestReplayInATerminal(t *testing.T) {
	t.Parallel()
	r := inTerminal(t, 140, 40, "replay", tour, "--speed", "1000")
	s := r.awaitText("REPLAY", "READ-ONLY", "/locks/orders ", "The recording ends here")
	must.True(t, !strings.Contains(s, " WRITE "), "writing is enabled for a recording:", s)
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
}

// ctrl+z restores the terminal for the shell and fg redraws the screen. Without a shell to continue
// it, the program keeps running.
func TestSuspendRestoresTheTerminal(t *testing.T) {
	path := must.Have(program())(t)
	const script = `set -m; stty -a > "$TMP/before"; "$1" demo fair; stty -a > "$TMP/after"; cmp "$TMP/before" "$TMP/after" && echo 'back in the shell'; read line; fg > /dev/null`
	cmd := exec.Command("bash", "-c", script, "shell", path)
	dir := t.TempDir()
	t.Setenv("TMP", dir)
	r := startInTerminal(t, 100, 30, cmd)
	r.awaitText("SANDBOX", "zk:/locks/billing")
	r.keys("\x1a")
	r.awaitText("back in the shell")
	r.keys(enter)
	r.await("the screen again", func(s string) bool {
		return strings.Contains(s, "SANDBOX") && strings.Contains(s, "zk:/locks/billing") && !strings.Contains(s, "back in the shell")
	})
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit code")
	alone := inTerminal(t, 100, 30, "demo", "fair") // the first program of its session has no shell
	alone.awaitText("zk:/locks/billing")
	alone.keys("\x1a")
	alone.awaitText("not suspended: this program was not started by a shell")
	alone.keys("q")
	must.Equal(t, alone.exit(), 0, "exit code")
}

// A terminal that cannot redraw is refused with the alternative.
func TestDumbTerminalSuggestsLinearMode(t *testing.T) {
	t.Parallel()
	path := must.Have(program())(t)
	server := servertest.StartEmbeddedRedis(t)
	cmd := exec.Command("env", "TERM=dumb", path, "redis://"+server.Addr)
	r := startInTerminal(t, 80, 24, cmd)
	r.awaitText("TERM=dumb", "--linear")
	must.Equal(t, r.exit(), app.ExitUsage, "exit code")
}

// A silent server makes a read slow. Its progress is shown on a terminal only.
func TestProgressShowsOnlyOnTerminals(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	silent := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	fast := servertest.StartEmbeddedRedis(t)
	fast.Mini.Set("lock:a", "x")
	args := []string{"ls", "-o", "json", "--timeout", "2500ms", fmt.Sprintf("zk://%s", silent.Addr()), "redis://" + fast.Addr}
	r := inTerminal(t, 60, 100, args...)
	r.awaitText("so far (")
	got := run(t, args...)
	must.Equal(t, r.exit(), 3, "exit code")
	if s := r.text(); strings.Contains(s, "so far") || !strings.Contains(s, "lock:a") {
		t.Errorf("left on the screen:\n%s", s)
	}
	if strings.Contains(got.stderr, "so far") || strings.Contains(got.stderr, "\r") {
		t.Errorf("without a terminal: %q", got.stderr)
	}
}
