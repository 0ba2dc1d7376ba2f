package tree

import (
	"cmp"
	"fmt"

	"github.com/lockscope/lockscope/inspect"
)

// namesPerDir limits the names in all directories, as an average per directory.
const namesPerDir = 16

// full reports whether no more directories are read.
func (w *wants) full() bool {
	if len(w.dirs) < w.cfg.Dirs {
		return false
	}
	w.blind.tooMany = true
	return true
}

// deeper reports whether a child is below the depth limit.
func (w *wants) deeper(d *Dir, child string) bool {
	if int(d.depth) < w.cfg.Depth {
		return false
	}
	w.blind.tooDeep = cmp.Or(w.blind.tooDeep, child)
	return true
}

// room returns the names to keep for a directory, and counts them. If there is no room for the new
// list, they are the previous ones.
func (w *wants) room(d *Dir, names []string) []string {
	if w.names+len(names)-len(d.names) > namesPerDir*w.cfg.Dirs {
		w.blind.tooMany, names = true, d.names
	}
	w.names += len(names) - len(d.names)
	return names
}

// leftOut reports that only part of the tree is read.
func (g *ground) leftOut() inspect.Unseen {
	return inspect.Unseen{
		Aspect: inspect.AspectLocks, Where: g.server.Addr, Read: "getChildren",
		Reason: fmt.Sprintf("the tree has more than %d directories or %d names; the others are not read",
			g.cfg.Dirs, namesPerDir*g.cfg.Dirs),
		Advice: "name a directory in the target",
	}
}
