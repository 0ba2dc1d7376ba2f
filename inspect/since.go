package inspect

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// differing visits the pages of t that before does not share, the locks in them that are new or changed, and
// the ids that only before has. before may be nil.
func (t *table) differing(before *table, own func(page), put func(*Lock), gone func(ID)) {
	before = cmp.Or(before, &table{})
	shared := make(map[**Lock]int)
	for _, p := range before.pages {
		shared[&p.locks[0]] = len(p.locks)
	}
	var was, is []*Lock
	for _, p := range t.pages {
		if shared[&p.locks[0]] == len(p.locks) {
			delete(shared, &p.locks[0])
			continue
		}
		own(p)
		is = append(is, p.locks...)
	}
	for _, p := range before.pages {
		if _, unmatched := shared[&p.locks[0]]; unmatched {
			was = append(was, p.locks...)
		}
	}
	for _, l := range is {
		for len(was) > 0 && was[0].ID.Compare(l.ID) < 0 {
			gone(was[0].ID)
			was = was[1:]
		}
		unchanged := false
		if len(was) > 0 && was[0].ID == l.ID {
			unchanged, was = was[0] == l, was[1:]
		}
		if !unchanged {
			put(l)
		}
	}
	for _, l := range was {
		gone(l.ID)
	}
}

// Since returns the updates, source by source, that take an Observer's snapshot from before to s: whole
// backends with their sessions, and the locks that differ as their sources reported them. before may be nil.
// Of the watch tables, which are not kept, there is what they confirmed; what they lacked is not reported
// again.
func (s *Snapshot) Since(before *Snapshot) []Update {
	var old *table
	if before != nil {
		old = &before.locks
	}
	of := make(map[string]*Update)
	list := make([]*Update, 0, len(s.Backends))
	for i, b := range s.Backends {
		u := &Update{}
		if s.reported != nil {
			b = s.reported[i]
		}
		if before == nil || !slices.Contains(before.reported, b) {
			u.Backend = b
		}
		if sessions := s.sessions[b.Name]; sessions != nil && (before == nil || !sameTable(sessions, before.sessions[b.Name])) {
			u.Backend, u.Sessions = b, sessions
		}
		of[b.Name] = u
		list = append(list, u)
	}
	update := func(backend string) *Update {
		u := of[backend]
		if u == nil {
			u = &Update{}
			of[backend] = u
			list = append(list, u)
		}
		return u
	}
	s.locks.differing(old, func(page) {}, func(l *Lock) {
		u := update(l.ID.Backend)
		u.Put = append(u.Put, l.asReported())
	}, func(id ID) {
		u := update(id.Backend)
		u.Gone = append(u.Gone, id)
	})
	var all []Update
	for _, u := range list {
		u.Watches = confirmedWatches(u.Put, s.TakenAt)
		if u.Backend != nil || len(u.Put) > 0 || len(u.Gone) > 0 {
			all = append(all, *u)
		}
	}
	return all
}

// confirmedWatches is the part of a watch table that confirmed what waiters of these locks of one backend
// watch; nil when none did.
func confirmedWatches(locks []*Lock, at time.Time) *WatchTable {
	t := &WatchTable{ReadAt: at, Sessions: make(map[string][]int64)}
	for _, l := range locks {
		covered := false
		everyContender(l, func(c *Contender) {
			if c.Watch == Confirmed {
				covered = true
				t.Sessions[l.Predecessor(c)] = append(t.Sessions[l.Predecessor(c)], c.Owner.Session)
			} else if c.Owner.Session != 0 {
				t.Unheard = append(t.Unheard, c.Owner.Session)
			}
		})
		if covered {
			t.Backend, t.Covers = l.ID.Backend, append(t.Covers, l.ID)
		}
	}
	if t.Covers == nil {
		return nil
	}
	slices.Sort(t.Unheard)
	return t
}

// sameTable reports whether two tables of sessions are the same one.
func sameTable(a, b map[int64]Session) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// asReported is the lock without what the rules found.
func (l *Lock) asReported() *Lock {
	if l.Observed.Reported == len(l.Findings) {
		return l
	}
	own := *l
	own.Findings = slices.Clip(l.Findings[:l.Observed.Reported])
	return &own
}
