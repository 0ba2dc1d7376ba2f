package inspect

import (
	"maps"
	"net"
	"path"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// clone copies a lock so that its contenders and Observed can be changed.
func clone(l *Lock) *Lock {
	c := *l
	c.Holders = slices.Clone(l.Holders)
	c.Waiters = slices.Clone(l.Waiters)
	c.Observed.Unwatched = maps.Clone(l.Observed.Unwatched)
	return &c
}

// same reports whether two versions of a contender are the same entry on the server. A contender
// that has only been listed so far has no czxid.
func same(a, b *Contender) bool {
	return a.Name == b.Name && a.Digest == b.Digest &&
		(a.Czxid == b.Czxid || a.Czxid == 0 || b.Czxid == 0)
}

// carry copies what the previous version of the lock knew and a single reading cannot show: its
// holders' grant times, and confirmed watches. offset is the backend's clock minus ours. If
// unseen, the backend was out of sight between the versions, and grants in that time are not
// dated.
func carry(was, l *Lock, offset time.Duration, unseen bool) {
	l.carryRecipe(was)
	before, misread := indexOf(was), misread(was, l)
	l.stepBack(func(c *Contender) bool {
		old, ok := before.same(c)
		return ok && old.State == Waiting && old.Reenters != "" // by a table of watches
	})
	for c := range l.Contenders {
		old, ok := before.same(c)
		followed := isPermits(l) && follow(was, c, old, ok)
		if ok {
			c.carry(old, was.Observed.Unwatched[old.Name])
		}
		switch {
		case c.State != Holding, !c.HeldSince.IsZero(), ok && old.State == Holding:
		case unseen, misread, ok && old.Czxid == 0 && c.Czxid != 0: // it had only been listed
		case !ok && !followed && len(was.Holders) == 0 && !c.Since.IsZero() && l.Masters == nil:
			c.HeldSince = c.Since // it came to a free lock: granted when it was created
		default:
			c.HeldSince = l.ReadAt.Add(offset).Round(0) // by the wall clock, which includes a suspension
		}
	}
}

func (l *Lock) carryRecipe(was *Lock) {
	if l.Recipe == "" {
		l.Recipe, l.Confidence = was.Recipe, was.Confidence // it is free: there is no value to decode
	}
	if l.Masters == nil && l.Recipe == was.Recipe && l.Confidence == recipe.Possible &&
		was.Confidence == recipe.Likely {
		l.Confidence = recipe.Likely // its watches have shown that it is a queue
	}
}

// carry copies facts from the previous version of the same entry. unwatched means that a table of
// watches lacked its watch.
func (c *Contender) carry(old *Contender, unwatched bool) {
	if old.Watches == c.Watches {
		c.Watch, c.WatchesGone = old.Watch, old.WatchesGone
		if unwatched {
			c.Watch = Missing // still there after that table
		}
	}
	if old.State != c.State {
		return
	}
	c.Seen = old.Seen
	if c.State == Holding && c.HeldSince.IsZero() {
		c.HeldSince = old.HeldSince
	}
}

// follow gives a permit the time at which its client entered the queue, if the client had an
// earlier entry there. ok means that old is the previous version of the permit itself. It reports
// whether the client waited.
func follow(was *Lock, c, old *Contender, ok bool) bool {
	if !ok {
		i := slices.IndexFunc(was.Waiters, func(w Contender) bool {
			return c.State != Waiting && c.Owner.Session != 0 && w.Owner.Session == c.Owner.Session && w.Czxid < c.Czxid
		})
		if i < 0 {
			return false
		}
		old = &was.Waiters[i]
	}
	if !old.Since.IsZero() {
		c.Since = old.Since
	}
	return old.State != Holding
}

// misread reports whether an entry taken for a contender by its name alone turned out not to be
// one when it was read.
func misread(was, is *Lock) bool {
	if len(is.Aliens) == 0 || was.Masters != nil {
		return false
	}
	now := indexOf(is)
	for c := range was.Contenders {
		if c.Czxid == 0 && now[c.Name] == nil &&
			(len(is.Aliens) == maxAliens || slices.Contains(is.Aliens, c.Name)) {
			return true
		}
	}
	return false
}

// seen records when each contender was first seen in its state.
func seen(l *Lock, now time.Time) {
	for c := range l.Contenders {
		if c.Seen.IsZero() {
			c.Seen = now.Round(0) // without the monotonic clock, which hides a step
		}
	}
}

// appeared sets the grant times of holders on a lock that appeared while we watched. ZooKeeper
// dates their entry into the queue; a Redis key appeared between two readings.
func appeared(l *Lock, offset time.Duration) {
	for i := range l.Holders {
		h := &l.Holders[i]
		h.HeldSince = h.Since
		if l.Masters != nil {
			h.HeldSince = l.ReadAt.Add(offset).Round(0)
		}
	}
}

// WatchSettle is the age that a queue must have before the watch table can show a missing watch. A
// contender that has just come, or whose predecessor has just gone, needs a few round trips to set
// it.
const WatchSettle = 200 * time.Millisecond

// identify fills in the clients behind the sessions.
func identify(l *Lock, sessions map[int64]Session) {
	for c := range l.Contenders {
		c.Owner = c.Owner.of(sessions)
	}
}

// outdated reports whether the sessions identify a contender that was unknown before.
func (l *Lock) outdated(sessions map[int64]Session) bool {
	return each.Any(l.Contenders, func(c *Contender) bool { return c.Owner != c.Owner.of(sessions) })
}

// of adds what the servers report about an owner's session.
func (o Owner) of(sessions map[int64]Session) Owner {
	s, ok := sessions[o.Session]
	if !ok || o.Session == 0 {
		return o
	}
	o.Client, o.Server, o.SessionTimeout = s.Client, s.Server, s.Timeout
	if o.Host == "" {
		if host, _, err := net.SplitHostPort(s.Client); err == nil {
			o.Host = Untrusted(host)
		}
	}
	return o
}

// confirmWatches sets for each waiter whether the server's table has its expected watch, and
// reports whether anything changed. An absent watch counts as missing only if the waiter was behind
// the same predecessor before and after the table was read (see carry). Otherwise it may have moved
// on in between.
func confirmWatches(l *Lock, t *WatchTable) bool {
	changed := l.stepBack(func(c *Contender) bool {
		return slices.Contains(t.Sessions[path.Join(l.ID.Path, c.Place, c.Reenters.Raw())], c.Owner.Session)
	})
	changed = findGoneWatches(l, t) || changed
	registry := isRegistry(l, t)
	if l.Confidence == recipe.Possible && queues(l, t) {
		l.Confidence, changed = recipe.Likely, true
	}
	for c := range l.Contenders {
		if c.Watches == "" || c.Owner.Session == 0 || registry && c.Watch == Unconfirmed {
			continue
		}
		answer, unwatched := c.Watch, false
		if slices.Contains(t.Sessions[l.Predecessor(c)], c.Owner.Session) {
			answer = Confirmed
		} else if answer != Missing {
			answer, unwatched = Unconfirmed, t.ReadAt.Sub(l.ReadAt) >= WatchSettle && t.hears(c.Owner.Session)
		}
		changed = changed || answer != c.Watch || unwatched != l.Observed.Unwatched[c.Name]
		c.Watch = answer
		l.setUnwatched(c, unwatched)
	}
	return changed
}

// setUnwatched records whether the newest watch table lacks a contender's watch.
func (l *Lock) setUnwatched(c *Contender, unwatched bool) {
	switch {
	case !unwatched:
		delete(l.Observed.Unwatched, c.Name)
	case l.Observed.Unwatched == nil:
		l.Observed.Unwatched = map[Untrusted]bool{c.Name: true}
	default:
		l.Observed.Unwatched[c.Name] = true
	}
}

// isRegistry reports whether nodes with names that other programs also write are most likely not a
// queue: none of them watches another. Once seen to queue, it is a queue.
func isRegistry(l *Lock, t *WatchTable) bool {
	seenToQueue := l.Recipe == "sequential" && l.Confidence == recipe.Likely
	return l.Confidence != recipe.Certain && l.Kind != KindSemaphore && !seenToQueue && !queues(l, t)
}

// queues reports whether contenders watch others before them and none behind. Members of a
// registry that watch each other watch all of them. A watch on a node that is gone also counts;
// findGoneWatches has recorded it.
func queues(l *Lock, t *WatchTable) bool {
	place := make(map[int64]int, l.Contention()) // of a session's last entry
	at := 0
	for c := range l.Contenders {
		place[c.Owner.Session] = at
		at++
	}
	before, behind := false, false
	at = 0
	for c := range l.Contenders {
		for _, session := range t.Sessions[l.Node(c)] {
			if watcher, known := place[session]; known && session != 0 && session != c.Owner.Session {
				before, behind = before || watcher > at, behind || watcher < at
			}
		}
		if gone := c.WatchesGone; gone != "" {
			before, behind = before || c.Follows(gone), behind || !c.Follows(gone)
		}
		at++
	}
	return before && !behind
}

// stepBack turns supposedly re-entrant readers that do wait into waiters: they belong to another
// thread of the writer's client. It reports whether there were any.
func (l *Lock) stepBack(waits func(*Contender) bool) bool {
	if !slices.ContainsFunc(l.Holders, func(c Contender) bool { return c.Reenters != "" }) {
		return false
	}
	held := make([]Contender, 0, len(l.Holders))
	for _, c := range l.Holders {
		if c.Reenters == "" || !waits(&c) {
			held = append(held, c)
			continue
		}
		c.State, c.Watches, c.HeldSince = Waiting, c.Reenters, time.Time{}
		l.Waiters = append(l.Waiters, c)
	}
	if len(held) == len(l.Holders) {
		return false
	}
	if len(held) > 0 && held[0].Mode == recipe.Exclusive {
		held[0].BlockedBelow += int32(len(l.Holders) - len(held))
	}
	l.Holders = held
	slices.SortStableFunc(l.Waiters, func(a, b Contender) int { return int(a.Sequence - b.Sequence) })
	l.State = queueState(l)
	return true
}

// findGoneWatches records which contenders watch a node of the lock that is gone, and reports
// whether that is new. Such a watch never fires: an exists request set it after the node was gone.
func findGoneWatches(l *Lock, t *WatchTable) (changed bool) {
	there := make(map[string]bool, l.Contention())
	places := make(map[string]bool, 2)
	for c := range l.Contenders {
		node := l.Node(c)
		there[node] = true
		places[path.Dir(node)] = true
	}
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
	for c := range l.Contenders {
		if c.State == Holding && !settled {
			continue // the node may have gone after the table was read
		}
		if name := Untrusted(gone[c.Owner.Session]); name != c.WatchesGone && c.Owner.Session != 0 {
			c.WatchesGone = name
			changed = true
		}
	}
	return changed
}
