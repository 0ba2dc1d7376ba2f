package screen

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
)

// Context shows the program to a screen or a dialog, and takes its requests. Only the root changes it.
type Context interface {
	// Snapshot that is drawn; never nil, empty before the first one came.
	Snapshot() *inspect.Snapshot
	// Arrived reports whether a snapshot has come; FeedError has ended the feed; nil while they may come.
	Arrived() bool
	FeedError() error
	Theme() *theme.Theme
	// Now is the time that is drawn, by our clock; it stops while Paused. Clock continues.
	Now() time.Time
	Paused() bool
	// Past reports whether an earlier moment is drawn than the newest that is known.
	Past() bool
	Clock() time.Time
	// Live reports whether the present is drawn as it comes: no pause, no earlier moment and no recording.
	Live() bool
	// Grants of a lock that were seen, the newest last. JustGranted reports whether a contender got it a
	// moment ago, after it had not changed hands for a while.
	Grants(id inspect.ID) []Grant
	JustGranted(id inspect.ID, name inspect.Untrusted) bool
	// Trend samples a lock over the last TrendCells times TrendStep, up to now.
	Trend(id inspect.ID) inspect.Trend
	// BackendTrend samples a number of a backend over the same time; -1 where it, or what of returns, is not known.
	BackendTrend(name string, of func(*inspect.Backend) float64) []float64
	// FoundAt is a finding's first appearance. If it was there already when its backend was first watched it
	// is not exact, and at is the time of that; zero while that is not known.
	FoundAt(on inspect.ID, f *inspect.Finding) (at time.Time, exact bool)
	// Log has the events that were seen.
	Log() *EventLog
	// ReadOnly is the reason why no lock may be taken by hand; empty if one may be.
	ReadOnly() string
	// MayAct is the reason why nothing may be done to locks of others; empty if it may be. Previews only
	// read. Production reports whether a reason is to be given for it.
	MayAct() string
	Production() bool
	// Arm is the command that allows writing; nil if it is allowed already or cannot be. The dialogs then get an
	// ArmedMsg.
	Arm() tea.Cmd
	// Commands are shell lines to copy about a lock and a contender of it, which may be nil.
	Commands(l *inspect.Lock, c *inspect.Contender) []describe.Command
	// NoClipboard is the reason why the terminal has no clipboard for programs; empty if it may have one.
	// Save writes text to a new file that is named after what it is about, and returns the file's path; it
	// may block.
	NoClipboard() string
	Save(ctx context.Context, about, extension, text string) (path string, err error)
	// WantPossible has the connections listed that may be those of a lock's contenders, where no client of
	// theirs is known and that was not done lately. Possible are those of a contender, as of then; false:
	// they were not asked for.
	WantPossible(l *inspect.Lock)
	Possible(l *inspect.Lock, c *inspect.Contender) (Possible, bool)
	// InFront is the screen that is shown, OpenedFrom the one from which it was opened; empty after going back.
	InFront() Name
	OpenedFrom() Name

	// Go shows another screen about something, Back the one before.
	Go(to Name, about Subject)
	Back()
	// Push lays a dialog over everything. It gets the keys until it is done. HasDialog reports whether there is one.
	Push(d Dialog)
	HasDialog() bool
	// Flash shows a short message in the footer for a while.
	Flash(text string)
	// Report shows the loss of a lock of ours over every screen, until that is acknowledged.
	Report(l Loss)
	// Later runs a command that the current operation cannot return.
	Later(cmd tea.Cmd)
	// Request is a command for a screen: what f returns goes to that screen's Update. Command is one whose
	// answer goes to the dialogs. f must end with its context: after limit (0: none) or with the program.
	Request(to Name, limit time.Duration, f func(context.Context) tea.Msg) tea.Cmd
	Command(limit time.Duration, f func(context.Context) tea.Msg) tea.Cmd
	// Number is another one each time, so that a late answer is recognised.
	Number() int
	// Lifetime ends with the program.
	Lifetime() context.Context
}

// ArmedMsg tells the dialogs that writing is allowed from now on.
type ArmedMsg struct{}

// Loss is a lock that we held, and why and when we lost it.
type Loss struct {
	Lock inspect.ID
	Why  string
	At   time.Time
}
