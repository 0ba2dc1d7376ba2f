package locks

import (
	"cmp"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
)

// Prefix is the backend and the start of the paths of a group's locks. The start is a znode's
// directory, or a key up to and including its last colon or slash. It is empty for a path without a
// directory.
type Prefix struct{ Backend, Path string }

func prefixOf(id inspect.ID) Prefix {
	return Prefix{id.Backend, id.Path[:strings.LastIndexAny(strings.TrimRight(id.Path, ":/"), ":/")+1]}
}

// lockGroup holds the shown locks with one prefix.
type lockGroup struct {
	Prefix
	rows *sorted[*row]
	// ranks counts the rows of each rank.
	ranks     [describe.LevelCritical + 1]int
	contended int
	// placed is the worst rank that the group is sorted by until the rows are settled.
	placed describe.Level
	// late is set if it came after the rows were settled. It stays last until they are settled
	// again.
	late bool
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

// single reports whether it has one lock, which is drawn instead of the group.
func (g *lockGroup) single() bool { return g.rows.count == 1 }

// count adds a row to the counts. by is 1, or -1 for a row that goes.
func (g *lockGroup) count(r *row, by int) {
	if !r.shown {
		return
	}
	g.ranks[r.rank] += by
	if r.contended {
		g.contended += by
	}
}

// compareGroups orders groups, the worst first, or by name if the order is by name.
func (o order) compareGroups(a, b *lockGroup) int {
	if a.late != b.late {
		return last(a.late)
	}
	if o.column() != byName {
		if c := cmp.Compare(b.placed, a.placed); c != 0 {
			return c
		}
	}
	c := cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Path, b.Path))
	if o.column() == byName && o.reversed {
		return -c
	}
	return c
}

// enter opens the selected lock's chain, or opens or closes the selected group.
func (s *Screen) enter() {
	if p, ok := s.onGroup(); ok {
		if s.Opened[p] {
			delete(s.Opened, p)
		} else {
			s.Opened[p] = true
		}
		s.moved = true
		s.seek()
		return
	}
	if s.Current.Lock != (inspect.ID{}) {
		about := s.Selected()
		if s.Past() { // the one whose acquisition is shown
			about.Contender = s.chainPane.Chosen(about.Lock)
		}
		if l := s.Snapshot().Lock(about.Lock); l != nil && about.Contender == "" {
			if c := matched(s, l); c != nil {
				about.Contender = c.Name
			}
		}
		s.Go(screen.Chain, about)
	}
}

// closeGroup closes the selected group, or the group of the selected lock.
func (s *Screen) closeGroup() {
	p, ok := s.onGroup()
	if !ok {
		p = prefixOf(s.Current.Lock)
	}
	delete(s.Opened, p)
	s.Current, s.moved = Selection{group: p}, true
	s.seek()
}

func (s *Screen) group() {
	s.Want.Grouped = !s.Want.Grouped
	s.moved = s.moved || s.Current != (Selection{})
	if s.Flash("grouping off"); s.Want.Grouped {
		s.Flash("grouped by directory or key prefix")
	}
	if s.Want.Grouped && s.Current.Lock != (inspect.ID{}) {
		s.Opened[prefixOf(s.Current.Lock)] = true // the selected lock stays in sight
	}
	s.arrange()
	s.seek()
}
