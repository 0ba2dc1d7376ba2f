package tree

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// phase is the result of reading a node as a directory.
type phase uint8

const (
	unasked  phase = iota // nothing
	absent                // it does not exist; only a root stays then
	leaf                  // it is ephemeral: it cannot have children
	crowded               // it has too many children to list
	shut                  // its children could not be listed; see blind.refused
	listable              // its children can be, or were, listed
)

// asking is whether a Stat or a list of a directory is queued or on its way.
type asking uint8

const (
	idle     asking = iota
	underWay        // it is
	askAgain        // and the directory changed meanwhile
)

// dataState is the state of a directory's own data, for recipes that keep something there; see
// wantData.
type dataState uint8

const (
	dataUnwanted dataState = iota
	dataWanted             // and not read yet
	dataRead
	dataStale // it was read, and has changed since
)

// lone says whether a single node is a lock; see single.go.
type lone uint8

const (
	notLone lone = iota
	byPath       // one at a path that a recipe names
	alone        // the only ephemeral one in its directory
	freed        // it was alone, and is gone
)

// fold is whether the parts of a semaphore are locks themselves; see semaphore.go.
type fold uint8

const (
	undecided fold = iota
	separate       // they are
	folded         // they are parts of this lock
)

// Dir is one directory of the walk, or one node without children of interest. Every lock has one,
// so its small fields are packed and rare fields are behind a pointer.
type Dir struct {
	Path  string
	depth int32
	root  bool
	// aboveRoot: the parent of a root, only looked at for the sake of that.
	aboveRoot bool
	// secretive: it has nodes that may not be read, and that servers may not report.
	secretive bool

	phase    phase
	asked    asking
	answers  bool  // the list that is asked for answers an event
	gone     bool  // it is being forgotten
	dirty    bool  // its lock must be built
	settling bool  // it is in Tree.settled
	count    int32 // of its children, by its newest Stat; -1: not known
	aversion int32 // of its ACL, as of readAt
	created  int64 // children ever created in it; 0: not known
	czxid    int64
	pzxid    int64
	ctime    int64
	children
	shown  *shown // nil: it is no lock
	judged bool   // once, with all that was wanted read
	// renewed: a child was read that is news, since the lock was last built.
	renewed bool

	data dataState
	self *inspect.Znode // nil: it was not read

	semaphore
	singles

	reread map[string]bool // children whose data changed, or may have

	readAt  time.Time
	sentAt  time.Time // when the list that was read at readAt was asked for
	recheck time.Time // a list asked for after this is shown even when nothing changed; zero: only changes are
	triedAt time.Time // when it was polled, or could not be read
	relists *relists  // nil: it was never listed again
	due     time.Time // when it may be listed again; zero: it need not
}

// WasListed reports whether its children were read before.
func (d *Dir) WasListed() bool { return !d.readAt.IsZero() }

// Count is the number of children by the newest Stat; below zero when it is not known.
func (d *Dir) Count() int { return int(d.count) }

// adopt takes a new list of children and returns what changed. another: it was deleted and made again.
func (d *Dir) adopt(names []string, stat *Stat, at time.Time) (added, removed []string, another bool) {
	if another = d.czxid != stat.Czxid; another { // same names mean nothing
		d.forget()
		d.judged, d.queue = false, 0
		if d.fold == folded {
			d.fold = separate
		}
		if d.data == dataRead {
			d.data = dataStale
		}
		for _, part := range d.parts {
			part.joined = false // what it is is decided again
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

// isAnother reports whether a new node has replaced the one that was read by that name: an
// ephemeral node instead of a directory, or the reverse. Its parent was listed too late to show the
// change.
func (d *Dir) isAnother(stat *Stat) bool {
	if stat.EphemeralOwner != 0 {
		return !d.readAt.IsZero()
	}
	return d.phase == leaf && !d.root
}

// creations counts the children ever created in a directory; 0 where the count no longer fits its Stat.
func creations(stat *Stat) int64 {
	if stat.Cversion < 0 {
		return 0
	}
	return (int64(stat.Cversion) + int64(stat.NumChildren)) / 2
}

// wanted are the contenders that are not read yet, or not since their data changed, and should be: all of
// them where they are read together, else in the order of the queue, of a long one the first unless it is to
// be full.
func (d *Dir) wanted(together, full bool) []string {
	var names []string
	if together { // their order does not matter, and those that are read need not be parsed
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

// fullQueue limits the contenders that are read of a lock off the screen.
const fullQueue = 64

// unreadContenders are those that are to be read, in the order of their names.
func (d *Dir) unreadContenders() (names []string) {
	for i, name := range d.names {
		if !d.mayWant(d.at(i), name) || !recipe.Contends(name) {
			continue
		}
		if names == nil {
			names = make([]string, 0, len(d.names)-i) // mostly the others are, too
		}
		names = append(names, name)
	}
	return names
}

// mayWant reports whether a child would be read if it is a contender.
func (d *Dir) mayWant(n *node, name string) bool {
	return (!n.wasRead() || d.reread[name]) && !n.isAwaited()
}

// queued reports whether there are contenders in a directory.
func (d *Dir) queued() bool {
	_, entries := recipe.Read(d.names)
	return len(entries) > 0
}

// complete reports whether enough was read of a directory to know its contenders.
func (d *Dir) complete() bool {
	return !d.readAt.IsZero() && (d.judged || d.awaited == 0) && d.data != dataWanted
}

// waits reports whether its lock is built again when one of its directories is listed.
func (d *Dir) waits() bool { return d.pending || !d.recheck.IsZero() }

// Own is the directory's own node as it was read; the zero Znode where it was not.
func (d *Dir) Own() inspect.Znode {
	if d.self == nil {
		return inspect.Znode{}
	}
	return *d.self
}

// places are the directory and its parts.
func (d *Dir) places() []*Dir {
	all := []*Dir{d}
	for _, part := range d.parts {
		all = append(all, part)
	}
	return all
}

// newest returns the last time that the directory or one of its parts was read.
func (d *Dir) newest() time.Time {
	at := d.readAt
	for _, part := range d.parts {
		if part.readAt.After(at) {
			at = part.readAt
		}
	}
	return at
}

// listedSince reports whether the directory and its parts were asked for after an instant.
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
