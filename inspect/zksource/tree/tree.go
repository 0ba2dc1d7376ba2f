// Package tree holds the state of a walk through a ZooKeeper tree. Server replies go in; the next
// reads and the changed locks come out. It is pure: it sends nothing, starts nothing, and does
// not read the clock.
//
// There are three steps. Apply puts a reply into its directory and marks changed locks as dirty.
// Build rebuilds each dirty lock once. Changes returns the results.
//
// There are three layers, each on the one below: ground looks things up, wants adds the next
// reads, and Tree applies replies and builds locks.
package tree

import "time"

// Tree holds everything known about the nodes. It belongs to one goroutine.
type Tree struct {
	wants
	// Scanned counts the directories read so far.
	Scanned int

	dirty    []*Dir // directories whose locks must be rebuilt
	settled  []*Dir // to be searched for single nodes that are locks
	changes  Changes
	expiring map[*Dir]time.Time // locks that expire
}

// New returns a Tree that wants nothing yet.
func New(cfg Config) *Tree {
	return &Tree{
		wants: wants{
			ground: ground{cfg: cfg, dirs: map[string]*Dir{}, blind: newBlind()},
			Queue:  Queue{whole: cfg.Once}, due: map[*Dir]bool{},
		},
		changes: newChanges(), expiring: map[*Dir]time.Time{},
	}
}

// Next returns the earliest time at which something is due, or zero.
func (t *Tree) Next() (at time.Time) {
	sooner := func(due time.Time) {
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	for d := range t.due {
		sooner(d.due)
	}
	for _, due := range t.expiring {
		sooner(due)
	}
	return at
}

// Wake marks the due directories whose budget allows a list again, and expired locks.
func (t *Tree) Wake(now time.Time) {
	for d := range t.due {
		if !now.Before(d.due) {
			delete(t.due, d)
			t.touch(d, now)
		}
	}
	for d, at := range t.expiring {
		if !now.Before(at) {
			delete(t.expiring, d)
			t.mark(d)
		}
	}
}

// Focus sets the paths of the locks on the screen, whose queues are read in full. fresh reports
// whether one of them is new.
func (t *Tree) Focus(focus map[string]bool) (fresh bool) {
	before := t.focus
	t.focus = focus
	for p := range focus {
		d := t.dirs[p]
		if d == nil {
			continue
		}
		if !before[p] {
			fresh = true
			for _, in := range d.places() {
				t.readWanted(in, &t.Queue.Urgent)
			}
		}
	}
	return fresh
}
