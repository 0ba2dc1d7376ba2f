package zksource

import (
	"maps"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource/ensemble"
)

// covers are the locks whose watch edges are wanted: those on the screen, and none when the tables were read a moment
// ago.
func (r *run) covers(now time.Time) []inspect.ID {
	if now.Sub(r.watchesAt) < r.beats.identity*9/10 {
		return nil
	}
	var ids []inspect.ID
	add := func(d *dir) {
		if d != nil && d.reported != nil && d.reported.watched {
			ids = append(ids, r.id(d))
		}
	}
	if r.cfg.Once {
		for _, d := range r.dirs {
			add(d)
		}
	} else {
		for p := range r.focus {
			add(r.dirs[p])
		}
	}
	if ids != nil {
		r.watchesAt = now
	}
	return ids
}

// watchTable keeps what stands on children of the locks that were asked about.
func (r *run) watchTable(who *ensemble.Report) *inspect.WatchTable {
	wanted, unheard := make(map[string]bool, len(who.Covers)), map[int64]bool{}
	for _, id := range who.Covers {
		d := r.dirs[id.Path]
		if d == nil || d.reported == nil {
			continue
		}
		wanted[d.path] = true
		if r.mayBeUnheard(d, who) {
			for _, w := range r.waiters(d) {
				if !who.Hears(w.Owner.Session, w.Since) {
					unheard[w.Owner.Session] = true
				}
			}
		}
		if d.single {
			wanted[parent(d.path)] = true
		}
		for _, part := range d.parts {
			wanted[part.path] = true
		}
	}
	table := &inspect.WatchTable{Backend: r.cfg.Backend, ReadAt: who.Asked, Sessions: map[string][]int64{}, Covers: who.Covers}
	table.Unheard = slices.Sorted(maps.Keys(unheard))
	for full, ids := range who.Watches {
		if p, ok := r.cfg.shown(full); ok && wanted[parent(p)] {
			table.Sessions[p] = ids
		}
	}
	return table
}

// mayBeUnheard reports whether the table may lack the session of somebody in a directory or one of its parts.
func (r *run) mayBeUnheard(d *dir, who *ensemble.Report) bool {
	for i := range d.nodes {
		if n := &d.nodes[i]; n.read() && !who.Hears(n.owner, time.UnixMilli(n.created)) {
			return true
		}
	}
	for _, part := range d.parts {
		if r.mayBeUnheard(part, who) {
			return true
		}
	}
	return d.someUnread()
}

// recheck has the locks listed again of which a table lacks a watch that should be there: a predecessor that
// was already gone when the table was read is then distinguished from a watch on the wrong node.
func (r *run) recheck(t *inspect.WatchTable, now time.Time) {
	for _, id := range t.Covers {
		d := r.dirs[id.Path]
		switch {
		case d == nil || d.reported == nil || d.phase == leaf || !r.lacksWatch(d, t):
		case r.cfg.Once:
			d.recheck = now
			r.push(&r.queue.reads, job{kind: jobList, dir: d})
			for _, part := range d.parts {
				r.push(&r.queue.reads, job{kind: jobList, dir: part})
			}
		default:
			d.recheck = now
			r.touch(d, now)
			for _, part := range d.parts {
				r.touch(part, now)
			}
		}
	}
}

// waiters returns those of a directory's lock.
func (r *run) waiters(d *dir) []inspect.Contender {
	if lock, _ := d.lock(r.id(d), r.cfg.Now()); lock != nil {
		return lock.Waiters
	}
	return nil
}

// lacksWatch reports whether a waiter does not watch what it should, by the table.
func (r *run) lacksWatch(d *dir, t *inspect.WatchTable) bool {
	l, _ := d.lock(r.id(d), r.cfg.Now())
	return l != nil && slices.ContainsFunc(l.Waiters, func(w inspect.Contender) bool {
		return w.Watches != "" && w.Owner.Session != 0 && !slices.Contains(t.Sessions[l.Predecessor(&w)], w.Owner.Session)
	})
}
