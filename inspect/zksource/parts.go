package zksource

import (
	"path"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// A semaphore is kept in several directories: a base, and parts below or beside it (recipe.Parts). Each is
// walked, watched and read like any other; but the lock is made at the base, of all of them, whenever one
// changes, and the parts are no locks themselves.

// base is the directory that d may be a part of, by its name; nil when that is not one that we walk.
func (r *run) base(d *dir) *dir {
	p, ok := recipe.Base(d.path)
	if !ok {
		return nil
	}
	b := r.dirs[p]
	if path.Base(d.path) == recipe.CuratorLocks && r.dirs[join(p, recipe.CuratorLeases)] == nil && (b == nil || !b.folded) {
		return nil // the usual name for a place of locks
	}
	return b
}

// findParts notes which parts the directory has, and reports whether all that is wanted of them was read. A
// part that may not be read hides who waits, or, where it has the permits, the whole lock.
func (r *run) findParts(d *dir) (complete bool, hidden, waiters []inspect.Unseen) {
	clear(d.parts)
	complete = true
	for _, where := range recipe.Parts(d.path) {
		part := r.dirs[where.Path]
		if part == nil || part == d || part.phase == absent || part.phase == leaf {
			continue
		}
		if why := r.hidden(part); why != nil {
			queue := r.dirs[join(d.path, recipe.CuratorLocks)]
			switch {
			case where.Place == recipe.CuratorLeases && (d.folded || queue != nil && (queue.queued() || r.hidden(queue) != nil)):
				hidden = why
			case where.Place != recipe.CuratorLeases:
				waiters = only(inspect.AspectWaiters, why)
			}
			continue
		}
		if !part.complete() {
			complete = false
			continue
		}
		if d.parts == nil {
			d.parts = map[string]*dir{}
		}
		d.parts[where.Place] = part
	}
	return complete, hidden, waiters
}

// complete reports whether enough was read of a directory to know its contenders.
func (d *dir) complete() bool {
	return !d.readAt.IsZero() && (d.judged || d.awaited == 0) && (d.dataRead || !d.dataWanted)
}

// judge makes anew the lock that a directory is, or is a part of, and emits it when it changed.
func (r *run) judge(d *dir) {
	d.judged = d.judged || d.awaited == 0 && !d.readAt.IsZero()
	b := r.base(d)
	if b != nil && r.hidden(b) != nil && recipe.KazooQueuePath(b.path) == d.path && d.queued() {
		b.folded = true
		r.stage(b.hide(r.id(b), true, r.hidden(b)))
		r.silence(d)
		return
	}
	if b != nil && r.hidden(b) == nil && b.phase != absent {
		r.judgeWhole(b)
		if b.folded || !b.decided || b.pending && !d.joined {
			r.silence(d)
			return
		}
	}
	r.judgeWhole(d)
}

// judgeWithout makes anew the lock that a directory was a part of, or that waited for what it is, when it is none.
func (r *run) judgeWithout(d *dir) {
	if b := r.base(d); b != nil && (b.folded || !b.decided || b.pending) {
		r.judgeWhole(b)
	}
}

// judgeEarly emits a queue and its length before its contenders were read.
func (r *run) judgeEarly(d *dir) {
	if r.base(d) == nil && !r.outside(d) && (r.cfg.Only == "" || r.named(d)) {
		r.stage(d.judge(r.id(d), false, r.cfg.Now(), nil))
	}
}

// judgeWhole makes the lock of a directory with its parts, and that of each part when it turns out that they are locks
// themselves.
func (r *run) judgeWhole(d *dir) {
	if d.gone || r.outside(d) || d.root && d.phase == leaf && !d.single || r.cfg.Only != "" && d.path != r.cfg.Only {
		return
	}
	if why := r.hidden(d); why != nil {
		d.awaitNone()
		r.stage(d.hide(r.id(d), r.named(d), why))
		return
	}
	if d.phase != leaf && (d.readAt.IsZero() && !d.single || !d.judged && d.awaited > 0) {
		return
	}
	complete, hidden, waiters := r.findParts(d)
	if hidden != nil {
		r.concealed(d, hidden)
		return
	}
	r.wantData(d)
	if !complete || d.dataWanted && !d.dataRead || r.awaitsPart(d) {
		d.pending = true
		return
	}
	if why := r.undecidable(d); why != nil {
		r.concealed(d, why)
		return
	}
	was := d.decided && !d.folded
	lock, changed := d.judge(r.id(d), r.named(d), r.cfg.Now(), slices.Concat(waiters, r.contendersUnseen(d)))
	if !d.recheck.IsZero() && d.listedSince(d.recheck) && lock != nil {
		changed, d.recheck = true, time.Time{}
	}
	r.stage(lock, changed)
	r.wantAccess(d, lock)
	r.expiresWith(d, lock)
	d.decided, d.pending = true, false
	d.lost, d.gained, d.heldBack = false, false, time.Time{}
	for _, part := range d.parts {
		part.lost, part.gained = false, false
		if d.folded {
			r.silence(part)
		} else if !was || !part.joined {
			r.judgeWhole(part)
		}
		part.joined = true
	}
}

// concealed puts a directory's lock of which it is known that it is one, and not who holds it.
func (r *run) concealed(d *dir, why []inspect.Unseen) {
	d.decided, d.pending, d.folded = true, false, d.folded || len(d.parts) > 0
	r.stage(d.hide(r.id(d), true, why))
	for _, where := range recipe.Parts(d.path) {
		if part := r.dirs[where.Path]; part != nil && d.folded {
			r.silence(part)
		}
	}
}

// queued reports whether there are contenders in a directory.
func (d *dir) queued() bool {
	_, entries := recipe.Read(d.names)
	return len(entries) > 0
}

// holdBack limits the wait of a semaphore's news for those of its other directory.
const holdBack = 500 * time.Millisecond

// awaitsPart reports whether a semaphore's permits changed, or its queue lost somebody, and that news of the other
// directory are on their way: a client makes its permit before it leaves the queue, and leaves it before the next makes
// another. A server answers in order, and reports a change before it shows it.
func (r *run) awaitsPart(d *dir) bool {
	permits, queue := d, d.parts[recipe.KazooQueue(d.path)]
	if queue == nil {
		permits, queue = d.parts[recipe.CuratorLeases], d.parts[recipe.CuratorLocks]
	}
	if !d.folded || permits == nil || queue == nil || r.cfg.Once {
		return false
	}
	if !((permits.lost || permits.gained) && r.behind(queue, permits)) && !(queue.lost && r.behind(permits, queue)) {
		d.heldBack = time.Time{}
		return false
	}
	now := r.cfg.Now()
	if d.heldBack.IsZero() {
		d.heldBack = now
	}
	return now.Sub(d.heldBack) < holdBack
}

// behind reports whether one directory has changed since, or may have, when the other was read.
func (r *run) behind(d, other *dir) bool {
	return d.fresh > 0 || !d.sentAt.After(other.readAt) && (d.busy || r.due[d])
}

func (r *run) named(d *dir) bool { return d.path == r.cfg.Only }

// stage has a lock emitted with the next update, unless it equals the last one emitted.
func (r *run) stage(lock *inspect.Lock, changed bool) {
	if changed {
		delete(r.gone, lock.ID.Path)
		r.puts[lock.ID.Path] = lock
	}
}

// silence takes back that a directory is a lock.
func (r *run) silence(d *dir) {
	if d.reported != nil {
		d.reported = nil
		delete(r.puts, d.path)
		r.gone[d.path] = true
	}
}

// wantData has the data of a directory read that looks like a kazoo Semaphore's: it has children that look like permits
// and are ephemeral, or a queue beside it.
func (r *run) wantData(d *dir) {
	if _, queue := d.parts[recipe.KazooQueue(d.path)]; d.dataWanted || !queue && !d.hasPermits() {
		return
	}
	d.dataWanted, d.dataStale = true, true
	r.requestData(d)
	if p := recipe.KazooQueuePath(d.path); d.root && r.dirs[p] == nil && r.dirs[parent(d.path)] == nil { // nobody else finds what is beside it
		r.root(p)
		r.push(&r.queue.walk, job{kind: jobStat, dir: r.dirs[p]})
	}
}

// hasPermits reports whether children look like permits of a kazoo Semaphore.
func (d *dir) hasPermits() bool {
	for name := range d.owned {
		if recipe.IsPermit(name) {
			return true
		}
	}
	return false
}

// requestData has the data of a directory, or of a node that is a lock by itself, read again.
func (r *run) requestData(d *dir) {
	if r.inFocus(d) {
		r.push(&r.queue.urgent, job{kind: jobData, dir: d})
	} else {
		r.push(&r.queue.reads, job{kind: jobData, dir: d})
	}
}

// inFocus reports whether somebody looks at the directory's lock.
func (r *run) inFocus(d *dir) bool {
	if len(r.focus) == 0 || r.focus[d.path] {
		return len(r.focus) > 0
	}
	b := r.base(d)
	return b != nil && r.focus[b.path]
}
