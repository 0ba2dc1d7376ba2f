package locks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// Marked returns the marked locks that still exist, by name.
func (s *Screen) Marked() []inspect.ID {
	var list []inspect.ID
	for _, id := range slices.SortedFunc(maps.Keys(s.marks), inspect.ID.Compare) {
		if s.Snapshot().Lock(id) != nil {
			list = append(list, id)
		}
	}
	return list
}

// mark marks or unmarks the selected lock, and moves on to the next.
func (s *Screen) mark() {
	id := s.Current.Lock
	switch {
	case s.marks[id]:
		delete(s.marks, id)
	case len(s.marks) >= screen.MostMarked:
		s.Flash(screen.TooMany())
		return
	default:
		s.marks[id] = true
	}
	s.move(1)
}

// markAll marks all locks that the filter shows, or unmarks them all if any is marked.
func (s *Screen) markAll() {
	if len(s.marks) > 0 {
		clear(s.marks)
		s.Flash("nothing is marked")
		return
	}
	if s.Index.Shown > screen.MostMarked {
		s.Flash(screen.TooMany())
		return
	}
	for id, r := range s.Index.Rows {
		if r.shown {
			s.marks[id] = true
		}
	}
	s.Flash(fmt.Sprintf("%d marked: x, X, A and m act on all of them", len(s.marks)))
}
