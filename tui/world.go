package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
)

// world is the Context of all screens and dialogs, with the state that only the root changes. It
// has many fields, since all screens share it.
type world struct {
	options Options
	theme   *theme.Theme
	// snapshot is the drawn snapshot; never nil, and empty before the first one.
	snapshot *inspect.Snapshot
	arrived  bool
	// now is the time that is drawn; it stops while paused.
	now     time.Time
	paused  bool
	history *screen.History
	events  screen.EventLog
	// past keeps the last few minutes. trends are computed from it.
	past   *inspect.Past
	trends map[inspect.ID]trend
	// pastEvents are the events up to the past moment shown; nil at the present.
	pastEvents *screen.EventLog
	// feedError is the error that ended the feed; nil while snapshots may come.
	feedError error

	// dialogs are on top of the screen, the top one last.
	dialogs    []screen.Dialog
	flashText  string
	flashUntil time.Time
	next       navigation
	queued     []tea.Cmd
	// losses are the locks that we lost, until the user acknowledges them.
	losses  []screen.Loss
	screens map[screen.Name]screen.Screen
	// backStack is the way back; the last entry is the screen in front.
	backStack []screen.Place
	inFront   screen.Name // the screen that is shown
	// openedFrom is the screen from which the current one was opened; empty after going back.
	openedFrom screen.Name
	// connections that backends listed, by name; see WantPossible.
	connections map[string]connections
	number      int // the last one that Number returned
	may         permission

	// ctx lives as long as the program. Running commands hold alive for reading, so that the
	// program can wait for them.
	ctx   context.Context
	alive *sync.RWMutex
}

var _ screen.Context = (*world)(nil)

// navigation is a screen's request, carried out by the root after its Update.
type navigation struct {
	to   screen.Place
	back bool
}

func (w *world) Snapshot() *inspect.Snapshot { return w.snapshot }
func (w *world) Arrived() bool               { return w.arrived }
func (w *world) FeedError() error            { return w.feedError }
func (w *world) Theme() *theme.Theme         { return w.theme }
func (w *world) Now() time.Time              { return w.now }
func (w *world) Paused() bool                { return w.paused }
func (w *world) Past() bool                  { return w.pastEvents != nil }
func (w *world) Live() bool                  { return !w.options.Replay && !w.paused && !w.Past() }
func (w *world) Clock() time.Time            { return w.options.now() }
func (w *world) InFront() screen.Name        { return w.inFront }
func (w *world) OpenedFrom() screen.Name     { return w.openedFrom }
func (w *world) Lifetime() context.Context   { return w.ctx }

func (w *world) Log() *screen.EventLog {
	if w.pastEvents != nil {
		return w.pastEvents
	}
	return &w.events
}

func (w *world) Grants(id inspect.ID) []screen.Grant {
	list := w.history.Of(id)
	if w.pastEvents == nil {
		return list
	}
	n := 0
	for n < len(list) && !list[n].Seen.After(w.now) {
		n++
	}
	return list[:n]
}

func (w *world) JustGranted(id inspect.ID, name inspect.Untrusted) bool {
	return screen.FreshGrant(w.Grants(id), name, w.now)
}

func (w *world) FoundAt(on inspect.ID, f *inspect.Finding) (at time.Time, exact bool) {
	return w.history.FoundAt(on, f)
}

func (w *world) Commands(l *inspect.Lock, c *inspect.Contender) []describe.Command {
	if w.options.Commands == nil {
		return nil
	}
	return w.options.Commands(l, c)
}

func (w *world) NoClipboard() string { return w.options.NoClipboard }

// Clipboard implements screen.Context.
func (w *world) Clipboard() string { return cmp.Or(w.options.Clipboard, "the terminal's clipboard") }

func (w *world) Save(ctx context.Context, about, extension, text string) (path string, err error) {
	if w.options.Save == nil {
		return "", errors.New("this screen writes no files")
	}
	return w.options.Save(ctx, about, extension, text)
}

func (w *world) Go(to screen.Name, about screen.Subject) {
	w.next = navigation{to: screen.Place{Screen: to, Subject: about}}
}
func (w *world) Back()                { w.next = navigation{back: true} }
func (w *world) Push(d screen.Dialog) { w.dialogs = append(w.dialogs, d) }
func (w *world) HasDialog() bool      { return len(w.dialogs) > 0 }
func (w *world) Later(cmd tea.Cmd)    { w.queued = append(w.queued, cmd) }

func (w *world) Number() int {
	w.number++
	return w.number
}

func (w *world) Flash(text string) {
	w.flashText, w.flashUntil = strings.ReplaceAll(text, "\n", " "), w.options.now().Add(3*time.Second)
}

func (w *world) Report(l screen.Loss) {
	w.flashText = "" // its text about our locks is outdated
	w.losses = append(w.losses, l)
}

// top is the dialog that gets the keys; nil without one.
func (w *world) top() screen.Dialog {
	if len(w.dialogs) == 0 {
		return nil
	}
	return w.dialogs[len(w.dialogs)-1]
}

// close removes a dialog from anywhere in the stack.
func (w *world) close(d screen.Dialog) {
	w.dialogs = slices.DeleteFunc(w.dialogs, func(o screen.Dialog) bool { return o == d })
}

// addEvents records the events between two snapshots, and the number of earlier events that were
// dropped.
func (w *world) addEvents(events []inspect.Event, missed int, before, s *inspect.Snapshot) {
	w.history.Add(events, before, s)
	w.events.Add(events)
	w.events.Missed += missed
}

// answeredMsg carries the answer of a screen's own command to its Update.
type answeredMsg struct {
	to screen.Name
	tea.Msg
}

func (w *world) Request(s screen.Name, limit time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return w.Command(limit, func(ctx context.Context) tea.Msg {
		if msg := f(ctx); msg != nil {
			return answeredMsg{s, msg}
		}
		return nil
	})
}

func (w *world) Command(limit time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
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
