package tree

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// mark notes that a directory's lock must be rebuilt.
func (t *Tree) mark(d *Dir) {
	if !d.dirty {
		d.dirty = true
		t.dirty = append(t.dirty, d)
	}
}

// settle marks a directory to be searched for single nodes that are locks.
func (t *Tree) settle(d *Dir) {
	if !d.settling {
		d.settling = true
		t.settled = append(t.settled, d)
	}
}

// Build rebuilds each changed lock once. Leases are judged at now.
func (t *Tree) Build(now time.Time) {
	for len(t.dirty)+len(t.settled) > 0 {
		dirty, settled := t.dirty, t.settled
		t.dirty, t.settled = nil, nil
		for _, d := range t.wholesFirst(dirty) {
			if d.dirty = false; !d.gone {
				t.build(d, now)
			}
		}
		for _, d := range settled {
			d.settling = false
			t.findSingles(d)
		}
	}
}

// wholesFirst lists the directories to build, semaphores before their parts.
func (t *Tree) wholesFirst(dirty []*Dir) []*Dir {
	wholes := make([]*Dir, 0, len(dirty))
	var parts []*Dir
	for _, d := range dirty {
		b := t.base(d)
		if b == nil || t.hidden(b) != nil || b.phase == absent {
			wholes = append(wholes, d)
			continue
		}
		parts = append(parts, d)
		if !b.dirty {
			b.dirty = true
			wholes = append(wholes, b)
		}
	}
	return append(wholes, parts...)
}

// build builds a directory's lock, unless it is part of another.
func (t *Tree) build(d *Dir, now time.Time) {
	d.judged = d.judged || d.awaited == 0 && !d.readAt.IsZero()
	b := t.base(d)
	switch {
	case b == nil || b.phase == absent:
	case t.hidden(b) == nil:
		if b.fold == folded || b.fold == undecided || b.pending && !d.joined {
			t.silence(d)
			return
		}
	case recipe.KazooQueuePath(b.Path) == d.Path && d.queued():
		b.fold = folded
		t.hide(b, true, t.hidden(b))
		t.silence(d)
		return
	}
	t.buildWhole(d, now)
}

// buildWhole builds the lock of a directory with its parts.
func (t *Tree) buildWhole(d *Dir, now time.Time) {
	if !t.mayBeLock(d) {
		return
	}
	if why := t.hidden(d); why != nil {
		d.awaitNone()
		t.hide(d, t.named(d), why)
		return
	}
	if !t.ready(d, now) {
		return
	}
	complete, hidden, waiters := t.findParts(d)
	if hidden != nil {
		t.conceal(d, hidden)
		return
	}
	t.wantData(d)
	if d.pending = !complete || d.data == dataWanted || t.awaitsPart(d, now); d.pending {
		return
	}
	if why := t.undecidable(d); why != nil {
		t.conceal(d, why)
		return
	}
	was := d.fold
	lock := t.lock(d, now)
	if lock != nil {
		lock.Unseen = slices.Concat(waiters, t.contendersUnseen(d))
		lock.Polled = slices.ContainsFunc(d.places(), t.polled)
		if t.cfg.Only != "" { // the requested lock
			lock.Named()
		}
		t.show(d, lock)
	}
	t.expiresWith(d, lock)
	t.built(d, was)
}

// mayBeLock reports whether a directory may be a lock.
func (g *ground) mayBeLock(d *Dir) bool {
	if g.outside(d) || g.cfg.Only != "" && !g.named(d) {
		return false
	}
	return !d.root || d.phase != leaf || d.single()
}

// built notes that a directory's lock was built, which decides about its parts. was is the previous
// fold.
func (t *Tree) built(d *Dir, was fold) {
	if d.fold == undecided {
		d.fold = separate
	}
	d.renewed, d.heldBack = false, time.Time{}
	if d.listedSince(d.recheck) {
		d.recheck = time.Time{}
	}
	for _, in := range d.places() {
		in.lost, in.gained = false, false
	}
	for _, part := range d.parts {
		if d.fold == folded {
			t.silence(part)
		} else if was != separate || !part.joined {
			t.mark(part)
		}
		part.joined = true
	}
}

// ready reports whether enough of a directory was read. Before that, on the first walk, its queue is
// shown by names alone.
func (t *Tree) ready(d *Dir, now time.Time) bool {
	switch {
	case d.phase == leaf, d.lone == freed:
		return true
	case d.readAt.IsZero():
		return d.single()
	case d.judged || d.awaited == 0:
		return d.fresh == 0 || d.readSome() // otherwise only new, unread contenders are left
	}
	if !t.cfg.Once && !t.FirstPass && d.shown == nil && t.base(d) == nil {
		if lock, _ := t.assemble(d, now); lock != nil {
			t.show(d, lock)
		}
	}
	return false
}

// lock builds a directory's lock, or returns nil. A former or named lock is free while it has no
// contenders.
func (t *Tree) lock(d *Dir, now time.Time) *inspect.Lock {
	lock, isFolded := t.assemble(d, now)
	d.foldedIs(isFolded)
	if lock == nil && (d.shown != nil || t.named(d)) {
		lock = t.vacant(d)
	}
	return lock
}

// assemble builds a directory's lock from the nodes read so far. It returns nil if the directory is
// not a lock, or has no contenders.
func (g *ground) assemble(d *Dir, now time.Time) (lock *inspect.Lock, folded bool) {
	lock, folded = d.directory().Lock(g.id(d), d.newest())
	if lock == nil && d.single() {
		lock = inspect.NodeLock(g.id(d), d.Own(), d.lone == alone, now)
	}
	return lock, folded
}

func (d *Dir) directory() inspect.Directory {
	whole := inspect.Directory{Created: d.created, Data: d.Own().Data}
	whole.Children = d.children.shown()
	if len(d.parts) == 0 {
		return whole
	}
	whole.Parts = make(map[string][]inspect.Znode, len(d.parts))
	for place, part := range d.parts {
		whole.Parts[place] = part.children.shown()
	}
	// Curator's permits are in a container, which a server removes while it is empty, between two
	// permits.
	if _, there := whole.Parts[recipe.CuratorLeases]; !there && d.keepsQueue() {
		whole.Parts[recipe.CuratorLeases] = nil
	}
	return whole
}

// hide shows a directory's lock as unknown, with the reason. Its earlier facts stay known.
func (t *Tree) hide(d *Dir, named bool, why []inspect.Unseen) {
	if d.shown == nil && !named {
		return
	}
	lock := t.freeLock(d, d.tried())
	lock.State, lock.Unseen, lock.Polled = inspect.StateUnknown, why, true
	t.show(d, lock)
}

// conceal shows a directory's lock whose holders cannot be read.
func (t *Tree) conceal(d *Dir, why []inspect.Unseen) {
	d.pending = false
	if d.fold = max(d.fold, separate); len(d.parts) > 0 {
		d.fold = folded
	}
	t.hide(d, true, why)
	for _, where := range recipe.Parts(d.Path) {
		if part := t.dirs[where.Path]; part != nil && d.fold == folded {
			t.silence(part)
		}
	}
}

// expiresWith records when a lock expires, so that the expiry is shown in time.
func (t *Tree) expiresWith(d *Dir, lock *inspect.Lock) {
	delete(t.expiring, d)
	if lock == nil {
		return
	}
	for i := range lock.Holders {
		if at := lock.Holders[i].ExpiresAt; !at.IsZero() {
			t.expiring[d] = at
		}
	}
}
