package servertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute // on a busy machine, elections included
	stopTimeout  = 5 * time.Second
	startTries   = 5 // free ports may be taken by another process before the server has them
	pollEvery    = 15 * time.Millisecond
)

// process is a real server's process. Its own goroutine starts it and waits for it.
type process struct {
	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; after done
}

// startProcess starts a program in a directory.
func startProcess(dir, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.log, &p.log
	p.cmd.WaitDelay = time.Second
	if err := StartCommand(p.cmd, func(err error) {
		p.err = err
		close(p.done)
	}); err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	return p, nil
}

// StartCommand starts a program and calls ended with the result of Wait. On Linux the program dies
// with this process, stopped or not, however this process ends.
func StartCommand(cmd *exec.Cmd, ended func(error)) error {
	cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go func() { // lives as long as the program
		// The death signal is tied to the thread that starts the process: keep that thread until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended(cmd.Wait())
		}
	}()
	return <-started
}

// awaitReady polls until ready returns nil. It fails when the process ends first or takes too long;
// then it kills the process.
func (p *process) awaitReady(ready func() error) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("servertest: %s ended before it was ready: %w\n%s", p.cmd.Path, errors.Join(p.err, err),
				p.log.String())
		case <-time.After(pollEvery):
		}
		if time.Now().After(deadline) {
			p.kill()
			return fmt.Errorf("servertest: %s was not ready after %v: %w\n%s", p.cmd.Path, startTimeout, err,
				p.log.String())
		}
	}
}

// Signal sends a process a signal, unless it has ended. A stop (SIGSTOP) reaches each thread when
// it next runs, so one of them may still answer on a busy machine. Signal returns when none runs
// any more, or fails two minutes later.
func Signal(p *os.Process, sig syscall.Signal) error {
	if err := p.Signal(sig); err != nil {
		if errors.Is(err, os.ErrProcessDone) { // killed meanwhile: neither stopped nor running
			return nil
		}
		return err
	}
	for end := time.Now().Add(startTimeout); sig == syscall.SIGSTOP && !isStopped(p.Pid); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			return fmt.Errorf("servertest: process %d did not stop within %v", p.Pid, startTimeout)
		}
	}
	return nil
}

// kill kills the process without warning, paused or not, and waits for its end.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.kill()
	}
}

// freePort finds an unused loopback port. It prefers ports below the range that systems use for
// outgoing connections. Neither these connections nor the tests of another package can then take
// the port before the server does.
func freePort() (int, error) {
	for range startTries {
		port := 15000 + rand.IntN(17000)
		if !reserve(port) {
			continue
		}
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			return port, l.Close()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("servertest: no free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// tail keeps the last part of a program's output for messages.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if drop := len(t.buf) - 8<<10; drop > 0 {
		t.buf = append([]byte(nil), t.buf[drop:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
