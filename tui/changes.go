package tui

import (
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// changesKept bounds the changed locks remembered for hidden screens. A screen that missed more
// looks at everything again.
const changesKept = 4 * screen.AtOnce

// changes lists the locks that changed in each snapshot, for screens that were hidden meanwhile. A
// snapshot costs the same regardless of the number of screens.
type changes struct {
	lists [][]inspect.ID
	first int // the number of the first list
	ids   int // in all lists
}

// add records the locks that changed in a new snapshot. With all, any lock may have changed.
func (c *changes) add(ids []inspect.ID, all bool) {
	if all {
		c.forget(len(c.lists))
		c.first++
		return
	}
	c.lists = append(c.lists, ids)
	c.ids += len(ids)
	n := 0
	for ids := c.ids; ids > changesKept || len(c.lists)-n > changesKept; n++ {
		ids -= len(c.lists[n])
	}
	c.forget(n)
}

// forget drops the first n lists.
func (c *changes) forget(n int) {
	for _, list := range c.lists[:n] {
		c.ids -= len(list)
	}
	c.lists, c.first = c.lists[n:], c.first+n
}

// next is the number of the next list, and so the position of a screen that is up to date.
func (c *changes) next() int { return c.first + len(c.lists) }

// since returns the locks that changed from a given list on, each once.
func (c *changes) since(number int) screen.SnapshotMsg {
	if number < c.first {
		return screen.SnapshotMsg{All: true}
	}
	lists := c.lists[number-c.first:]
	if len(lists) == 1 {
		return screen.SnapshotMsg{Changed: lists[0]}
	}
	var ids []inspect.ID
	seen := make(map[inspect.ID]struct{})
	for _, list := range lists {
		for _, id := range list {
			if _, ok := seen[id]; !ok {
				seen[id] = struct{}{}
				ids = append(ids, id)
			}
		}
	}
	return screen.SnapshotMsg{Changed: ids}
}
