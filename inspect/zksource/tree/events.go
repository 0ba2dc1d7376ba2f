package tree

import (
	"path"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// One watch on a root reports all changes below it, so no other is needed. But newer servers
// report nothing about a node that we may not read (CVE-2024-23944). A directory with such nodes
// is polled, and every directory is compared with its Stat from time to time (poll.go).

// Event is a watch's report about a node.
type Event uint8

// The events of a watch on a root. Created and Deleted are about the node, Changed about its data.
const (
	Created Event = iota
	Deleted
	Changed
)

// HandleEvent handles the event of a node below a watched root.
func (t *Tree) HandleEvent(p string, what Event, at time.Time) {
	if !t.covered(p) {
		return
	}
	d, in := t.dirs[p], t.dirs[parent(p)]
	if what == Changed {
		t.dataChanged(d, in, path.Base(p), at)
		return
	}
	if in != nil && in != d && in.phase != shut {
		name := path.Base(p)
		if what == Created && in.has(name) {
			in.rereads(name) // another of the same name
		}
		if t.touch(in, at); what == Created {
			t.readWithList(in, name, at)
		}
	}
	// The directory's new list may look the same, since the node may be created again at once.
	if d != nil && (d.root || what == Deleted && (d.phase != leaf || d.data != dataUnwanted)) {
		t.touch(d, at)
	}
}

// readWithList reads a newly created contender in the same request as its directory's list, if
// that is about to be requested.
func (w *wants) readWithList(in *Dir, name string, at time.Time) {
	last := len(w.Queue.Urgent) - 1
	listed := last >= 0 && w.Queue.Urgent[last].Kind == JobList && w.Queue.Urgent[last].Dir == in
	if !w.server.Many || !listed || in.readAt.IsZero() || !recipe.Proves(name) || in.has(name) || in.awaits(name) {
		return
	}
	in.await(name)
	w.Queue.Urgent = append(w.Queue.Urgent, Job{Kind: JobGet, Dir: in, Name: name, Seen: &at})
}

// dataChanged handles changed data of a directory, or of a contender in one.
func (w *wants) dataChanged(d, in *Dir, name string, at time.Time) {
	switch {
	case d != nil && d.data != dataUnwanted:
		if d.data == dataRead {
			d.data = dataStale
		}
		w.touch(d, at)
	case d == nil && in != nil && in.isLive(name):
		in.rereads(name)
		w.touch(in, at)
	}
}

// rereadLive rereads the children whose data holds their state.
func (d *Dir) rereadLive() {
	for _, name := range d.names {
		if e, ok := recipe.Parse(name); ok && e.Live && d.has(name) {
			d.rereads(name)
		}
	}
}

// isLive reports whether a child's data may change while it exists, and is or will be read.
func (d *Dir) isLive(name string) bool {
	if !d.has(name) && !d.awaits(name) {
		return false
	}
	_, entries := recipe.Read(d.names)
	return slices.ContainsFunc(entries, func(e recipe.Entry) bool { return e.Name == name && e.Live })
}

// recordUnreadable notes that a directory has an unreadable node, whose deletion the servers may
// not report.
func (t *Tree) recordUnreadable(in *Dir) {
	if in != nil && !in.hasUnreadable {
		in.hasUnreadable = true
		if in.shown != nil {
			t.mark(in)
		}
	}
}
