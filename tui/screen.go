package tui

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
