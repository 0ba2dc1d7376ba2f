package tui

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/theme"
)

// world is what all screens look at. Only the root changes it, except for the modal, the flash and the pause, which
// screens ask for through its methods.
type world struct {
	options Options
	theme   *theme.Theme
	// snapshot is what is drawn; never nil, empty before the first one came.
	snapshot *inspect.Snapshot
	arrived  bool
	// now is the time that is drawn; it stands still while paused.
	now     time.Time
	paused  bool
	history *history
	events  eventLog
	// feedError is why no more snapshots come.
	feedError error

	modal      modal
	flashText  string
	flashUntil time.Time
	next       navigation
	queued     []tea.Cmd
	// holding counts the locks that we hold ourselves; nil: none.
	holding func() int
	// losses are the locks that we held and lost, until that is acknowledged.
	losses  []loss
	inFront screenName // the screen that is shown
	// opener is the screen from which the one in front was opened; empty after going back.
	opener screenName
	// generation numbers dialogs, so that an answer to one that is gone is dropped.
	generation int

	// ctx is the program's life; running commands hold alive for reading, so that its end can wait for them.
	ctx   context.Context
	alive *sync.RWMutex
}

// navigation is where a screen wants to go.
type navigation struct {
	to   place
	back bool
}

func (w *world) open(to screenName, about subject) { w.next = navigation{to: place{to, about}} }
func (w *world) back()                             { w.next = navigation{back: true} }

// later has a command run that what is under way cannot return.
func (w *world) later(cmd tea.Cmd) { w.queued = append(w.queued, cmd) }

// note takes over what happened, and how many events before that were too many to be told.
func (w *world) note(events []inspect.Event, missed int) {
	w.history.note(events)
	w.events.add(events)
	w.events.missed += missed
}

// flash shows a short message in the footer for a while.
func (w *world) flash(text string) {
	w.flashText, w.flashUntil = text, w.options.now().Add(3*time.Second)
}

// answeredMsg is what came of a screen's own command, for its Update.
type answeredMsg struct {
	to screenName
	tea.Msg
}

// ask is command for a screen: what f returns goes to that screen's Update.
func (w *world) ask(s screenName, limit time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return w.command(limit, func(ctx context.Context) tea.Msg {
		if msg := f(ctx); msg != nil {
			return answeredMsg{s, msg}
		}
		return nil
	})
}

// command makes a tea.Cmd of f, which must end with its context: after limit (0: none) or with the program.
func (w *world) command(limit time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if !w.alive.TryRLock() {
			return nil // the program is ending
		}
		defer w.alive.RUnlock()
		ctx, cancel := w.ctx, func() {}
		if limit > 0 {
			ctx, cancel = context.WithTimeout(w.ctx, limit)
		}
		defer cancel()
		return f(ctx)
	}
}
