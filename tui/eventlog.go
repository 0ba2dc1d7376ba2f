package tui

import "lockscope/inspect"

// eventsKept is how many events the log remembers.
const eventsKept = 5000

// eventLog remembers what happened while we looked, the newest last.
type eventLog struct {
	list []inspect.Event
	// dropped counts those that were forgotten.
	dropped int
}

// add takes over events. It moves the remembered ones only once in a while.
func (l *eventLog) add(events []inspect.Event) {
	l.list = append(l.list, events...)
	if over := len(l.list) - eventsKept; over > eventsKept/2 {
		l.list = append([]inspect.Event(nil), l.list[over:]...)
		l.dropped += over
	}
}
