package zksource

import (
	"path"
	"time"

	"lockscope/inspect"
)

// emptyBeat is the shortest time between two counts of the empty directories, which go over all of them.
const emptyBeat = time.Minute

// countEmpty counts the directories that had children once and have none now, when that is due. The roots are no locks.
func (r *run) countEmpty(now time.Time) {
	if !r.firstPass || !r.emptyAt.IsZero() && now.Sub(r.emptyAt) < emptyBeat {
		return
	}
	r.emptyAt = now
	var e inspect.EmptyDirs
	under := make(map[string]int)
	for _, d := range r.dirs {
		if d.root || d.phase != listable || d.count != 0 || d.created == 0 {
			continue
		}
		e.Count++
		if made := time.UnixMilli(d.ctime); e.Oldest.IsZero() || made.Before(e.Oldest) {
			e.Oldest = made
		}
		in := path.Dir(d.path)
		under[in]++
		if n := under[in]; n > e.UnderCount || n == e.UnderCount && in < e.Under {
			e.Under, e.UnderCount = in, n
		}
	}
	r.empty = e
}
