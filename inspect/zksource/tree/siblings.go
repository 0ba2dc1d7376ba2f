package tree

import "path"

// An ephemeral node that a user named is a lock by itself where it would be one in a look at everything:
// alone in its directory. So that is listed too, for the node's sake only: no lock is made of it or of what
// else is in it, and nothing below is walked.

// lookAtSiblings wants the directory of a root that is an ephemeral node looked at.
func (w *wants) lookAtSiblings(c *Dir) {
	p := parent(c.Path)
	in := w.dirs[p]
	if in == nil {
		in = &Dir{Path: p, aboveRoot: true}
		w.dirs[p] = in
	}
	if in.hasLeaf(path.Base(c.Path)) {
		w.push(&w.Queue.Lists, Job{Kind: JobList, Dir: in})
	}
}

// outside reports whether a directory is only looked at for the sake of a root in it, or beside it.
func (g *ground) outside(d *Dir) bool { return d.aboveRoot || g.isSibling(d) }

// isSibling reports whether a node is only looked at for the sake of a root beside it.
func (g *ground) isSibling(d *Dir) bool {
	in := g.dirs[parent(d.Path)]
	return in != nil && in.aboveRoot && !d.root
}

// siblingsUnknown takes a root for alone whose directory cannot be looked through: whether it is is unknown,
// and said with the directory.
func (t *Tree) siblingsUnknown(in *Dir) {
	for name := range in.leaves {
		if c := t.dirs[join(in.Path, name)]; c != nil && c.root {
			t.makeSingle(c, alone)
		}
	}
}
