package screen

import (
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

const (
	// grantsKept limits the remembered grants of a lock.
	grantsKept = 24
	// FreshFor is how long a lock is highlighted after it changed hands.
	FreshFor = 1500 * time.Millisecond
	// quietFor is the minimum time since the previous grant for a grant to be highlighted. A lock
	// that changes hands all the time is not news.
	quietFor = 10 * time.Second
)

// Grant is one grant of a lock that we saw.
type Grant struct {
	// Seen by our clock.
	Seen     time.Time
	To, From string // escaped; From is empty without a previous holder
	Name     inspect.Untrusted
	Forced   bool // the previous holder was forced out
}

// History remembers the newest grants of locks and the first sight of findings, from the
// observer's events.
type History struct {
	grants map[inspect.ID][]Grant
	newest time.Time
	// found holds the times of findings by place and key. It omits those that already existed when
	// their backend was first watched, at the time in watched.
	found   map[inspect.ID]map[string]time.Time
	watched map[string]time.Time
}

func NewHistory() *History {
	return &History{
		grants: make(map[inspect.ID][]Grant), found: make(map[inspect.ID]map[string]time.Time),
		watched: make(map[string]time.Time),
	}
}

// Add adds the events after a snapshot, and the backends that are watched in the next one.
func (h *History) Add(events []inspect.Event, before, s *inspect.Snapshot) {
	type finding struct {
		on  inspect.ID
		key string
	}
	cleared, forced := map[finding]bool{}, map[inspect.ID]inspect.Untrusted{}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case inspect.EventForced:
			forced[e.Lock] = e.Contender.Name
		case inspect.EventAcquired, inspect.EventHandover:
			h.granted(e.Lock, Grant{
				Seen: e.At, To: describe.Owner(e.Contender), From: previous(e), Name: e.Contender.Name,
				Forced: e.Previous != nil && forced[e.Lock] == e.Previous.Name,
			})
		case inspect.EventGone:
			if e.Contender == nil {
				delete(h.grants, e.Lock)
				delete(h.found, e.Lock)
			}
		case inspect.EventFinding:
			on := FindingPlace(e)
			if !cleared[finding{on, e.Finding.Key()}] && wasReported(before, on, e.Finding) {
				continue // it has only become more severe
			}
			if h.found[on] == nil {
				h.found[on] = make(map[string]time.Time)
			}
			h.found[on][e.Finding.Key()] = e.At
		case inspect.EventCleared:
			on := FindingPlace(e)
			if delete(h.found[on], e.Finding.Key()); len(h.found[on]) == 0 {
				delete(h.found, on)
			}
			cleared[finding{on, e.Finding.Key()}] = true
		}
	}
	for _, b := range s.Backends {
		if _, ok := h.watched[b.Name]; b.FirstPass && !ok {
			h.watched[b.Name] = s.TakenAt
		}
	}
}

// FindingPlace is the place of an event's finding: a lock or, with an empty path, a backend.
func FindingPlace(e *inspect.Event) inspect.ID {
	if e.Backend != nil && e.Lock.Path == "" {
		return inspect.ID{Backend: e.Backend.Name}
	}
	return e.Lock
}

// wasReported reports whether a finding was already in a snapshot, or may have been because its backend's
// first pass was incomplete.
func wasReported(before *inspect.Snapshot, on inspect.ID, f *inspect.Finding) bool {
	b := before.Backend(on.Backend)
	switch {
	case b == nil:
		return false // the first snapshot of a recording's moment brings earlier events
	case !b.FirstPass:
		return true
	}
	list := b.Findings
	if on.Path != "" {
		list = nil
		if l := before.Lock(on); l != nil {
			list = l.Findings
		}
	}
	key := f.Key()
	return slices.ContainsFunc(list, func(f inspect.Finding) bool { return f.Key() == key })
}

// Keep forgets the locks that are no longer wanted.
func (h *History) Keep(wanted func(inspect.ID) bool) {
	maps.DeleteFunc(h.grants, func(id inspect.ID, _ []Grant) bool { return !wanted(id) })
	maps.DeleteFunc(h.found, func(id inspect.ID, _ map[string]time.Time) bool { return id.Path != "" && !wanted(id) })
}

// previous is the previous holder in a handoff; empty for other events.
func previous(e *inspect.Event) string {
	if e.Previous == nil {
		return ""
	}
	return describe.Owner(e.Previous)
}

func (h *History) granted(id inspect.ID, g Grant) {
	list := append(h.grants[id], g)
	h.grants[id] = list[max(0, len(list)-grantsKept):]
	h.newest = g.Seen
}

// Of returns the grants of a lock, the newest last.
func (h *History) Of(id inspect.ID) []Grant { return h.grants[id] }

// FoundAt implements Context.FoundAt.
func (h *History) FoundAt(on inspect.ID, f *inspect.Finding) (at time.Time, exact bool) {
	if at, ok := h.found[on][f.Key()]; ok {
		return at, true
	}
	return h.watched[on.Backend], false
}

// Fresh reports whether some lock has just changed hands.
func (h *History) Fresh(now time.Time) bool { return now.Sub(h.newest) < FreshFor }

// FreshGrant reports whether a contender has just got the lock of these grants after a quiet time.
func FreshGrant(grants []Grant, name inspect.Untrusted, now time.Time) bool {
	for i, g := range grants {
		if i > 0 && g.Seen.Sub(grants[i-1].Seen) < quietFor {
			continue
		}
		if g.Name == name && now.Sub(g.Seen) < FreshFor {
			return true
		}
	}
	return false
}
