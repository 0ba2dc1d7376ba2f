package servertest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// parentEnv names the environment variable that makes the test binary start a program and wait to
// be killed.
const parentEnv = "LOCKSCOPE_SERVERTEST_PARENT"

// A stopped program, which would notice nothing else, ends when its parent is killed.
func TestAProgramDiesWithItsParent(t *testing.T) {
	if fifo := os.Getenv(parentEnv); fifo != "" {
		startStopped(t, fifo)
		return
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	check(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	check(t, err)
	defer r.Close()
	parent := exec.Command(os.Args[0], "-test.run", "^TestAProgramDiesWithItsParent$")
	parent.Env = append(os.Environ(), parentEnv+"="+fifo)
	out, err := parent.StdoutPipe()
	check(t, err)
	check(t, parent.Start())
	defer parent.Process.Kill()
	_, err = io.ReadFull(out, make([]byte, len(stoppedWord)))
	check(t, err)
	check(t, parent.Process.Kill())
	_ = parent.Wait() // fails: it was killed
	check(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, r); err != nil { // ends once the program, the last writer, is gone
		t.Errorf("the program still runs: %v", err)
	}
}

const stoppedWord = "stopped"

// startStopped starts a program that keeps the pipe open, stops it, reports that, and waits to be
// killed.
func startStopped(t *testing.T, fifo string) {
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	check(t, err)
	cmd := exec.Command("sleep", "600")
	cmd.Stderr = w
	check(t, StartCommand(cmd, func(error) {}))
	check(t, w.Close())
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	_, err = os.Stdout.WriteString(stoppedWord)
	check(t, err)
	select {}
}
