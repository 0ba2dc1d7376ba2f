package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/sandbox"
	"github.com/lockscope/lockscope/tui"
)

// demo is one run of the command demo.
type demo struct {
	*app.App
	newLab   LabMaker
	headless bool
	length   time.Duration
	output   string
	seed     uint64
	record   string
}

// Demo returns the demo command.
func Demo(a *app.App, newLab LabMaker) *cobra.Command {
	d := &demo{App: a, newLab: newLab}
	command := &cobra.Command{
		Use:   "demo [SCENARIO]",
		Short: "Watch scripted clients on embedded servers: nothing to install",
		Long: "demo starts a small ZooKeeper and five Redis masters inside this process, runs clients on " +
			"them, and opens\n" +
			"the screen. It is a sandbox: try anything; nothing remains when you quit.\n\nScenarios:\n" +
			scenarioList(),
		Example: "  lockscope demo\n  lockscope demo redlock\n  lockscope demo fair --headless --for 3s -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return app.Usagef("demo takes one scenario (%q is a second one)", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) },
	}
	flags := command.Flags()
	flags.BoolVar(&d.headless, "headless", false, "no screen: run for a while and print the last snapshot as ls does")
	flags.DurationVar(&d.length, "for", 0, "stop after this time (default: when you quit; --headless: 3s)")
	app.OutputFlag(command, &d.output, "table", "wide", "json")
	flags.Uint64Var(&d.seed, "seed", 1, "seed of the clients' hold and think times")
	flags.StringVar(&d.record, "record", "", "with --headless: record to this new file, for lockscope replay")
	LinearFlag(command, &d.Linear)
	return command
}

func scenarioList() string {
	text := "  tour      all of them at once (default)\n"
	for _, s := range sandbox.Scenarios() {
		text += fmt.Sprintf("  %-10s%s\n", s.Name, s.About)
	}
	return text
}

func (d *demo) run(ctx context.Context, args []string) error {
	if d.length < 0 {
		return app.Usagef("--for %v: use a time above 0", d.length)
	}
	if d.headless && d.length == 0 {
		d.length = 3 * time.Second
	}
	if d.headless && d.Linear {
		return app.Usagef("--headless or --linear, not both")
	}
	if d.record != "" && !d.headless {
		return app.Usagef("--record %s needs --headless (--for sets the length, default 3s)", d.record)
	}
	scenario := sandbox.Tour
	if len(args) > 0 {
		scenario = args[0]
	}
	box, err := sandbox.Start(scenario, d.seed)
	if errors.Is(err, sandbox.ErrNoScenario) {
		return app.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer box.Close()
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	if d.length > 0 {
		limited, cancel := context.WithTimeout(ctx, d.length)
		defer cancel()
		ctx = limited
	}
	targets, err := connect.ParseTargets(box.Targets())
	if err != nil {
		return err
	}
	s := app.Setup{Targets: targets, Named: true} // without the configuration: its secrets are for other servers
	if !d.headless {
		return d.showSandbox(ctx, s, scenario, box)
	}
	snapshot, err := d.watchFor(ctx, s, box)
	if err != nil {
		return err
	}
	return d.PrintLocks(snapshot, d.output, "")
}

// showSandbox opens the screen on the sandbox. Its audit file is as short-lived as its servers.
func (d *demo) showSandbox(ctx context.Context, s app.Setup, scenario string, box *sandbox.Sandbox) error {
	dir, err := os.MkdirTemp("", "lockscope-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	observer, err := d.Observer(s, false, "")
	if err != nil {
		return err
	}
	scenes, err := scenesOf(box)
	if err != nil {
		return err
	}
	return showScreen(ctx, d.App, observer, s, screenOptions{
		title: "demo " + scenario, sandbox: true, scenes: scenes, audit: filepath.Join(dir, "audit.jsonl"),
		faults: sandboxFaults{box, observer, s.Targets}, newLab: d.newLab,
	})
}

// sandboxFaults announce to the observer that a session is about to end: unlike a server, a sandbox
// can end it early.
type sandboxFaults struct {
	*sandbox.Sandbox
	observer *inspect.Observer
	targets  []connect.Target
}

// ExpireSession ends a session.
func (f sandboxFaults) ExpireSession(id int64) error {
	var undo []func()
	for _, t := range f.targets {
		if t.Service == connect.ZooKeeper {
			undo = append(undo, f.observer.Expired(t.Name, id))
		}
	}
	err := f.Sandbox.ExpireSession(id)
	if err != nil {
		for _, u := range undo {
			u()
		}
	}
	return err
}

func scenesOf(box *sandbox.Sandbox) ([]tui.Scene, error) {
	var scenes []tui.Scene
	for _, s := range box.Scenes() {
		id, err := inspect.ParseID(s.Lock)
		if err != nil {
			return nil, err
		}
		scenes = append(scenes, tui.Scene{Title: s.Title, Text: s.Text, Lock: id})
	}
	return scenes, nil
}

// watchFor watches the targets until ctx ends and returns the last snapshot. It watches the scenes'
// locks as closely as a screen does.
func (d *demo) watchFor(ctx context.Context, s app.Setup, box *sandbox.Sandbox) (*inspect.Snapshot, error) {
	sources, err := d.Sources(s, false, "")
	if err != nil {
		return nil, err
	}
	scenes, err := scenesOf(box)
	if err != nil {
		return nil, err
	}
	if d.record != "" {
		file, err := app.CreateRecording(d.record, false)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		to, err := app.Packed(d.record, app.IsRegular(file), file)
		if err != nil {
			return nil, err
		}
		defer to.Close()
		sources = []inspect.Source{recording.New(d.Now, to, sources...)}
	}
	observer := d.Diagnosing(d.Now, sources...)
	observer.Advise(s.Reach())
	observer.Focus(each.Of(scenes, func(s tui.Scene) inspect.ID { return s.Lock })...)
	if err := observer.Run(ctx); err != nil {
		return nil, err
	}
	return observer.Snapshot(), nil
}
