package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
)

// killAfter is the time that COMMAND gets between SIGTERM and SIGKILL.
const killAfter = 5 * time.Second

// runCommand runs COMMAND under the lock and returns its exit code. When the lock is lost, COMMAND
// gets SIGTERM, then SIGKILL.
func (q *acquisition) runCommand(hold *lockops.Hold) error {
	c := exec.Command(q.command[0], q.command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = q.Stdin, app.Direct(q.Stdout), app.Direct(q.Stderr)
	c.Env = append(connect.WithoutSecrets(os.Environ()), "LOCKSCOPE_LOCK="+q.id.String(),
		"LOCKSCOPE_TOKEN="+tokenText(hold))
	// On a terminal COMMAND shares our process group, and the user's interrupt reaches it without
	// us. Elsewhere it gets its own group, so that we can signal and stop all of its processes.
	_, onTerminal := app.Terminal(q.Stdin)
	if !onTerminal {
		app.OwnGroup(c)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	app.EndWithUs(c)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Linux ends COMMAND when the thread that started it exits
		err := c.Start()
		started <- err
		if err == nil {
			ended <- c.Wait()
		}
		runtime.UnlockOSThread()
	}()
	if err := <-started; err != nil {
		return app.Usagef("cannot run %q: %w", inspect.Escape(q.command[0]), err)
	}
	for {
		select {
		case err := <-ended:
			return commandCode(err)
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok && (!onTerminal || number != syscall.SIGINT) {
				app.SendSignal(c.Process.Pid, number, !onTerminal)
			}
		case <-hold.Context().Done():
			q.report("lost", hold)
			stop(c.Process.Pid, !onTerminal, ended)
			return app.Exitf(app.ExitLost, "%w (%s was stopped)", context.Cause(hold.Context()),
				inspect.Escape(q.command[0]))
		}
	}
}

// stop asks a process, or all of its group, to end, then kills it.
func stop(pid int, group bool, ended <-chan error) {
	app.SendSignal(pid, syscall.SIGTERM, group)
	select {
	case <-ended:
	case <-time.After(killAfter):
		app.SendSignal(pid, syscall.SIGKILL, group)
		<-ended
	}
}

func tokenText(hold *lockops.Hold) string {
	if token, ok := hold.Token(); ok {
		return fmt.Sprint(token)
	}
	return ""
}

// commandCode returns COMMAND's own exit code, or 128 + n if signal n killed it.
func commandCode(err error) error {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return app.Exitf(app.ExitUnreachable, "%w", err)
	}
	if n, ok := app.KilledBy(failed.ProcessState); ok {
		return app.ExitError{Code: 128 + int(n)}
	}
	return app.ExitError{Code: failed.ExitCode()}
}
