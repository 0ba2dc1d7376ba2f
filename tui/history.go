package tui

import (
	"maps"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

const (
	// grantsKept is how many grants of a lock are remembered.
	grantsKept = 24
	// freshFor is how long a lock that changed hands stands out.
	freshFor = 1500 * time.Millisecond
)

// grant is one time that somebody got a lock while we looked.
type grant struct {
	// seen by our clock.
	seen     time.Time
	to, from string // escaped; from is empty when nobody held it before
	name     inspect.Untrusted
}

// history remembers who got which lock, by the observer's events.
type history struct {
	grants map[inspect.ID][]grant
	newest time.Time
}

func newHistory() *history {
	return &history{grants: make(map[inspect.ID][]grant)}
}

// note takes over the grants among events.
func (h *history) note(events []inspect.Event) {
	for _, e := range events {
		switch e.Kind {
		case inspect.EventAcquired, inspect.EventHandover:
			h.add(e.Lock, grant{seen: e.At, to: describe.Owner(e.Contender), from: previous(&e), name: e.Contender.Name})
		case inspect.EventGone:
			if e.Contender == nil {
				delete(h.grants, e.Lock)
			}
		}
	}
}

// keep forgets the locks that are not wanted any more.
func (h *history) keep(wanted func(inspect.ID) bool) {
	maps.DeleteFunc(h.grants, func(id inspect.ID, _ []grant) bool { return !wanted(id) })
}

// previous is who held the lock before a handover; empty for other events.
func previous(e *inspect.Event) string {
	if e.Previous == nil {
		return ""
	}
	return describe.Owner(e.Previous)
}

func (h *history) add(id inspect.ID, g grant) {
	list := append(h.grants[id], g)
	h.grants[id] = list[max(0, len(list)-grantsKept):]
	h.newest = g.seen
}

// of are the grants of a lock, the newest last.
func (h *history) of(id inspect.ID) []grant { return h.grants[id] }

// fresh says that some lock has just changed hands.
func (h *history) fresh(now time.Time) bool { return now.Sub(h.newest) < freshFor }

// freshGrant says that this contender has just got the lock.
func (h *history) freshGrant(id inspect.ID, name inspect.Untrusted, now time.Time) bool {
	for _, g := range h.grants[id] {
		if g.name == name && now.Sub(g.seen) < freshFor {
			return true
		}
	}
	return false
}
