package tui

import (
	"cmp"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// prefix is what the locks of a group have in common: a backend, and the directory of a znode or a key up to its last
// colon or slash, with that; empty where there is none.
type prefix struct{ backend, path string }

func prefixOf(id inspect.ID) prefix {
	return prefix{id.Backend, id.Path[:strings.LastIndexAny(strings.TrimRight(id.Path, ":/"), ":/")+1]}
}

// lockGroup are the locks with one prefix that are shown.
type lockGroup struct {
	prefix
	rows *sorted[*row]
	// ranks counts the rows of each rank.
	ranks     [describe.LevelCritical + 1]int
	contended int
}

// worst is the worst rank in the group.
func (g *lockGroup) worst() describe.Level {
	for r := describe.LevelCritical; r > describe.LevelFree; r-- {
		if g.ranks[r] > 0 {
			return r
		}
	}
	return describe.LevelFree
}

// count takes a row into account, by 1 or, when it goes, -1.
func (g *lockGroup) count(r *row, by int) {
	g.ranks[r.rank] += by
	if r.contended() {
		g.contended += by
	}
}

// compareGroups orders groups: the worst first, or by name in an order by name.
func (o order) compareGroups(a, b *lockGroup) int {
	if o.by != byName {
		if c := cmp.Compare(b.worst(), a.worst()); c != 0 {
			return c
		}
	}
	c := cmp.Or(strings.Compare(a.backend, b.backend), strings.Compare(a.path, b.path))
	if o.by == byName && o.reversed {
		return -c
	}
	return c
}
