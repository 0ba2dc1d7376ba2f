package tree

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// Apply puts a reply into the tree, and marks the locks that it changes.
func (t *Tree) Apply(r *Reply) {
	d := r.Dir
	if t.dirs[d.Path] != d {
		return
	}
	if r.Sealed || r.Denied {
		in := d
		if r.Kind != JobGet {
			in = t.dirs[parent(d.Path)]
		}
		t.recordUnreadable(in)
	}
	again := false
	if r.Kind.ofWhole() {
		again, d.asked = d.asked == askAgain, idle
	}
	switch r.Kind {
	case JobStat:
		t.stated(d, r)
	case JobList:
		t.listed(d, r)
	case JobData:
		t.gotData(d, r)
	case JobGet:
		t.got(d, r)
	case JobCompare:
		t.compared(d, r)
	}
	if d = t.dirs[d.Path]; again && d != nil { // perhaps a new Dir, for a root that did not exist
		t.touch(d, r.At)
	}
}

// stated handles a Stat.
func (t *Tree) stated(d *Dir, r *Reply) {
	if r.Err != nil {
		t.failed(d, r)
		return
	}
	d.triedAt = r.At
	t.setStat(d, &r.Stat)
	switch {
	case t.isSibling(d):
	case d.phase == leaf:
		t.markWhole(d)
	case d.phase == crowded:
		t.mark(d)
	case t.cfg.Once && d.count == 0 && !d.root: // nothing to list
		d.sentAt = r.Sent
		d.adopt(nil, &r.Stat, r.At)
		t.mark(d)
	default:
		t.push(&t.Queue.Lists, Job{Kind: JobList, Dir: d})
	}
	t.recordSeen(d)
}

// setStat sets the phase of a node that exists.
func (t *Tree) setStat(d *Dir, stat *Stat) {
	if d.phase == unasked {
		t.Scanned++
	}
	d.count, t.blind.noChroot = stat.NumChildren, false
	delete(t.blind.crowds, d.Path)
	switch {
	case stat.EphemeralOwner != 0:
		d.phase = leaf
	case int(d.count) > t.cfg.Children:
		d.phase = crowded
		t.blind.crowds[d.Path] = d
	default:
		d.phase = listable
	}
	if d.phase != leaf && d.wasAlone() { // a directory replaced it
		d.lone = notLone
	}
}

// failed handles a directory that could not be read.
func (t *Tree) failed(d *Dir, r *Reply) {
	if errors.Is(r.Err, ErrGone) {
		t.blind.noChroot = r.NoChroot
		in := t.dirs[parent(d.Path)]
		if in == nil || in == d || in.aboveRoot || !d.wasAlone() || d.shown == nil {
			t.remove(d)
		}
		if in != nil && in != d {
			t.left(in, path.Base(d.Path), r.At)
		}
		return
	}
	what := readChildren
	if r.Kind == JobStat {
		what = readStat
	}
	if d.phase == unasked {
		t.Scanned++
	}
	d.phase, d.count, d.triedAt = shut, -1, r.At
	if r.Sealed {
		d.count = r.Stat.NumChildren
	}
	t.blind.record(t.blind.refused, d.Path, what, r)
	if d.count == 0 { // nothing to read
		d.adopt(t.room(d, nil), &r.Stat, r.At)
	}
	if r.Sealed {
		t.recordSeen(d)
	}
	if d.aboveRoot {
		t.siblingsUnknown(d)
	}
	t.mark(d)
}

// listed handles a list of children.
func (t *Tree) listed(d *Dir, r *Reply) {
	if r.Err != nil && !(r.Sealed && r.Stat.EphemeralOwner != 0) {
		t.failed(d, r)
		return
	}
	if d.isAnother(&r.Stat) {
		r.Err = ErrGone
		t.failed(d, r)
		return
	}
	wasShut := d.phase == shut
	if wasShut {
		delete(t.blind.refused, d.Path)
	}
	t.setStat(d, &r.Stat)
	t.recordSeen(d)
	if d.phase == leaf {
		t.markWhole(d)
		return
	}
	t.adopt(d, r, wasShut)
}

// adopt applies a new list. It requests new contenders, and walks into other children. changed is set
// if the directory must be built even if the list is unchanged.
func (t *Tree) adopt(d *Dir, r *Reply, changed bool) {
	late := !d.readAt.IsZero() && (t.polled(d) || d.readAt.Before(t.server.Since))
	d.sentAt = r.Sent
	added, removed, another := d.adopt(t.room(d, r.Names), &r.Stat, r.At)
	for _, name := range removed {
		t.childLeft(d, name)
	}
	d.lost, d.gained = d.lost || len(removed) > 0, d.gained || len(added) > 0
	if late {
		d.rereadLive()
	}
	t.readAll(d, added)
	moved := len(added)+len(removed) > 0
	if moved || d.aboveRoot {
		t.settle(d)
	}
	t.markListed(d, changed || another || moved || t.isDue(d), len(removed) > 0)
}

