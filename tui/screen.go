package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

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

// screenEntry is a screen in the list of them. Its key opens it from any other at what is selected there; without one it
// is opened in other ways.
type screenEntry struct {
	name  screenName
	key   string
	about string // a line for the help
	make  func(Context, Options) screen
}

// screenList are all screens; the first is shown at the start. A new screen is a file of its own and a line here.
func screenList() []screenEntry {
	return []screenEntry{
		{locksScreen, "", "all locks of all backends", bare(newLocks)},
		{chainScreen, "", "a lock's queue, and what is wrong with it", func(c Context, o Options) screen { return newChain(c, o.Release) }},
		{timelineScreen, "t", "who waited and held when, a lane a contender", func(c Context, o Options) screen { return newTimeline(c, len(o.Scenes) > 0) }},
		{findingsScreen, "f", "what is wrong, the worst first, and what to do", bare(newFindings)},
		{eventsScreen, "e", "what happened, the newest at the bottom", bare(newEvents)},
		{clientsScreen, "c", "sessions and processes, all that each holds and waits for, deadlocks", bare(newClients)},
		{backendsScreen, "b", "servers and masters, how they are read, what that costs them, and what is wrong", bare(newBackends)},
		{labScreen, "L", "take locks by hand, let contenders fight, make faults", func(c Context, o Options) screen { return newLab(c, o.Lab, o.Faults) }},
	}
}

// bare makes a screen that needs no option.
func bare(make func(Context) screen) func(Context, Options) screen {
	return func(c Context, _ Options) screen { return make(c) }
}
