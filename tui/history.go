package tui

import (
	"time"

	"lockscope/inspect"
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

// history remembers who got which lock, from one snapshot to the next.
type history struct {
	grants map[inspect.ID][]grant
	newest time.Time
}

func newHistory() *history { return &history{grants: make(map[inspect.ID][]grant)} }

// note compares two snapshots. What is in the first one was there before we looked and is no grant.
func (h *history) note(before, after *inspect.Snapshot, shown snapshotShownMsg, now time.Time) {
	if before.Len() == 0 && shown.all {
		return
	}
	if !shown.all {
		for _, id := range shown.changed {
			h.compare(before.Lock(id), after.Lock(id), id, now)
		}
		return
	}
	for l := range after.Locks() {
		h.compare(before.Lock(l.ID), l, l.ID, now)
	}
}

func (h *history) compare(was, is *inspect.Lock, id inspect.ID, now time.Time) {
	if is == nil {
		delete(h.grants, id)
		return
	}
	if was == nil || was == is || was.State == inspect.StateUnknown {
		return // what could not be seen before is no grant now
	}
	for i := range is.Holders {
		to := &is.Holders[i]
		if !holds(was, to) {
			h.add(id, grant{seen: now, to: who(to), from: left(was, is), name: to.Name})
		}
	}
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

func holds(l *inspect.Lock, c *inspect.Contender) bool {
	for i := range l.Holders {
		if h := &l.Holders[i]; h.Name == c.Name && h.Czxid == c.Czxid && h.Digest == c.Digest {
			return true
		}
	}
	return false
}

// left is the holder that is one no more; empty when there is none.
func left(was, is *inspect.Lock) string {
	for i := range was.Holders {
		if !holds(is, &was.Holders[i]) {
			return who(&was.Holders[i])
		}
	}
	return ""
}
