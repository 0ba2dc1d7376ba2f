package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/release"
)

// Feed hands out snapshots, each newer than the one before. *inspect.Subscription is one.
type Feed interface {
	Next(ctx context.Context) (*inspect.Snapshot, error)
}

// Options of the program. Only Feed or Film is required. The others are flags, or replacements
// for tests.
type Options struct {
	Feed Feed
	// Film is a recording to play instead of a feed. Speed is its initial speed; 0 means the
	// original speed.
	Film  Film
	Speed float64
	// Past holds the snapshots before the feed's first; nil if there were none.
	Past *inspect.Past
	// Focus receives the visible locks, like inspect.Observer.Focus. It must not block.
	Focus func(ids ...inspect.ID)
	// Release finds the Releaser of a backend; false if it has none. Without it there are no
	// previews either.
	Release func(backend string) (act.Releaser, bool)
	// End finds a way to end connections of a backend's clients; nil if not available.
	End release.Ender
	// Connections lists the connections of a Redis backend's clients, with the database of its
	// locks. It may connect. It returns the lists of some masters together with the errors of
	// others. It is nil if not available.
	Connections func(ctx context.Context, backend string) (list []act.Connection, db int, err error)
	// Mutes stores the acknowledged findings; nil if not available.
	Mutes release.Mutes
	// Lab takes locks by hand and runs contention; nil if writing is not allowed.
	Lab lab.Driver
	// Faults are the sandbox's faults, for the lab; nil elsewhere.
	Faults lab.Faults
	// Arm allows or forbids writing in a running program; it may block. Armed is set if writing is
	// allowed from the start. Without Arm, actions need Release and no ReadOnly, and taking locks
	// needs Lab.
	Arm   func(on bool) error
	Armed bool
	// ReadOnly is the reason why writing is not allowed, unless that is just a missing flag.
	ReadOnly string
	// Commands returns shell commands for the user to copy. They inspect a lock, or the process
	// behind its contender c, which may be nil. Without Commands, there are none.
	Commands func(l *inspect.Lock, c *inspect.Contender) []describe.Command
	// NoClipboard is the reason why the terminal has no clipboard for programs (OSC 52); empty if it may have one.
	NoClipboard string
	// Clipboard is where copied text goes; empty for the terminal's clipboard.
	Clipboard string
	// Save writes text to a new file named after its subject, and returns the file's path. It may
	// block; nil writes no files.
	Save func(ctx context.Context, about, extension, text string) (path string, err error)
	// SavePast writes the kept past to a new file, as a recording, and returns its path. It may
	// block; nil disables it.
	SavePast func(ctx context.Context, past *inspect.Past) (path string, err error)
	// Title is the name of a profile or a scenario.
	Title string
	// Environment is production, staging, dev or empty. It is shown as a badge.
	Environment string
	// Sandbox labels the screen as showing embedded servers.
	Sandbox bool
	// Replay labels the screen as showing a recording.
	Replay bool
	// Scenes of a demonstration: it starts with the first, and the arrow keys change scenes.
	Scenes []Scene
	// Caption is a line about the current scene, for demonstrations; nil or an empty result for
	// none.
	Caption func(now time.Time) string
	// Look has the user's own filters, views, columns and keys; CheckLook checks them.
	Look
	// Theme chooses colours and glyphs. Light, BackgroundKnown and Profile are detected from the
	// terminal.
	Theme theme.Options
	// Bell is the lowest severity of a new finding that rings the terminal's bell; empty if none
	// does.
	Bell inspect.Severity
	// NoSuspend is the reason why ctrl+z must not stop the program; empty if a shell continues it.
	NoSuspend string
	// Now is our clock; nil means time.Now.
	Now func() time.Time
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Run shows the screens on the terminal until the user quits or ctx ends; neither is an error. It waits for
// everything it started to end.
func Run(ctx context.Context, o Options, options ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	m := New(ctx, o)
	err := runProgram(ctx, m, options)
	cancel()
	m.alive.Lock() // waits for the commands under way
	return err
}

// framesPerSecond is how often Bubble Tea looks for something to draw: its most. A key waits up to 8 ms for it.
// Half of them would cost 0.4 % less of a core.
const framesPerSecond = 120

// runProgram shows a model until it quits or ctx ends. The caller turns signals into the end of ctx: Bubble Tea's own
// handler would wait forever to deliver a signal that came as ctx ended. The end of ctx quits: a program that is
// killed by its context closes the terminal's reader while it is being read.
func runProgram(ctx context.Context, m tea.Model, options []tea.ProgramOption) error {
	p := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}, options...)...)
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("tui: %w", err)
}
