package tree

import (
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Covers lists the locks whose watches to request, those on the screen or, in a single pass, all.
func (g *ground) Covers() (ids []inspect.ID) {
	add := func(d *Dir) {
		if d != nil && d.shown != nil && d.shown.watched {
			ids = append(ids, g.id(d))
		}
	}
	if g.cfg.Once {
		for _, d := range g.dirs {
			add(d)
		}
		return ids
	}
	for p := range g.focus {
		add(g.dirs[p])
	}
	return ids
}

// Watches holds the watches of all servers, by the servers' paths.
type Watches struct {
	Covers []inspect.ID
	Asked  time.Time
	On     map[string][]int64
	// Hears reports whether the table has all watches of a session that queued up at that time.
	Hears func(session int64, queued time.Time) bool
}

// WatchTable returns the watches on children of the requested locks.
func (g *ground) WatchTable(w Watches) *inspect.WatchTable {
	wanted, unheard := make(map[string]bool, len(w.Covers)), map[int64]bool{}
	for _, id := range w.Covers {
		d := g.dirs[id.Path]
		if d == nil || d.shown == nil {
			continue
		}
		if mayBeUnheard(d, w) {
			for _, c := range g.waiters(d, w.Asked) {
				if !w.Hears(c.Owner.Session, c.Since) {
					unheard[c.Owner.Session] = true
				}
			}
		}
		if d.single() {
			wanted[parent(d.Path)] = true
		}
		for _, in := range d.places() {
			wanted[in.Path] = true
		}
	}
	table := &inspect.WatchTable{
		Backend: g.cfg.Backend, ReadAt: w.Asked, Covers: w.Covers,
		Sessions: map[string][]int64{}, Unheard: slices.Sorted(maps.Keys(unheard)),
	}
	for full, ids := range w.On {
		if p, ok := g.cfg.Chroot.Shown(full); ok && wanted[parent(p)] {
			table.Sessions[p] = ids
		}
	}
	return table
}

// mayBeUnheard reports whether the table may lack a contender's session.
func mayBeUnheard(d *Dir, w Watches) bool {
	return slices.ContainsFunc(d.places(), func(in *Dir) bool {
		return in.someUnread() || slices.ContainsFunc(in.nodes, func(n node) bool {
			return !w.Hears(n.owner, time.UnixMilli(n.created))
		})
	})
}

// Recheck lists locks again if a table lacks an expected watch. That distinguishes a predecessor
// that was already gone when the table was read from a missing or wrong watch.
func (w *wants) Recheck(table *inspect.WatchTable, now time.Time) {
	for _, id := range table.Covers {
		d := w.dirs[id.Path]
		if d == nil || d.shown == nil || d.phase == leaf || !w.lacksWatch(d, table) {
			continue
		}
		d.recheck = now
		for _, in := range d.places() {
			if w.cfg.Once {
				w.push(&w.Queue.Reads, Job{Kind: JobList, Dir: in})
			} else {
				w.touch(in, now)
			}
		}
	}
}

// waiters returns the waiters of a directory's lock.
func (g *ground) waiters(d *Dir, now time.Time) []inspect.Contender {
	if lock, _ := g.assemble(d, now); lock != nil {
		return lock.Waiters
	}
	return nil
}

// lacksWatch reports whether a waiter lacks its expected watch in the table.
func (g *ground) lacksWatch(d *Dir, table *inspect.WatchTable) bool {
	l, _ := g.assemble(d, table.ReadAt)
	return l != nil && slices.ContainsFunc(l.Waiters, func(w inspect.Contender) bool {
		on := table.Sessions[l.Predecessor(&w)]
		return w.Watches != "" && w.Owner.Session != 0 && !slices.Contains(on, w.Owner.Session)
	})
}
