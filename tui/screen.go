package tui

import (
	"github.com/lockscope/lockscope/tui/backends"
	"github.com/lockscope/lockscope/tui/chain"
	"github.com/lockscope/lockscope/tui/clients"
	"github.com/lockscope/lockscope/tui/events"
	"github.com/lockscope/lockscope/tui/findings"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/timeline"
)

// screenEntry is a screen in the list of screens. Its key opens it from any other screen, with the
// selection there. A screen without a key is opened in other ways.
type screenEntry struct {
	name  screen.Name
	key   string
	about string // a line for the help
	make  func(screen.Context, Options) screen.Screen
}

// screenList are all screens; the first is shown at the start. A new screen is a separate folder, a
// name in package screen and a line here.
func screenList() []screenEntry {
	return []screenEntry{
		{
			screen.Locks, "", "all locks of all backends",
			func(c screen.Context, o Options) screen.Screen { return locks.New(c, o.Columns) },
		},
		{screen.Chain, "", "a lock's queue, and what is wrong", bare(chain.New)},
		{screen.Timeline, "t", "who waited and held when", bare(timeline.New)},
		{screen.Findings, "f", "what is wrong, and what to do", bare(findings.New)},
		{screen.Events, "e", "what happened, newest at the bottom", bare(events.New)},
		{screen.Clients, "c", "sessions, processes and deadlocks", bare(clients.New)},
		{screen.Backends, "b", "servers, our load, what is wrong", bare(backends.New)},
		{
			screen.Lab, "L", "acquire locks, contention, faults",
			func(c screen.Context, o Options) screen.Screen { return lab.New(c, o.Lab, o.Faults) },
		},
	}
}

// bare adapts a constructor that needs no options.
func bare(make func(screen.Context) screen.Screen) func(screen.Context, Options) screen.Screen {
	return func(c screen.Context, _ Options) screen.Screen { return make(c) }
}

// subjectFor finds the subject for a screen that is about to open. It is the selection or, if the
// screen needs a lock and none is selected, the last lock selected on the way here.
func (w *world) subjectFor(name screen.Name) screen.Subject {
	about := w.front().Selected()
	if about.Lock.Path != "" || name != screen.Chain && name != screen.Timeline && name != screen.Lab {
		return about
	}
	for i := len(w.backStack) - 1; i >= 0; i-- {
		if before := w.screens[w.backStack[i].Screen].Selected(); before.Lock.Path != "" {
			return before
		}
	}
	return about
}
