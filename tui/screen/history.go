package screen

import (
	"maps"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

const (
	// grantsKept is how many grants of a lock are remembered.
	grantsKept = 24
	// FreshFor is how long a lock that changed hands stands out.
	FreshFor = 1500 * time.Millisecond
)

// Grant is one time that somebody got a lock while we looked.
type Grant struct {
	// Seen by our clock.
	Seen     time.Time
	To, From string // escaped; from is empty when nobody held it before
	Name     inspect.Untrusted
}

// History remembers who got which lock, by the observer's events.
type History struct {
	grants map[inspect.ID][]Grant
	newest time.Time
}

func NewHistory() *History {
	return &History{grants: make(map[inspect.ID][]Grant)}
}

// Note takes over the grants among events.
func (h *History) Note(events []inspect.Event) {
	for _, e := range events {
		switch e.Kind {
		case inspect.EventAcquired, inspect.EventHandover:
			h.Add(e.Lock, Grant{Seen: e.At, To: describe.Owner(e.Contender), From: previous(&e), Name: e.Contender.Name})
		case inspect.EventGone:
			if e.Contender == nil {
				delete(h.grants, e.Lock)
			}
		}
	}
}

// Keep forgets the locks that are not wanted any more.
func (h *History) Keep(wanted func(inspect.ID) bool) {
	maps.DeleteFunc(h.grants, func(id inspect.ID, _ []Grant) bool { return !wanted(id) })
}

// previous is who held the lock before a handover; empty for other events.
func previous(e *inspect.Event) string {
	if e.Previous == nil {
		return ""
	}
	return describe.Owner(e.Previous)
}

func (h *History) Add(id inspect.ID, g Grant) {
	list := append(h.grants[id], g)
	h.grants[id] = list[max(0, len(list)-grantsKept):]
	h.newest = g.Seen
}

// Of are the grants of a lock, the newest last.
func (h *History) Of(id inspect.ID) []Grant { return h.grants[id] }

// Fresh says that some lock has just changed hands.
func (h *History) Fresh(now time.Time) bool { return now.Sub(h.newest) < FreshFor }

// FreshGrant says that this contender has just got the lock.
func (h *History) FreshGrant(id inspect.ID, name inspect.Untrusted, now time.Time) bool {
	for _, g := range h.grants[id] {
		if g.Name == name && now.Sub(g.Seen) < FreshFor {
			return true
		}
	}
	return false
}
