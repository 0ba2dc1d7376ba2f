package zksource

import "path"

// An ephemeral node that somebody named is a lock by itself where it would be one in a look at everything:
// alone in its directory. So that is listed too, for the node's sake only: no lock is made of it or of what
// else is in it, and nothing below is walked.

// lookAtSiblings has the directory of a root that is an ephemeral node looked at.
func (r *run) lookAtSiblings(c *dir) {
	p := parent(c.path)
	in := r.dirs[p]
	if in == nil {
		in = &dir{path: p, aboveRoot: true}
		r.dirs[p] = in
	}
	if in.leaves == nil {
		in.leaves = map[string]bool{}
	}
	if name := path.Base(c.path); !in.leaves[name] {
		in.leaves[name] = true
		r.push(&r.queue.lists, job{kind: jobList, dir: in})
	}
}

// outside reports whether a directory is only looked at for the sake of a root in it, or beside it.
func (r *run) outside(d *dir) bool { return d.aboveRoot || r.isSibling(d) }

// isSibling reports whether a node is only looked at for the sake of a root beside it.
func (r *run) isSibling(d *dir) bool {
	in := r.dirs[parent(d.path)]
	return in != nil && in.aboveRoot && !d.root
}

// siblingsUnknown takes a root for alone whose directory cannot be looked through: whether it is is unknown,
// and said with the directory.
func (r *run) siblingsUnknown(in *dir) {
	for name := range in.leaves {
		if c := r.dirs[join(in.path, name)]; c != nil && c.root {
			r.makeSingle(c, true)
		}
	}
}
