package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
)

// SplitWidth is the width from which the selected lock's chain is next to the table.
const SplitWidth = 160

// AtOnce bounds the locks arranged while the user waits; more go into a command.
const AtOnce = 1000

// The beat of the clock: while something is shown in tenths, and otherwise.
const (
	FastBeat = 250 * time.Millisecond
	SlowBeat = time.Second
)

// SnapshotMsg reports a new snapshot to the screen in front. Changed are the locks that differ from the one that
// the screen saw before, each once; with All there may be others, and everything is to be looked at again.
type SnapshotMsg struct {
	Changed []inspect.ID
	All     bool
}

// HiddenMsg reports to a screen that another one is in front now. It learns of no snapshot until it is opened
// again, and is not to keep one in memory.
type HiddenMsg struct{}

// TickMsg reports to the screen in front that the drawn time is a later one.
type TickMsg struct{}

// Name names a screen.
type Name string

// Subject of a screen: a lock, an owner, both or neither.
type Subject struct {
	Lock  inspect.ID
	Owner inspect.Identity
	// Contender is one of the lock's by its name, where that one is meant and no other of its owner's; empty: any.
	Contender inspect.Untrusted
}

// Place is a screen and what it is about.
type Place struct {
	Screen Name
	Subject
}

// Screen is one page of the program.
type Screen interface {
	// Open shows the screen on what the place is about. What it shows already stays as it is, the cursor too,
	// and so does everything where the place is about nothing. missed has the changes since it was last in
	// front.
	Open(p Place, missed SnapshotMsg) tea.Cmd
	// Title is its name in the title bar.
	Title() string
	SetSize(width, height int)
	// Update takes, while the screen is in front, SnapshotMsg, TickMsg and mouse messages relative to the
	// screen's corner; HiddenMsg; and at any time what its own commands answer (see Context.Request).
	Update(msg tea.Msg) tea.Cmd
	// Actions are the keys it has now.
	Actions() []Action
	// View is exactly as many lines as its height, none wider than its width.
	View() string
	// Selected is the subject under the cursor, for another screen to open; zero without one.
	Selected() Subject
	// Focus are the locks it shows.
	Focus() []inspect.ID
	// NeedsFastTick reports whether something on it changes several times a second.
	NeedsFastTick() bool
}

// Filtering is a screen whose list has a filter. While that is typed it gets every key and paste before the actions.
type Filtering interface{ Input() *FilterInput }

// Scrolling is a screen with a list. ScrollPosition returns the cursor's row, counted from 0, the number of
// rows, and of those in sight.
type Scrolling interface {
	ScrollPosition() (at, of, rows int)
}

// Holder is a screen that holds locks of ours, or waits for some. Holding counts both.
type Holder interface{ Holding() (held, waiting int) }

// Dialog lies over the screen. The one on top gets the keys, pastes and wheel turns; all of them get answers
// to commands, and drop those that are not for them.
type Dialog interface {
	Update(msg tea.Msg) (cmd tea.Cmd, done bool)
	Actions() []Action
	// View is a box of at most that size.
	View(width, height int) string
}

const Locks Name = "locks"

const Chain Name = "chain"

const Timeline Name = "timeline"

const Findings Name = "findings"

const Events Name = "events"

const Clients Name = "clients"

const Backends Name = "backends"

const Lab Name = "lab"
