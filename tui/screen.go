package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

// screenName names a screen.
type screenName string

// screen is one page of the program.
type screen interface {
	// Open shows the screen; lock is the one it is about, zero when none.
	Open(lock inspect.ID)
	// Crumb is its name in the title bar.
	Crumb() string
	SetSize(width, height int)
	// Update takes snapshotShownMsg, mouse messages relative to the screen's corner, and its own messages.
	Update(msg tea.Msg) tea.Cmd
	// Actions are the keys it has now.
	Actions() []action
	// View is exactly as many lines as its height, none wider than its width.
	View() string
	// Focus are the locks it shows.
	Focus() []inspect.ID
	// Lively says that something on it changes several times a second.
	Lively() bool
}

// keyTaker is a screen that may take every key before the actions, such as while text is typed.
type keyTaker interface {
	TakeKey(msg tea.KeyPressMsg) bool
}

// modal lies over the screen and gets all keys, pastes and answers until it is done.
type modal interface {
	Update(msg tea.Msg) (cmd tea.Cmd, done bool)
	Actions() []action
	// View is a box of at most that size.
	View(width, height int) string
}

// screenList are all screens; the first is shown at the start. A new screen is a file of its own and a line here.
func screenList() []struct {
	name screenName
	make func(*world) screen
} {
	return []struct {
		name screenName
		make func(*world) screen
	}{
		{locksScreen, newLocks},
		{chainScreen, newChain},
	}
}
