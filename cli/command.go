package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"lockscope/inspect"
	"lockscope/lockops"
)

// killAfter is how long COMMAND may take to end when it is told to.
const killAfter = 5 * time.Second

// runCommand runs COMMAND under the lock and passes its exit code on. When the lock is lost COMMAND is told to end,
// then killed.
func (q *acquisition) runCommand(hold *lockops.Hold) error {
	c := exec.Command(q.command[0], q.command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = q.Stdin, q.Stdout, q.Stderr
	c.Env = append(os.Environ(), "LOCKSCOPE_LOCK="+q.id.String(), "LOCKSCOPE_TOKEN="+tokenText(hold))
	// A terminal sends the user's interrupt to COMMAND as well; what is sent to us alone is passed on.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return usageError("cannot run %q: %w", inspect.Escape(q.command[0]), err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return commandCode(err)
		case s := <-signals:
			_ = c.Process.Signal(s) // it may have ended meanwhile, which Wait tells
		case <-hold.Context().Done():
			q.tell("lost", hold)
			stopProcess(c.Process, ended)
			return exit(exitLost, "%w (%s was stopped)", context.Cause(hold.Context()), inspect.Escape(q.command[0]))
		}
	}
}

// stopProcess asks a process to end, then kills it.
func stopProcess(p *os.Process, ended <-chan error) {
	_ = p.Signal(syscall.SIGTERM) // it may have ended meanwhile
	select {
	case <-ended:
	case <-time.After(killAfter):
		_ = p.Kill()
		<-ended
	}
}

func tokenText(hold *lockops.Hold) string {
	if token, ok := hold.Token(); ok {
		return fmt.Sprint(token)
	}
	return ""
}

// commandCode is COMMAND's own exit code; killed by signal n: 128 + n.
func commandCode(err error) error {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return exit(exitUnreachable, "%w", err)
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError{code: 128 + int(status.Signal())}
	}
	return exitError{code: failed.ExitCode()}
}
