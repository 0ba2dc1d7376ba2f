package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/inspect"
)

// FollowTargets returns the RunE of a command that watches its targets until interrupted. Without a terminal, as in a
// service, SIGHUP makes it read the passwords again instead of ending it.
func (a *App) FollowTargets(
	run func(context.Context, Setup, *inspect.Observer) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, hangups, stop := a.untilEnded(cmd.Context())
		defer stop()
		s, err := a.SetUp(ctx, args)
		if ctx.Err() != nil { // interrupted while a password was read
			return nil
		}
		if err != nil {
			return err
		}
		defer a.RenewSecrets(ctx, &s, args, hangups)()
		observer, err := a.Observer(s, false, "")
		if err != nil {
			return err
		}
		return run(ctx, s, observer)
	}
}

// untilEnded returns a context that ends when the user interrupts, and the SIGHUPs that do not end it.
func (a *App) untilEnded(ctx context.Context) (context.Context, <-chan os.Signal, context.CancelFunc) {
	for _, stream := range []any{a.Stdin, a.Stdout, a.Stderr} {
		if _, attended := Terminal(stream); attended { // SIGHUP then means that the terminal was closed
			ctx, stop := Interruptible(ctx)
			return ctx, nil, stop
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return ctx, hangups, func() { signal.Stop(hangups); stop() }
}

// Interruptible returns a context that also ends when the user interrupts.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// Follow calls observe with each snapshot until ctx ends, the sources are done or observe fails. It
// waits for the sources to end.
func (a *App) Follow(
	ctx context.Context, s Setup, observer *inspect.Observer, observe func(*inspect.Snapshot) error,
) error {
	return FollowRun(ctx, observer, a.WatchWithMutes(s), observe)
}

// FollowRun is Follow with another way to run the observer.
func FollowRun(
	ctx context.Context, observer *inspect.Observer, run func(context.Context, *inspect.Observer) error,
	observe func(*inspect.Snapshot) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	feed := observer.Subscribe()
	defer feed.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, observer)
		stop()
	}()
	var err error
	for err == nil {
		snapshot, done := feed.Next(ctx)
		if done != nil {
			break
		}
		err = observe(snapshot)
	}
	stop()
	return errors.Join(err, <-ended)
}

// LookedAt reports whether every backend has completed its first pass or is down.
func LookedAt(s *inspect.Snapshot) bool {
	unseen := func(b *inspect.Backend) bool { return !b.FirstPass && b.State != inspect.Down }
	return len(s.Backends) > 0 && !slices.ContainsFunc(s.Backends, unseen)
}
