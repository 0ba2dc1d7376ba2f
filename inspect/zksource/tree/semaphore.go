package tree

import (
	"path"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// A semaphore uses several directories: a base, and parts below or next to it (recipe.Parts). Each
// is walked, watched and read like any other. The lock is built from all of them, at the base,
// whenever one changes. The parts are not locks themselves.

// semaphore holds what a directory knows about its lock's parts.
type semaphore struct {
	parts map[string]*Dir // by place
	fold  fold
	// pending is set while something that appeared or changed since fold was decided is unread.
	pending bool
	joined  bool // on a part: the base was last built with it
	// queue is the czxid of the queue last seen next to Curator's permits, or 0. Another queue
	// there may belong to a mutex.
	queue int64
	// heldBack is when the lock began to wait for a new read of all its parts.
	heldBack     time.Time
	lost, gained bool // children have left, or appeared, since the lock was last built
}

// base returns the directory that d, by its name, may be a part of, or nil if it is not walked.
func (g *ground) base(d *Dir) *Dir {
	p, ok := recipe.Base(d.Path)
	if !ok {
		return nil
	}
	b := g.dirs[p]
	isFolded := b != nil && b.fold == folded
	if path.Base(d.Path) == recipe.CuratorLocks && !isFolded && g.dirs[join(p, recipe.CuratorLeases)] == nil {
		return nil // a common name for a directory of locks
	}
	return b
}

// markWhole marks the lock that a deleted directory or ephemeral node may have been a part of.
func (t *Tree) markWhole(d *Dir) {
	if b := t.base(d); b != nil && (b.fold != separate || b.pending) {
		t.mark(b)
	}
}

// markParts marks the possible former parts of a directory's lock, which may now be locks.
func (t *Tree) markParts(d *Dir) {
	for _, where := range recipe.Parts(d.Path) {
		if part := t.dirs[where.Path]; part != nil && part != d {
			t.mark(part)
		}
	}
}

// findParts records the directory's parts, and reports whether all wanted ones were read. An
// unreadable part hides the waiters or, if it has the permits, the whole lock.
func (g *ground) findParts(d *Dir) (complete bool, hidden, waiters []inspect.Unseen) {
	clear(d.parts)
	complete = true
	for _, where := range recipe.Parts(d.Path) {
		part := g.dirs[where.Path]
		if part == nil || part == d || part.phase == absent || part.phase == leaf {
			continue
		}
		if why := g.hidden(part); why != nil {
			if where.Place != recipe.CuratorLeases {
				waiters = only(inspect.AspectWaiters, why)
			} else if g.hasPermits(d) {
				hidden = why
			}
			continue
		}
		if !part.complete() {
			complete = false
			continue
		}
		if d.parts == nil {
			d.parts = map[string]*Dir{}
		}
		d.parts[where.Place] = part
	}
	return complete, hidden, waiters
}

// hasPermits reports whether the unreadable nodes in a directory are most likely Curator permits.
func (g *ground) hasPermits(d *Dir) bool {
	queue := g.dirs[join(d.Path, recipe.CuratorLocks)]
	return d.fold == folded || queue != nil && (queue.queued() || g.hidden(queue) != nil)
}

// foldedIs records whether the directory is a semaphore now. A former semaphore stays one while it
// is empty, as long as one of its parts still exists.
func (d *Dir) foldedIs(now bool) {
	leases, locks := d.parts[recipe.CuratorLeases], d.parts[recipe.CuratorLocks]
	if now && leases != nil && locks != nil {
		d.queue = locks.czxid
	}
	made := leases == nil && locks != nil && locks.czxid != d.queue && d.parts[recipe.KazooQueue(d.Path)] == nil
	if now || d.fold == folded && len(d.parts) > 0 && !made {
		d.fold = folded
	} else if d.fold == folded {
		d.fold = separate
	}
}

// keepsQueue reports whether a former Curator semaphore still has the same queue.
func (d *Dir) keepsQueue() bool {
	queue := d.parts[recipe.CuratorLocks]
	return d.fold == folded && queue != nil && queue.czxid == d.queue
}

// holdBack limits how long a semaphore's news waits for news of its other directory.
const holdBack = 500 * time.Millisecond

// awaitsPart reports whether a semaphore's permits changed, or its queue lost a contender, and news
// of the other directory is still to come. A client creates its permit before it leaves the queue,
// and leaves the queue before the next client creates another. A server answers in order, and the
// event of a change precedes its effects.
func (w *wants) awaitsPart(d *Dir, now time.Time) bool {
	permits, queue := d, d.parts[recipe.KazooQueue(d.Path)]
	if queue == nil {
		permits, queue = d.parts[recipe.CuratorLeases], d.parts[recipe.CuratorLocks]
	}
	if d.fold != folded || permits == nil || queue == nil || w.cfg.Once {
		return false
	}
	if !((permits.lost || permits.gained) && w.behind(queue, permits)) && !(queue.lost && w.behind(permits, queue)) {
		d.heldBack = time.Time{}
		return false
	}
	if d.heldBack.IsZero() {
		d.heldBack = now
	}
	return now.Sub(d.heldBack) < holdBack
}

// behind reports whether one directory has, or may have, changed since the other was read.
func (w *wants) behind(d, other *Dir) bool {
	return d.fresh > 0 || !d.sentAt.After(other.readAt) && (d.asked != idle || w.due[d])
}

// wantData requests the data of a directory that looks like a kazoo Semaphore's. It has ephemeral
// children that look like permits, or a queue next to it.
func (w *wants) wantData(d *Dir) {
	if _, queue := d.parts[recipe.KazooQueue(d.Path)]; d.data != dataUnwanted || !queue && !d.looksLikePermits() {
		return
	}
	d.data = dataWanted
	w.requestData(d)
	p := recipe.KazooQueuePath(d.Path)
	if d.root && w.dirs[p] == nil && w.dirs[parent(d.Path)] == nil { // no walk finds its siblings
		w.push(&w.Queue.Walk, Job{Kind: JobStat, Dir: w.root(p)})
	}
}

// looksLikePermits reports whether children look like permits of a kazoo Semaphore.
func (d *Dir) looksLikePermits() bool {
	for name := range d.owned {
		if recipe.IsPermit(name) {
			return true
		}
	}
	return false
}

// requestData requests the data of a directory again, or of a node that is a lock.
func (w *wants) requestData(d *Dir) {
	list := &w.Queue.Reads
	if w.inFocus(d) {
		list = &w.Queue.Urgent
	}
	w.push(list, Job{Kind: JobData, Dir: d})
}
