package tree

import (
	"path"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Some locks are single znodes without a queue, either lone ephemeral nodes or nodes at paths that a
// recipe names. Such a node is walked like a directory, and its lock has its path. An ephemeral node
// is known to be alone once all children of its directory have been read.

// singles is what a directory knows about single nodes that are locks, and whether it is one.
type singles struct {
	lone   lone
	seen   bool            // its Stat was read
	unread int32           // number of children whose Stat was not read
	leaves map[string]bool // ephemeral children that are not contenders
	only   *Dir            // the child that is alone, and therefore a lock
	freed  *Dir            // the last such child, if deleted
}

// single reports whether a single node may be a lock.
func (d *Dir) single() bool { return d.lone == byPath || d.lone == alone }

// wasAlone reports whether a node is, or was, the only ephemeral one in its directory.
func (d *Dir) wasAlone() bool { return d.lone == alone || d.lone == freed }

// recordSeen records the first read of a child's Stat.
func (t *Tree) recordSeen(c *Dir) {
	if c.root { // the requested lock, or a root that is a lock
		if _, persistent := recipe.Singles(parent(c.Path)); c.phase == leaf {
			t.lookAtSiblings(c)
		} else if persistent {
			t.makeSingle(c, byPath)
		}
		return
	}
	in := t.dirs[parent(c.Path)]
	if c.seen || in == nil {
		return
	}
	c.seen = true
	in.unread--
	if c.phase == leaf {
		in.hasLeaf(path.Base(c.Path))
	}
	t.settle(in)
}

// hasLeaf notes that a child is ephemeral, and reports whether that is new.
func (d *Dir) hasLeaf(name string) bool {
	if d.leaves[name] {
		return false
	}
	if d.leaves == nil {
		d.leaves = map[string]bool{}
	}
	d.leaves[name] = true
	return true
}

// unnote removes a leaving child from its directory's counts.
func (t *Tree) unnote(c *Dir) {
	in := t.dirs[parent(c.Path)]
	if in == nil || c.root {
		return
	}
	if !c.seen {
		in.unread--
	}
	delete(in.leaves, path.Base(c.Path))
	if in.only == c {
		in.only = nil
	}
}

// findSingles finds single children that are locks once all children have been read, so that the
// order of replies does not matter.
func (t *Tree) findSingles(d *Dir) {
	if d.unread > 0 || d.awaited > 0 || d.gone {
		return
	}
	everyOne, persistent := recipe.Singles(d.Path)
	isAlone := len(d.leaves) == 1 && !d.contended()
	if c := d.only; c != nil && !isAlone {
		d.only, c.lone = nil, notLone
		t.silence(c)
	}
	if isAlone || everyOne {
		what := byPath
		if isAlone {
			what = alone
		}
		for name := range d.leaves {
			if c := t.dirs[join(d.Path, name)]; c != nil && !t.isSibling(c) {
				t.makeSingle(c, what)
			}
		}
	}
	if persistent && !d.aboveRoot {
		t.findPersisted(d)
	}
}

// findPersisted finds single persistent children that are locks, up to a limit.
func (t *Tree) findPersisted(d *Dir) {
	found := 0
	for _, name := range d.names {
		c := t.dirs[join(d.Path, name)]
		if c == nil || c.phase == leaf || found >= fullQueue && !t.cfg.Once && !t.focus[c.Path] {
			continue
		}
		found++
		t.makeSingle(c, byPath)
	}
}

// contended reports whether recipes treat some of the children as contenders. An ephemeral node
// next to them is not a lock.
func (d *Dir) contended() bool {
	if d.fold == folded || d.shown != nil && d.shown.contended {
		return true
	}
	for range d.owned {
		return true
	}
	return false
}

// makeSingle requests a node's data, since the node may be a lock.
func (t *Tree) makeSingle(c *Dir, what lone) {
	if c.lone == what {
		return
	}
	c.lone = what
	if in := t.dirs[parent(c.Path)]; what == alone && in != nil {
		if in.freed != nil && in.freed != c {
			t.remove(in.freed)
		}
		in.only = c
	}
	if c.data != dataUnwanted {
		t.mark(c)
		return
	}
	c.data = dataWanted
	t.requestData(c)
}

// free keeps the lock of a deleted lone node as free, until the node is created again. A directory
// keeps only one.
func (t *Tree) free(in, c *Dir) {
	if in.freed != nil && in.freed != c {
		t.remove(in.freed)
	}
	in.freed, in.only = c, nil
	t.unnote(c)
	c.lone, c.data, c.phase, c.seen = freed, dataUnwanted, unasked, true
	c.self = nil
	t.mark(c)
}

// comesBack requests a lone node again after it was gone.
func (t *Tree) comesBack(in, c *Dir) {
	in.freed = nil
	in.unread++
	c.seen, c.phase = false, unasked
	t.push(&t.Queue.Urgent, Job{Kind: JobStat, Dir: c})
}
