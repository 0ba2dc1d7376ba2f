package zksource

import (
	"cmp"
	"fmt"

	"lockscope/inspect"
)

// namesPerDir limits the names of children, in all directories that are looked at.
const namesPerDir = 16

// full reports whether no more directories are looked at.
func (r *run) full() bool {
	if len(r.dirs) < r.cfg.Budget.Dirs {
		return false
	}
	r.tooMany = true
	return true
}

// deeper reports whether a child is deeper than what is looked at.
func (r *run) deeper(d *dir, child string) bool {
	if int(d.depth) < r.cfg.Budget.Depth {
		return false
	}
	r.tooDeep = cmp.Or(r.tooDeep, child)
	return true
}

// room counts the names of a new list of a directory's children. Where there is no room for them, those of
// the list before stay.
func (r *run) room(d *dir, names []string) []string {
	if r.names+len(names)-len(d.names) > namesPerDir*r.cfg.Budget.Dirs {
		r.tooMany, names = true, d.names
	}
	r.names += len(names) - len(d.names)
	return names
}

// leftOut reports that not all of the tree is looked at.
func (r *run) leftOut() inspect.Unseen {
	return inspect.Unseen{
		Aspect: inspect.AspectLocks, Where: r.serving(), Read: "getChildren",
		Reason: fmt.Sprintf("the tree has more than %d directories or %d names, the others are not looked at", r.cfg.Budget.Dirs, namesPerDir*r.cfg.Budget.Dirs),
		Advice: "give the path of a directory in the target",
	}
}
