package tree

import "path"

// An ephemeral node that a user named is a lock only if it is alone in its directory, as anywhere
// in the tree. The directory is listed only to check this. Neither it nor its other children become
// locks or are walked further.

// lookAtSiblings requests the directory of a root that is an ephemeral node.
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

// outside reports whether a directory is only read for the sake of a root in it or next to it.
func (g *ground) outside(d *Dir) bool { return d.aboveRoot || g.isSibling(d) }

// isSibling reports whether a node is only read for a root next to it.
func (g *ground) isSibling(d *Dir) bool {
	in := g.dirs[parent(d.Path)]
	return in != nil && in.aboveRoot && !d.root
}

// siblingsUnknown treats a root as alone if its directory is unreadable. The refusal is reported on
// the directory.
func (t *Tree) siblingsUnknown(in *Dir) {
	for name := range in.leaves {
		if c := t.dirs[join(in.Path, name)]; c != nil && c.root {
			t.makeSingle(c, alone)
		}
	}
}
