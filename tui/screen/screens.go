package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
)

// SplitWidth is the width from which the selected lock's chain is next to the table.
const SplitWidth = 160

// AtOnce limits the locks arranged inside Update. More are arranged in a command.
const AtOnce = 1000

// The intervals of the clock: fast while something shows tenths, slow otherwise.
const (
	FastBeat = 250 * time.Millisecond
	SlowBeat = time.Second
)

// SnapshotMsg reports a new snapshot to the screen in front. Changed are the locks that differ
// from the screen's previous snapshot, each once. With All, any other lock may have changed too,
// and the screen must look at everything.
type SnapshotMsg struct {
	Changed []inspect.ID
	All     bool
}

// HiddenMsg reports to a screen that another one is now in front. It receives no snapshots until
// it is opened again, and must not keep one in memory.
type HiddenMsg struct{}

// TickMsg reports to the screen in front that the drawn time has moved on.
type TickMsg struct{}

// Name names a screen.
type Name string

// Subject is what a screen is about: a lock, an owner, both or neither.
type Subject struct {
	Lock  inspect.ID
	Owner inspect.Identity
	// Contender names one of the lock's contenders if only that one is meant, not others of its
	// owner; empty means any.
	Contender inspect.Untrusted
}

// Place is a screen and its subject.
type Place struct {
	Screen Name
	Subject
}

// Screen is one page of the program.
type Screen interface {
	// Open shows the screen for the place's subject. If it already shows that, or if there is no
	// subject, everything stays, including the cursor. missed has the changes since it was last
	// in front.
	Open(p Place, missed SnapshotMsg) tea.Cmd
	// Title is the screen's name in the title bar.
	Title() string
	SetSize(width, height int)
	// Update handles SnapshotMsg, TickMsg and mouse messages relative to the screen's corner
	// while the screen is in front. It also handles HiddenMsg, and at any time the results of its
	// own commands (see Context.Request).
	Update(msg tea.Msg) tea.Cmd
	// Actions returns the screen's current keys.
	Actions() []Action
	// View has exactly as many lines as the height, none wider than the width.
	View() string
	// Selected is the subject under the cursor, for other screens; zero without one.
	Selected() Subject
	// Focus returns the visible locks.
	Focus() []inspect.ID
	// NeedsFastTick reports whether part of the screen changes several times a second.
	NeedsFastTick() bool
}

// Filtering is a screen with a filter. While the user types the filter, it gets every key and
// paste before the actions.
type Filtering interface{ Input() *FilterInput }

// Scrolling is a screen with a list. ScrollPosition returns the cursor's row, from 0, the number
// of rows, and the number of visible rows.
type Scrolling interface {
	ScrollPosition() (at, of, rows int)
}

// Holder is a screen that holds or awaits locks of ours. Holding counts both.
type Holder interface{ Holding() (held, waiting int) }

// Dialog is on top of the screen. The top dialog gets the keys, pastes and wheel turns. All
// dialogs get the results of commands, and drop those that are not theirs.
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
