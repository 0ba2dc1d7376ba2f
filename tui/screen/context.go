package screen

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
)

// Context is what a screen or a dialog sees of the program, and its way to make requests. Only the
// root changes it.
type Context interface {
	// Snapshot is the drawn snapshot; never nil, and empty before the first one.
	Snapshot() *inspect.Snapshot
	// Arrived reports whether there is a snapshot. FeedError is the error that ended the feed; nil
	// while it runs.
	Arrived() bool
	FeedError() error
	Theme() *theme.Theme
	// Now is the drawn time, by our clock, which stops while Paused. Clock continues.
	Now() time.Time
	Paused() bool
	// Past reports whether the moment shown is earlier than the newest known one.
	Past() bool
	Clock() time.Time
	// Live reports whether the present is drawn as it arrives: no pause, no earlier moment and no
	// recording.
	Live() bool
	// Grants returns the lock's grants that we saw, the newest last. JustGranted reports whether
	// a contender got the lock a moment ago, after it had not changed hands for a while.
	Grants(id inspect.ID) []Grant
	JustGranted(id inspect.ID, name inspect.Untrusted) bool
	// Trend samples a lock over the last TrendCells steps of TrendStep, up to now.
	Trend(id inspect.ID) inspect.Trend
	// BackendTrend samples a metric of a backend over the same time. A sample is -1 if the
	// backend's state or the metric is unknown.
	BackendTrend(name string, of func(*inspect.Backend) float64) []float64
	// FoundAt is a finding's first appearance. If the finding already existed when watching its
	// backend began, exact is false and at is when watching began. at is zero if unknown.
	FoundAt(on inspect.ID, f *inspect.Finding) (at time.Time, exact bool)
	// Log holds the events that were seen.
	Log() *EventLog
	// ReadOnly is the reason why the user may acquire no lock; empty if allowed.
	// CannotAcquire is ReadOnly unless the form that takes a lock can allow it.
	ReadOnly() string
	CannotAcquire() string
	// MayAct is the reason why no action on other clients' locks is allowed; empty if allowed.
	// Previews are always allowed. Production reports whether an action needs a reason.
	MayAct() string
	Production() bool
	// Arm is the command that allows writing; nil if that is already allowed or impossible. The
	// dialogs then receive an ArmedMsg. It allows the action of the dialog in front or, in the
	// Lab, only its own locks and runs.
	Arm() tea.Cmd
	// Commands returns shell commands about a lock and a contender, for the user to copy. The
	// contender may be nil.
	Commands(l *inspect.Lock, c *inspect.Contender) []describe.Command
	// NoClipboard is the reason why the terminal has no clipboard for programs; empty if it may have
	// one. Save writes text to a new file named after its subject, and returns the path; it may block.
	NoClipboard() string
	// Clipboard is where copied text goes, in words. Whether it arrives is unknown.
	Clipboard() string
	Save(ctx context.Context, about, extension, text string) (path string, err error)
	// WantPossible requests the list of connections that may belong to a lock's contenders, if their
	// clients are unknown and there is no recent list. Possible returns those of one contender;
	// false if there is no list.
	WantPossible(l *inspect.Lock)
	Possible(l *inspect.Lock, c *inspect.Contender) (Possible, bool)
	// InFront is the current screen. OpenedFrom is the screen from which it was opened; empty
	// after going back.
	InFront() Name
	OpenedFrom() Name

	// Go shows another screen about a subject, Back the previous one.
	Go(to Name, about Subject)
	Back()
	// Push opens a dialog on top of everything. It gets the keys until it is done. HasDialog
	// reports whether a dialog is open.
	Push(d Dialog)
	HasDialog() bool
	// Flash shows a short message in the footer for a while.
	Flash(text string)
	// Report shows the loss of one of our locks on top of every screen, until the user
	// acknowledges it.
	Report(l Loss)
	// Later runs a command that the current function cannot return.
	Later(cmd tea.Cmd)
	// Request is a command for a screen: the result of f goes to that screen's Update. The result
	// of a Command goes to the dialogs. f must end with its context, which ends after limit (0:
	// none) or with the program.
	Request(to Name, limit time.Duration, f func(context.Context) tea.Msg) tea.Cmd
	Command(limit time.Duration, f func(context.Context) tea.Msg) tea.Cmd
	// Number returns a new number each time, to recognise late answers.
	Number() int
	// Lifetime ends with the program.
	Lifetime() context.Context
}

// ArmedMsg tells the dialogs that writing is now allowed.
type ArmedMsg struct{}

// Loss is a lock that we lost, with the time and reason.
type Loss struct {
	Lock inspect.ID
	Why  string
	At   time.Time
}
