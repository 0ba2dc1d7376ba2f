// Package screen has the commands that open the screen: on targets, the demo and recordings.
package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui"
	"github.com/lockscope/lockscope/tui/lab"
)

// Run is the command without a name: the TUI on its targets.
func Run(ctx context.Context, a *app.App, args []string, newLab LabMaker) error {
	if a.Linear && a.Write {
		return app.Usagef("--linear changes nothing: leave out --write (typing release prints the command to run)")
	}
	err := openScreen(ctx, a, args, newLab)
	if errors.Is(err, app.ErrNoTarget) && !a.Linear {
		return welcome(ctx, a, newLab)
	}
	return err
}

// openScreen opens the screen on targets, or on those of the configuration.
func openScreen(ctx context.Context, a *app.App, args []string, newLab LabMaker) error {
	s, err := a.SetUp(ctx, args)
	if err != nil {
		return err
	}
	quiet := *a
	quiet.Stderr = io.Discard // the screen covers it
	defer quiet.RenewSecrets(ctx, &s, args, nil)()
	observer, err := a.Observer(s, false, "")
	if err != nil {
		return err
	}
	return showScreen(ctx, a, observer, s, screenOptions{title: s.Title(), newLab: newLab})
}

// welcome explains the program to a user who gave no target, and starts the demonstration on
// request. Without a terminal it returns ErrNoTarget instead.
func welcome(ctx context.Context, a *app.App, newLab LabMaker) error {
	if !interactive(a) {
		return app.ErrNoTarget
	}
	colours, err := chosenTheme(a)
	if err != nil {
		return err
	}
	page, stop := app.Interruptible(ctx)
	chosen, err := tui.Welcome(page, colours,
		func(ctx context.Context) tui.Local { return localServers(ctx, localProbes()) })
	ended := page.Err() != nil
	stop()
	if err != nil || ended || chosen == (tui.Chosen{}) {
		return err
	}
	if chosen.Target != "" {
		return openScreen(ctx, a, []string{chosen.Target}, newLab)
	}
	return (&demo{App: a, newLab: newLab, output: "table", seed: 1}).run(ctx, nil)
}

// interactive reports whether both standard input and output are terminals.
func interactive(a *app.App) bool {
	_, in := app.Terminal(a.Stdin)
	_, out := app.Terminal(a.Stdout)
	return in && out
}

// screenOptions distinguish the screens of real targets, of the demo and of a recording.
type screenOptions struct {
	title   string
	sandbox bool
	replay  bool
	scenes  []tui.Scene
	caption func(time.Time) string
	faults  lab.Faults // of the sandbox
	audit   string     // the audit file; empty is the default one
	newLab  LabMaker   // nil in a replay
	// film is the recording that is played, and its speed at first.
	film  *film
	speed float64
	// still is the subscription to an observer that does not run; nil if it runs.
	still *inspect.Subscription
	past  *inspect.Past // the snapshots before those of still
}

// showScreen runs the TUI until the user quits or ctx ends, then waits for everything that it
// started.
func showScreen(ctx context.Context, a *app.App, observer *inspect.Observer, s app.Setup, o screenOptions) error {
	run := a.WatchWithMutes(s)
	switch {
	case o.film != nil:
		run = func(ctx context.Context, observer *inspect.Observer) error {
			o.film.readAhead(ctx, observer)
			return nil
		}
	case o.replay || o.sandbox:
		run = func(ctx context.Context, observer *inspect.Observer) error { return observer.Run(ctx) }
	}
	if a.Linear {
		return linearScreen(ctx, a, observer, s, run)
	}
	if err := canDraw(a); err != nil {
		return err
	}
	colours, err := chosenTheme(a)
	if err != nil {
		return err
	}
	options := tui.Options{
		Speed: o.speed, Focus: observer.Focus, Title: o.title, Environment: s.Profile.Environment,
		Sandbox: o.sandbox, Replay: o.replay, Scenes: o.scenes, Caption: o.caption, Now: a.Now,
		Commands: func(l *inspect.Lock, c *inspect.Contender) []describe.Command { return shellCommands(s, l, c) },
		Theme:    colours, Faults: o.faults, NoClipboard: noClipboard(a.Getenv), Clipboard: clipboard(a.Getenv),
		Save: saver{a}.text, SavePast: saver{a}.past, NoSuspend: noSuspend(),
	}
	switch {
	case o.film != nil:
		options.Film = o.film
	case o.still != nil:
		options.Feed, options.Past = o.still, o.past
	default:
		options.Feed = observer.Subscribe()
	}
	if err := configureScreen(a, &options); err != nil {
		return err
	}
	if !o.replay {
		w := newWriting(a, s, o.audit, observer, o.newLab)
		defer w.close()
		options.Release, options.End, options.Connections = w.all.Of, w.all.Ender, w.all.Unasked()
		if !o.sandbox {
			options.Mutes = screenMutes{a, s, observer}
		}
		if !s.Profile.ReadOnly {
			if options.Armed = a.Write || o.sandbox; options.Armed {
				if err := w.arm(true); err != nil {
					return fmt.Errorf("%w (actions need an audit file; start without --write to only look)", err)
				}
			}
			options.Lab, options.Arm = w.lab, w.arm
		}
	}
	if s.Profile.ReadOnly {
		options.ReadOnly = fmt.Sprintf("profile %q is read_only", s.ProfileName)
	}
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	if o.still != nil {
		return tui.Run(ctx, options)
	}
	return withScreen(ctx, options, func(ctx context.Context) error { return run(ctx, observer) })
}

// withScreen watches while the screen runs. A panic ends the screen, which restores the terminal.
func withScreen(ctx context.Context, options tui.Options, watch func(context.Context) error) error {
	// With 100,000 contenders, this saves 60 of 250 MB and takes 0.4 % of a core.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan error, 1)
	go func() {
		err := watch(ctx)
		if errors.As(err, new(*inspect.PanicError)) {
			stop()
		}
		watched <- err
	}()
	err := tui.Run(ctx, options)
	stop()
	return errors.Join(err, <-watched)
}

// canDraw returns an error if the output is not a terminal on which the screen can be drawn.
func canDraw(a *app.App) error {
	if _, ok := app.Terminal(a.Stdout); !ok {
		return app.Usagef("the screen needs a terminal (use lockscope ls, or --linear, or demo --headless)")
	}
	if a.Getenv("TERM") == "dumb" {
		return app.Usagef("this terminal cannot run a full-screen UI (TERM=dumb): use --linear, or lockscope ls")
	}
	return nil
}
