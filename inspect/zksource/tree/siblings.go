package tree

import "path"

// An ephemeral node that a user named is a lock if a look at the whole tree would show one: if it
// is alone in its directory. So its directory is listed, too, for the node's sake only. Neither it
// nor its other children become locks, and the walk does not go below it.

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

// outside reports whether a directory is only read for a root in it or next to it.
func (g *ground) outside(d *Dir) bool { return d.aboveRoot || g.isSibling(d) }

// isSibling reports whether a node is only read for a root next to it.
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
