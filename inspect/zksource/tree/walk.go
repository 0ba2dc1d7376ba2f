package tree

import (
	"path"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// child walks into a child, unless it is left out.
func (t *Tree) child(d *Dir, name string) {
	p := join(d.Path, name)
	if c := t.dirs[p]; c != nil {
		if c == d.freed {
			t.comesBack(d, c)
		}
		return
	}
	_, part := recipe.Base(p)
	if t.cfg.Only != "" && !part && !d.aboveRoot || t.serversOwn(p) {
		return
	}
	if t.full() || t.deeper(d, p) {
		return
	}
	c := &Dir{Path: p, depth: d.depth + 1}
	t.dirs[p] = c
	d.unread++
	kind := t.firstLook(c)
	if d.aboveRoot {
		kind = JobStat // which shows whether it is ephemeral
	}
	t.push(&t.Queue.Walk, Job{Kind: kind, Dir: c})
}

// serversOwn reports whether only the server writes at a path. Clients may have locks elsewhere
// below /zookeeper.
func (t *Tree) serversOwn(p string) bool {
	p = t.cfg.Chroot.OnServer(p)
	return p == "/zookeeper/config" || p == "/zookeeper/quota"
}

// firstLook returns the first read of a directory. It is the Stat, in case the directory is too big
// to list. Without a budget it is listed at once, unless it was read before or a connection broke,
// since its list may have been too big.
func (w *wants) firstLook(d *Dir) Kind {
	if w.cfg.Eager && w.server.Lost == 0 && d.phase == unasked {
		return JobList
	}
	return JobStat
}

// remove forgets a deleted directory and everything below it.
func (t *Tree) remove(d *Dir) {
	if t.dirs[d.Path] != d {
		return
	}
	d.gone = true
	t.names -= len(d.names)
	for _, name := range d.names {
		t.childLeft(d, name)
	}
	if d.freed != nil {
		t.remove(d.freed)
	}
	t.unnote(d)
	delete(t.due, d)
	delete(t.expiring, d)
	t.blind.forget(d.Path)
	if d.shown != nil {
		delete(t.changes.Put, d.Path)
		t.changes.Gone[d.Path] = false
	}
	if !d.root {
		delete(t.dirs, d.Path)
	} else {
		t.dirs[d.Path] = &Dir{Path: d.Path, root: true, phase: absent, relists: d.relists}
	}
	t.markWhole(d)
	t.markParts(d)
	if in := t.dirs[parent(d.Path)]; in != nil && in.freed == d {
		in.freed = nil
	} else if in != nil && in.aboveRoot {
		delete(in.leaves, path.Base(d.Path))
	}
}

// childLeft forgets a child that has left its directory.
func (t *Tree) childLeft(d *Dir, name string) {
	p := join(d.Path, name)
	switch c := t.dirs[p]; {
	case c == nil:
		delete(t.blind.refused, p)
	case c.wasAlone() && c.shown != nil && !d.gone && !d.aboveRoot:
		t.free(d, c)
	case !c.root:
		t.remove(c)
	}
}
