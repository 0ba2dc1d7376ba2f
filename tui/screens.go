package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

// besideWidth is the width from which the selected lock's chain stands beside the table.
const besideWidth = 160

// atOnce is how many locks are arranged while the user waits; more are in a command.
const atOnce = 1000

// The beat of the clock: while something is shown in tenths, and otherwise.
const (
	fastBeat = 250 * time.Millisecond
	slowBeat = time.Second
)

// snapshotShownMsg tells a screen that the world's snapshot is a new one. changed lists the locks that differ from
// the one before; all says that it does not, and that everything must be looked at again.
type snapshotShownMsg struct {
	changed []inspect.ID
	all     bool
}

// timePassedMsg tells the screen in front that the drawn time is a later one.
type timePassedMsg struct{}

// screenName names a screen.
type screenName string

// subject is what a screen is about: a lock, an owner, both or neither.
type subject struct {
	lock  inspect.ID
	owner inspect.Identity
}

// place is a screen and what it is about.
type place struct {
	screen screenName
	subject
}

// screen is one page of the program.
type screen interface {
	// Open shows the screen on what the place is about. What it shows already stays as it is, the cursor too, and so does
	// everything where the place is about nothing.
	Open(p place)
	// Crumb is its name in the title bar.
	Crumb() string
	SetSize(width, height int)
	// Update takes snapshotShownMsg (an empty one when the screen comes to the front), mouse messages relative to the
	// screen's corner, and what its own commands answer (see world.ask).
	Update(msg tea.Msg) tea.Cmd
	// Actions are the keys it has now.
	Actions() []action
	// View is exactly as many lines as its height, none wider than its width.
	View() string
	// Selected is what the cursor is on, for another screen to open at; zero where nothing is.
	Selected() subject
	// Focus are the locks it shows.
	Focus() []inspect.ID
	// Lively says that something on it changes several times a second.
	Lively() bool
}

// keyTaker is a screen that takes every key before the actions while a filter is typed in it.
type keyTaker interface {
	TakeKey(msg tea.KeyPressMsg) bool
	Typing() bool
}

// lister is a screen with a list. Sight is which row the cursor is on, counted from 0, of how many, and how many are in sight.
type lister interface {
	Sight() (at, of, rows int)
}

// holder is a screen that holds locks of ours. Holding counts them, and those that it waits for.
type holder interface{ Holding() int }

// dialog lies over the screen. The one on top gets the keys, pastes and wheel turns; all of them get answers to commands,
// and drop those that are not for them.
type dialog interface {
	Update(msg tea.Msg) (cmd tea.Cmd, done bool)
	Actions() []action
	// View is a box of at most that size.
	View(width, height int) string
}

const locksScreen screenName = "locks"

const chainScreen screenName = "chain"

const timelineScreen screenName = "timeline"

const findingsScreen screenName = "findings"

const eventsScreen screenName = "events"

const clientsScreen screenName = "clients"

const backendsScreen screenName = "backends"

const labScreen screenName = "lab"
