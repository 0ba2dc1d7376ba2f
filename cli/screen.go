package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/tui"
	"lockscope/tui/lab"
)

// screen is the command without a name: the TUI on its targets.
func (a *app) screen(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && !strings.Contains(args[0], "://") {
		return noCommand(cmd, args[0])
	}
	if a.linear && a.write {
		return usageError("--linear changes nothing: leave out --write (its word release gives the command that does)")
	}
	err := a.openScreen(cmd.Context(), args)
	if errors.Is(err, errNoTarget) && !a.linear {
		return a.welcome(cmd.Context())
	}
	return err
}

// openScreen opens the screen on targets, or on those of the configuration.
func (a *app) openScreen(ctx context.Context, args []string) error {
	s, err := a.setUp(ctx, args)
	if err != nil {
		return err
	}
	observer, err := a.observer(s, false, "")
	if err != nil {
		return err
	}
	return a.showScreen(ctx, observer, s, screenOptions{title: s.title()})
}

// welcome explains itself to somebody who gave no target, and starts the demonstration when asked to. Without
// a terminal there is nobody to explain it to.
func (a *app) welcome(ctx context.Context) error {
	if !a.interactive() {
		return errNoTarget
	}
	colours, err := a.theme()
	if err != nil {
		return err
	}
	page, stop := interruptible(ctx)
	chosen, err := tui.Welcome(page, colours, func(ctx context.Context) tui.Local { return localServers(ctx, localProbes()) })
	ended := page.Err() != nil
	stop()
	if err != nil || ended || chosen == (tui.Chosen{}) {
		return err
	}
	if chosen.Target != "" {
		return a.openScreen(ctx, []string{chosen.Target})
	}
	return (&demo{app: a, output: "table", seed: 1}).run(ctx, nil)
}

// interactive reports whether somebody sits in front of it.
func (a *app) interactive() bool {
	_, in := terminal(a.Stdin)
	_, out := terminal(a.Stdout)
	return in && out
}

func (s setup) title() string {
	if s.profileName != "" {
		return s.profileName
	}
	names := make([]string, len(s.targets))
	for i, t := range s.targets {
		names[i] = t.Name
	}
	return strings.Join(names, " ")
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
	// film is the recording that is played, and its speed at first.
	film  *film
	speed float64
	// still is the subscription to an observer that does not run; nil where it runs.
	still *inspect.Subscription
	past  *inspect.Past // before what still hands out
}

// showScreen runs the TUI until the user quits or ctx ends, then waits for everything that it started.
func (a *app) showScreen(ctx context.Context, observer *inspect.Observer, s setup, o screenOptions) error {
	run := a.watchWithMutes
	switch {
	case o.film != nil:
		run = func(ctx context.Context, observer *inspect.Observer) error {
			o.film.readAhead(ctx, observer)
			return nil
		}
	case o.replay || o.sandbox:
		run = func(ctx context.Context, observer *inspect.Observer) error { return observer.Run(ctx) }
	}
	if a.linear {
		return a.linearScreen(ctx, observer, s, run)
	}
	if err := a.canDraw(); err != nil {
		return err
	}
	colours, err := a.theme()
	if err != nil {
		return err
	}
	options := tui.Options{
		Speed: o.speed, Focus: observer.Focus, Title: o.title, Environment: s.profile.Environment,
		Sandbox: o.sandbox, Replay: o.replay, Scenes: o.scenes, Caption: o.caption, Now: a.Now, Commands: s.commands,
		Theme: colours, Faults: o.faults, NoClipboard: noClipboard(a.Getenv), Save: a.saveFile,
		SavePast: a.savePast, NoSuspend: noSuspend(),
	}
	switch {
	case o.film != nil:
		options.Film = o.film
	case o.still != nil:
		options.Feed, options.Past = o.still, o.past
	default:
		options.Feed = observer.Subscribe()
	}
	if err := a.configureScreen(&options); err != nil {
		return err
	}
	if !o.replay {
		w := a.newWriting(s, o.audit, observer)
		defer w.close()
		options.Release, options.End, options.Connections = w.all.of, w.all.ender, w.all.unasked()
		if !o.sandbox {
			options.Mutes = screenMutes{a, observer}
		}
		if !s.profile.ReadOnly {
			if options.Armed = a.write || o.sandbox; options.Armed {
				if err := w.arm(true); err != nil {
					return fmt.Errorf("%w (no audit, no action: start without --write)", err)
				}
			}
			options.Lab, options.Arm = w.lab, w.arm
		}
	}
	if s.profile.ReadOnly {
		options.ReadOnly = fmt.Sprintf("profile %q is read_only", s.profileName)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if o.still != nil {
		return tui.Run(ctx, options)
	}
	return besideScreen(ctx, options, func(ctx context.Context) error { return run(ctx, observer) })
}

// besideScreen watches while the screen runs. A panic ends the screen, which restores the terminal.
func besideScreen(ctx context.Context, options tui.Options, watch func(context.Context) error) error {
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

// canDraw returns an error where the output is no terminal, or one on which the screen cannot be drawn.
func (a *app) canDraw() error {
	if _, ok := terminal(a.Stdout); !ok {
		return usageError("the screen needs a terminal (use lockscope ls, or --linear, or demo --headless)")
	}
	if a.Getenv("TERM") == "dumb" {
		return usageError("this terminal cannot redraw what it shows (TERM=dumb): use --linear, or lockscope ls")
	}
	return nil
}

// speaksUTF8 reports whether the locale's character set is UTF-8, which the screen's glyphs need.
func speaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			value = strings.ToUpper(value)
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return getenv("TERM") != "linux" // no locale at all, as in a container: most terminals speak UTF-8
}
