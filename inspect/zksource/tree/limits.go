package tree

import (
	"cmp"
	"fmt"

	"lockscope/inspect"
)

// namesPerDir limits the names of children, in all directories that are looked at.
const namesPerDir = 16

// full reports whether no more directories are looked at.
func (t *Tree) full() bool {
	if len(t.dirs) < t.cfg.Dirs {
		return false
	}
	t.blind.tooMany = true
	return true
}

// deeper reports whether a child is deeper than what is looked at.
func (t *Tree) deeper(d *Dir, child string) bool {
	if int(d.depth) < t.cfg.Depth {
		return false
	}
	t.blind.tooDeep = cmp.Or(t.blind.tooDeep, child)
	return true
}

// room counts the names of a new list of a directory's children. Where there is no room for them, those of
// the list before stay.
func (t *Tree) room(d *Dir, names []string) []string {
	if t.names+len(names)-len(d.names) > namesPerDir*t.cfg.Dirs {
		t.blind.tooMany, names = true, d.names
	}
	t.names += len(names) - len(d.names)
	return names
}

// leftOut reports that not all of the tree is looked at.
func (t *Tree) leftOut() inspect.Unseen {
	return inspect.Unseen{
		Aspect: inspect.AspectLocks, Where: t.server.Addr, Read: "getChildren",
		Reason: fmt.Sprintf("the tree has more than %d directories or %d names, the others are not looked at", t.cfg.Dirs, namesPerDir*t.cfg.Dirs),
		Advice: "give the path of a directory in the target",
	}
}
