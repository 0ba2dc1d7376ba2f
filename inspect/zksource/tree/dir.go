package tree

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

type phase uint8

const (
	unasked  phase = iota // nothing is known yet
	absent                // it does not exist; only roots are kept
	leaf                  // it is ephemeral: it cannot have children
	crowded               // it has too many children to list
	shut                  // its children could not be listed; see blind.refused
	listable              // its children can be listed, or were
)

// asking is whether a Stat or a list of a directory is queued or in flight.
type asking uint8

const (
	idle     asking = iota
	underWay        // queued or in flight
	askAgain        // underWay, and the directory has changed since
)

// dataState is the state of a directory's own data, for recipes that keep something there; see
// wantData.
type dataState uint8

const (
	dataUnwanted dataState = iota
	dataWanted             // not read yet
	dataRead
	dataStale // it has changed since it was read
)

// lone says whether a single node is a lock; see single.go.
type lone uint8

const (
	notLone lone = iota
	byPath       // a node at a path that a recipe names
	alone        // the only ephemeral node in its directory
	freed        // it was alone, and has been deleted
)

// fold is whether the possible parts of a semaphore are locks themselves; see semaphore.go.
type fold uint8

const (
	undecided fold = iota
	separate       // they are locks
	folded         // they are parts of this lock
)

// Dir is one directory of the walk, or one node without relevant children. Every lock has one, so
// small fields are packed and rare fields are behind a pointer.
type Dir struct {
	Path  string
	depth int32
	root  bool
	// aboveRoot marks the parent of a root, which is read only for the root's sake.
	aboveRoot bool
	// hasUnreadable marks a directory with unreadable nodes, about which servers may report nothing.
	hasUnreadable bool

	phase    phase
	asked    asking
	answers  bool  // the list in flight answers an event
	gone     bool  // it is no longer in the tree
	dirty    bool  // its lock must be rebuilt
	settling bool  // it is in Tree.settled
	count    int32 // children, by its newest Stat; -1 if unknown
	aversion int32 // version of its ACL at readAt
	created  int64 // children ever created in it; 0 if unknown
	czxid    int64
	pzxid    int64
	ctime    int64
	children
	shown  *shown // nil if it is not a lock
	judged bool   // it was built with everything read at least once
	// renewed is set if something new was read since the lock was last built.
	renewed bool

	data dataState
	self *inspect.Znode // nil if not read

	semaphore
	singles

	reread map[string]bool // children whose data may have changed

	readAt  time.Time
	sentAt  time.Time // when the list of readAt was requested
	recheck time.Time // a list requested after this is shown even if unchanged; zero if only changes are
	triedAt time.Time // when it was polled, or failed to be read
	relists *relists  // nil if it was never listed again
	due     time.Time // when it may be listed again; zero if it need not be
}

func (d *Dir) WasListed() bool { return !d.readAt.IsZero() }

// Count returns the number of children by the newest Stat; negative if unknown.
func (d *Dir) Count() int { return int(d.count) }

// adopt takes a new list of children and returns the changes. another is set if the directory was
// deleted and created again.
func (d *Dir) adopt(names []string, stat *Stat, at time.Time) (added, removed []string, another bool) {
	if another = d.czxid != stat.Czxid; another { // its children are others, even with the same names
		d.forget()
		d.judged, d.queue = false, 0
		if d.fold == folded {
			d.fold = separate
		}
		if d.data == dataRead {
			d.data = dataStale
		}
		for _, part := range d.parts {
			part.joined = false // decide again what it is
		}
	}
	d.czxid, d.pzxid, d.ctime, d.aversion = stat.Czxid, stat.Pzxid, stat.Ctime, stat.Aversion
	d.count, d.created, d.readAt = stat.NumChildren, creations(stat), at
	added, removed = d.list(names)
	for _, name := range removed {
		delete(d.reread, name)
	}
	return added, removed, another
}

// isAnother reports whether a new node has replaced the one of that name: an ephemeral node instead
// of a directory, or the reverse. The parent was listed too late to show it.
func (d *Dir) isAnother(stat *Stat) bool {
	if stat.EphemeralOwner != 0 {
		return !d.readAt.IsZero()
	}
	return d.phase == leaf && !d.root
}

// creations counts the children ever created in a directory; 0 if the count does not fit its Stat.
func creations(stat *Stat) int64 {
	if stat.Cversion < 0 {
		return 0
	}
	return (int64(stat.Cversion) + int64(stat.NumChildren)) / 2
}

// wanted returns the contenders that are unread or whose data changed. Those not read together are
// in queue order and, without full, only the first ones of a long queue.
func (d *Dir) wanted(together, full bool) []string {
	var names []string
	if together { // order does not matter, and known ones need not be parsed
		names = d.unreadContenders()
	} else {
		_, entries := recipe.Read(d.names)
		if !full {
			entries = entries[:min(len(entries), fullQueue)]
		}
		for _, e := range entries {
			if d.mayWant(d.find(e.Name), e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

// fullQueue limits the contenders that are read for an off-screen lock.
const fullQueue = 64

// unreadContenders returns the contenders to read, sorted by name.
func (d *Dir) unreadContenders() (names []string) {
	for i, name := range d.names {
		if !d.mayWant(d.at(i), name) || !recipe.Contends(name) {
			continue
		}
		if names == nil {
			names = make([]string, 0, len(d.names)-i) // usually the rest is unread, too
		}
		names = append(names, name)
	}
	return names
}

// mayWant reports whether a child would be read as a contender.
func (d *Dir) mayWant(n *node, name string) bool {
	return (!n.wasRead() || d.reread[name]) && !n.isAwaited()
}

// queued reports whether a directory has contenders.
func (d *Dir) queued() bool {
	_, entries := recipe.Read(d.names)
	return len(entries) > 0
}

// complete reports whether enough of a directory was read to know its contenders.
func (d *Dir) complete() bool {
	return !d.readAt.IsZero() && (d.judged || d.awaited == 0) && d.data != dataWanted
}

// waits reports whether listing one of its directories rebuilds its lock.
func (d *Dir) waits() bool { return d.pending || !d.recheck.IsZero() }

// Own is the directory's own node, or the zero Znode if it was not read.
func (d *Dir) Own() inspect.Znode {
	if d.self == nil {
		return inspect.Znode{}
	}
	return *d.self
}

func (d *Dir) places() []*Dir {
	all := []*Dir{d}
	for _, part := range d.parts {
		all = append(all, part)
	}
	return all
}

// newest returns when the directory or one of its parts was last read.
func (d *Dir) newest() time.Time {
	at := d.readAt
	for _, part := range d.parts {
		if part.readAt.After(at) {
			at = part.readAt
		}
	}
	return at
}

// listedSince reports whether the directory and its parts were requested after that time.
func (d *Dir) listedSince(at time.Time) bool {
	return !slices.ContainsFunc(d.places(), func(in *Dir) bool { return !in.sentAt.After(at) })
}

// tried returns the last attempt to read a directory, successful or not.
func (d *Dir) tried() time.Time {
	if d.triedAt.After(d.readAt) {
		return d.triedAt
	}
	return d.readAt
}