// markListed marks a listed directory if its lock may have changed. left is set if children left.
func (t *Tree) markListed(d *Dir, changed, left bool) {
	switch {
	case d.phase == crowded, d.awaited == 0 && changed:
		t.mark(d)
	case d.judged && left: // a new holder is shown at once
		t.mark(d)
	case d.awaited > 0 && !t.cfg.Once && !t.FirstPass && d.shown == nil: // show the queue's length first
		t.mark(d)
	}
}

// isDue reports whether a directory's lock must be rebuilt although its list is unchanged.
func (t *Tree) isDue(d *Dir) bool {
	b := t.base(d)
	return !d.judged || d.renewed || t.polled(d) || d.waits() || b != nil && b.waits()
}

// readAll requests everything to read in a listed directory. added are its new children.
func (t *Tree) readAll(d *Dir, added []string) {
	list := &t.Queue.Reads
	if d.answers || t.inFocus(d) {
		list = &t.Queue.Urgent
	}
	d.answers = false
	t.readWanted(d, list)
	for i, name := range d.names {
		// Nodes that are read anyway will show whether they can have children.
		if n := d.at(i); !n.wasRead() && !n.isAwaited() && !recipe.Proves(name) {
			t.child(d, name)
		}
	}
	// A contender that left may change the holder, so the lock is shown at once. A new one queues
	// behind the others and is shown once it has been read.
	if d.judged && d.awaited > 0 {
		for _, name := range added {
			d.hold(name)
		}
	}
	if d.data == dataWanted || d.data == dataStale {
		t.requestData(d)
	}
}

// left handles a listed child that was gone when it was read. It may have been created again
// since, so the directory is listed again.
func (t *Tree) left(d *Dir, name string, at time.Time) {
	if !d.drop(name) {
		return
	}
	t.names--
	t.childLeft(d, name)
	if !t.cfg.Once {
		t.touch(d, at)
	}
	if recipe.Contends(name) && (d.judged || d.awaited == 0) {
		t.mark(d)
	}
	t.settle(d)
}

// readWanted queues reads of the wanted contenders.
func (w *wants) readWanted(d *Dir, list *[]Job) {
	wanted := d.wanted(w.cfg.Once || w.server.Many, w.inFocus(d))
	*list = slices.Grow(*list, len(wanted))
	for _, name := range wanted {
		d.await(name)
		delete(d.reread, name)
		*list = append(*list, Job{Kind: JobGet, Dir: d, Name: name})
	}
}

// got handles a child's data and Stat.
func (t *Tree) got(d *Dir, r *Reply) {
	name := r.Name
	if !d.awaits(name) {
		return
	}
	d.arrived(name)
	changed := false
	switch {
	case r.Err == nil || r.Sealed:
		_, changed = d.keep(name, r.Data, &r.Stat, r.Sealed)
		changed = t.recordContender(d, r) || changed
		if r.Stat.EphemeralOwner == 0 && !recipe.Proves(name) {
			t.child(d, name)
		}
	case errors.Is(r.Err, ErrGone):
		t.left(d, name, r.At)
		return
	default:
		_, changed = d.keep(name, nil, nil, false)
		if !recipe.Proves(name) {
			t.child(d, name)
		}
		changed = t.blind.record(t.blind.refused, join(d.Path, name), readStat, r) || changed
	}
	d.renewed = d.renewed || changed
	if d.awaited == 0 {
		if d.renewed || t.isDue(d) {
			t.mark(d)
		}
		t.settle(d)
	}
}

// recordContender records that a contender was read, or why it could not be, unless it is an
// unlistable directory. It reports whether anything changed.
func (t *Tree) recordContender(d *Dir, r *Reply) bool {
	if r.Err == nil && len(t.blind.refused) == 0 { // the usual case, up to a million times
		return false
	}
	p := join(d.Path, r.Name)
	if in := t.dirs[p]; in != nil && in.phase == shut {
		return false
	}
	what := readContender
	if e, ok := recipe.Parse(r.Name); ok && e.Live {
		what = readPermit
	}
	return t.blind.record(t.blind.refused, p, what, r)
}

// gotData handles a directory's own data.
func (t *Tree) gotData(d *Dir, r *Reply) {
	read := r.Err == nil || r.Sealed
	if errors.Is(r.Err, ErrGone) || read && d.isAnother(&r.Stat) {
		r.Err = ErrGone
		t.failed(d, r)
		return
	}
	what := readStat
	if read {
		what = readOwn
		own := children{}
		n, _ := own.keep("", r.Data, &r.Stat, r.Sealed)
		z := n.znode(path.Base(d.Path))
		d.self = &z
	} else {
		d.self = &inspect.Znode{Name: path.Base(d.Path)}
	}
	t.blind.record(t.blind.sealed, d.Path, what, r)
	d.data, d.triedAt = dataRead, r.At
	t.mark(d)
}

// compared handles a directory's Stat. The directory is listed again if the Stat differs from the
// one of its list.
func (t *Tree) compared(d *Dir, r *Reply) {
	same := r.Stat.Pzxid == d.pzxid && r.Stat.Czxid == d.czxid && r.Stat.Aversion == d.aversion
	if r.Err != nil || d.sentAt.Before(r.Sent) && !same {
		t.touch(d, r.At)
	}
}
