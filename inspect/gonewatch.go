package inspect

import (
	"path"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// findGoneWatches notes which contenders watch a node of the lock that is gone, and reports whether that is
// news. Such a watch never fires: it was set by asking whether the node exists, when it did so no more.
func findGoneWatches(l *Lock, t *WatchTable) (changed bool) {
	there := make(map[string]bool, l.Contention())
	places := make(map[string]bool, 2)
	everyContender(l, func(c *Contender) {
		node := l.Node(c)
		there[node] = true
		places[path.Dir(node)] = true
	})
	gone := make(map[int64]string)
	for place := range places {
		for _, p := range t.pathsIn(place) {
			name := path.Base(p)
			if there[p] || !recipe.Contends(name) {
				continue
			}
			for _, id := range t.Sessions[p] {
				if gone[id] == "" || name < gone[id] {
					gone[id] = name
				}
			}
		}
	}
	settled := t.ReadAt.Sub(l.ReadAt) >= WatchSettle
	everyContender(l, func(c *Contender) {
		if c.State == Holding && !settled {
			return // it may have gone, and been looked for, since the table was read
		}
		if name := Untrusted(gone[c.Owner.Session]); name != c.WatchesGone && c.Owner.Session != 0 {
			c.WatchesGone = name
			changed = true
		}
	})
	return changed
}
