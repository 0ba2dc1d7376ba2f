package tree

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// emptyBeat is the shortest time between two counts of the empty directories, since a count
// visits all directories.
const emptyBeat = time.Minute

// emptyCount is the last count of the empty directories.
type emptyCount struct {
	found inspect.EmptyDirs
	at    time.Time
}

// Empty returns the last count of directories that are empty but once had children.
func (g *ground) Empty() inspect.EmptyDirs { return g.empty.found }

// CountEmpty counts the empty directories when that is due. Roots do not count.
func (g *ground) CountEmpty(now time.Time) {
	if !g.FirstPass || !g.empty.at.IsZero() && now.Sub(g.empty.at) < emptyBeat {
		return
	}
	var e inspect.EmptyDirs
	under := make(map[string]int)
	for _, d := range g.dirs {
		if d.root || d.phase != listable || d.count != 0 || d.created == 0 {
			continue
		}
		e.Count++
		if made := time.UnixMilli(d.ctime); e.Oldest.IsZero() || made.Before(e.Oldest) {
			e.Oldest = made
		}
		in := parent(d.Path)
		under[in]++
		if n := under[in]; n > e.UnderCount || n == e.UnderCount && in < e.Under {
			e.Under, e.UnderCount = in, n
		}
	}
	g.empty = emptyCount{e, now}
}
