package redissource

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// jitter is the tolerance of a computed expiry: round trips vary, and TTLs are in milliseconds.
const jitter = 50 * time.Millisecond

// reportedAgain is the longest time until a polled lock that did not change is reported again: it was read since.
const reportedAgain = 2 * time.Second

// reportAgain returns the time to report a polled lock again: a missing renewal has to be seen before the key expires.
func reportAgain(l *inspect.Lock) time.Time {
	after := reportedAgain
	for i := range l.Holders {
		if at := l.Holders[i].ExpiresAt; !at.IsZero() {
			after = min(after, at.Sub(l.ReadAt)/4)
		}
	}
	return l.ReadAt.Add(after)
}

// unread is the error of a vote that was not asked for yet.
const unread = "not read yet"

// keyTable holds what every master last said of every known key. It does no I/O and knows no clock: the time is passed in.
type keyTable struct {
	backend string
	addrs   []string
	only    string
	once    bool
	entries map[string]*entry
	// ring is the order in which keys are read in turn, at next; forgotten keys are in it until it is trimmed.
	ring []string
	next int
	// foreign are keys that turned out to be no locks.
	foreign map[string]postponed
	// parts are keys that turned out to belong to the lock of another, found the locks among these that are to be added.
	parts map[string]string
	found []string
	// denied keys match, but our user may not read them. refused ones are known, and a master did not report all of them.
	denied, refused map[string]bool
	// clients lists each master's connections.
	clients []clients
	// replicas are, by master, whose replica it is known to be; nil where it is none.
	replicas []*inspect.Unseen
	// topology maps keys to the masters of a cluster; nil where each has all.
	topology *topology
	// polled: not every master pushes its changes.
	polled bool
}

// postponed is a key that is no lock, with the time of the next look and the delay until then.
type postponed struct {
	until time.Time
	wait  time.Duration
}

// entry is one key.
type entry struct {
	key   string
	votes []inspect.Vote
	// lock was emitted last; nil while the key was never seen to be a lock.
	lock      *inspect.Lock
	read      bool // at least once
	readAt    time.Time
	freeSince time.Time
	dispute   dispute
	// changedAfter is the time at which the newest verdict that changed was last known to stand, which counts where its changes may
	// not have been reported: on masters that are polled, where what was read first after nobody reported changed it (unreported), or
	// when it is late (outOfSight).
	changedAfter time.Time
	unreported   bool
	// unwatched are the votes whose next reading may show what nobody reported: of a master that has just begun to push, where another
	// node of the cluster has the key, or where a pass over all keys came upon it. All changes until watchedUntil were reported.
	unwatched    []bool
	watchedUntil time.Time
	// flushedAt is, by master, when it last said that it flushed a database while the key was there; nil before any did.
	flushedAt map[int]time.Time
}

func newKeyTable(cfg Config, masters []*master) *keyTable {
	b := &keyTable{
		backend: cfg.Backend, only: cfg.Only, once: cfg.Once,
		entries: map[string]*entry{}, foreign: map[string]postponed{}, parts: map[string]string{}, denied: map[string]bool{}, refused: map[string]bool{},
	}
	for _, m := range masters {
		b.addrs = append(b.addrs, m.address())
	}
	b.clients, b.replicas = make([]clients, len(b.addrs)), make([]*inspect.Unseen, len(b.addrs))
	return b
}

// place returns the index of a master in an entry's votes: of a cluster, only one master has one.
func (b *keyTable) place(key string, master int) (at int, ok bool) {
	switch {
	case b.topology == nil:
		return master, true
	default:
		return 0, b.topology.ownerOf(key) == master
	}
}

// add makes a key known; false when it is already, or was found to be no lock a moment ago.
func (b *keyTable) add(key string, now time.Time) bool {
	if b.entries[key] != nil || now.Before(b.foreign[key].until) {
		return false
	}
	e := &entry{key: key}
	for i, addr := range b.addrs {
		if _, ok := b.place(key, i); ok {
			e.votes = append(e.votes, inspect.Vote{Addr: addr, Error: unread})
		}
	}
	if len(e.votes) == 0 {
		e.votes = []inspect.Vote{downVote("", fmt.Errorf("no node of the cluster serves slot %d", slotOf(key)))}
	}
	e.unwatched = make([]bool, len(e.votes))
	switch a, ok := b.foreign[key]; {
	case b.denied[key]:
		e.cameUnreported(inspect.NeverSeen)
	case ok:
		e.cameUnreported(a.until.Add(-a.wait)) // when it was no lock, which it may be since
	}
	b.entries[key] = e
	b.ring = append(b.ring, key)
	b.trim()
	return true
}

// cameUnreported notes that the key came at some time after an instant; zero: nobody looked before.
func (e *entry) cameUnreported(since time.Time) {
	for i := range e.votes {
		e.unwatch(i, time.Time{})
		e.votes[i].ReadAt = since
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// cameUnseen reports whether nobody saw the key come.
func (e *entry) cameUnseen() bool { return !e.read && slices.Contains(e.unwatched, true) }

// unwatch notes that changes of a master's keys may not have been reported since an instant; zero: since they were read.
func (b *keyTable) unwatch(master int, since time.Time) {
	for key, e := range b.entries {
		if at, ok := b.place(key, master); ok {
			e.unwatch(at, since)
		}
	}
}

func (e *entry) unwatch(at int, since time.Time) {
	if !slices.Contains(e.unwatched, true) || since.Before(e.watchedUntil) {
		e.watchedUntil = since
	}
	e.unwatched[at] = true
}

// trim drops forgotten keys from the ring once most of it are.
func (b *keyTable) trim() {
	if len(b.ring) > 2*len(b.entries)+64 {
		b.ring, b.next = slices.Collect(maps.Keys(b.entries)), 0
	}
}

// due reports whether something in a vote has run out since it was read, or has to be confirmed.
func (e *entry) due(now time.Time) bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Up && overdue(v, now) })
}

// ends returns the expiries of a vote's key and of the entries in it, without those that never expire.
func ends(v inspect.Vote) []time.Time {
	var at []time.Time
	if !v.ExpiresAt.IsZero() {
		at = append(at, v.ExpiresAt)
	}
	if v.Held != nil {
		for _, c := range v.Held.Claims {
			if !c.ExpiresAt.IsZero() && !c.Dead {
				at = append(at, c.ExpiresAt)
			}
		}
	}
	return at
}

func overdue(v inspect.Vote, now time.Time) bool {
	return doubtful(v) || slices.ContainsFunc(ends(v), func(at time.Time) bool { return !at.Add(afterExpiry).After(now) })
}

// ending reports whether something in a vote runs out in a moment, and was not seen for a while.
func ending(v inspect.Vote, now time.Time) bool {
	return slices.ContainsFunc(ends(v), func(at time.Time) bool {
		last := at.Add(-beforeExpiry)
		return !last.After(now.Add(jitter)) && at.After(now) && v.ReadAt.Before(last.Add(-jitter))
	})
}

// outOfSight reports whether a holder ran out that nobody had seen for a while before, although changes are reported: what reports
// them may have stood still.
func (e *entry) outOfSight(now time.Time) bool {
	return e.lock != nil && slices.ContainsFunc(e.lock.Holders, func(h inspect.Contender) bool {
		return !h.ExpiresAt.IsZero() && !now.Add(grace).Before(h.ExpiresAt) && e.changedAfter.Before(h.ExpiresAt.Add(-inspect.MostUnseen))
	})
}

func doubtful(v inspect.Vote) bool { return v.Held != nil && v.Held.Doubtful }

// vote records what a master says of a key. An expiry that only jittered keeps its old instant, until that has passed.
func (b *keyTable) vote(master int, key string, v inspect.Vote, now time.Time) {
	e := b.entries[key]
	if e == nil {
		return
	}
	e.read, e.readAt = true, now
	at, ok := b.place(key, master)
	if !ok {
		return // it has moved
	}
	old := &e.votes[at]
	if old.Present != v.Present || old.Value != v.Value || old.Digest != v.Digest || old.Up != v.Up {
		e.changedAfter = e.stoodAt(at)
		if e.unwatched[at] {
			e.unreported, e.changedAfter = true, later(e.changedAfter, e.watchedUntil)
		}
	}
	e.unwatched[at] = false
	v.ReadAt = now
	if v.Value == old.Value && v.Digest == old.Digest {
		v.ExpiresAt = steady(old.ExpiresAt, v.ExpiresAt, now)
	}
	if v.Held != nil && old.Held != nil {
		was := make(map[string]time.Time, len(old.Held.Claims))
		for _, c := range old.Held.Claims {
			was[c.Name] = c.ExpiresAt
		}
		for i := range v.Held.Claims { // the record is the reader's no more
			c := &v.Held.Claims[i]
			c.ExpiresAt = steady(was[c.Name], c.ExpiresAt, now)
		}
	}
	if refused(v) {
		b.refused[key] = true
	}
	v.Flushed = e.wasFlushed(at, v, now)
	*old = lastPresent(*old, v, now)
}

// stoodAt is the time up to which the verdict is known to have stood before a vote changes: the last reading of a quorum of
// masters that agree. While too few are left that do, it is what it was; where nobody agreed, the vote's own reading.
func (e *entry) stoodAt(at int) time.Time {
	i := -1
	if e.lock != nil {
		i = slices.IndexFunc(e.lock.Masters, func(m inspect.Vote) bool { return m.Agrees })
	}
	if i < 0 {
		return e.votes[at].ReadAt
	}
	was := e.lock.Masters[i]
	var read []time.Time
	for _, v := range e.votes {
		if v.Up && v.Present && v.Value == was.Value && v.Digest == was.Digest {
			read = append(read, v.ReadAt)
		}
	}
	if len(read) < e.lock.Quorum {
		return e.changedAfter
	}
	slices.SortFunc(read, func(a, b time.Time) int { return b.Compare(a) })
	return read[e.lock.Quorum-1]
}

// lastPresent is the newer vote with when the key was last seen on the master.
func lastPresent(old, v inspect.Vote, now time.Time) inspect.Vote {
	switch {
	case v.Present:
	case old.Present:
		v.LastPresent = now
	default:
		v.LastPresent = old.LastPresent
	}
	return v
}

// votes are those that count: of the masters. Where all servers given are replicas, theirs are all there is to see, and may
// lag behind their masters.
func (b *keyTable) votes(e *entry) []inspect.Vote {
	if b.topology != nil {
		return e.votes
	}
	voting := make([]inspect.Vote, 0, len(e.votes))
	for i, v := range e.votes {
		if b.replicas[i] == nil {
			voting = append(voting, v)
		}
	}
	if len(voting) > 0 {
		return voting
	}
	for i, v := range e.votes {
		v.Unseen = append(slices.Clip(v.Unseen), *b.replicas[i])
		voting = append(voting, v)
	}
	return voting
}

// steady is the old instant where the new one only jittered. One that has passed was too early: nothing would be due.
func steady(old, at, now time.Time) time.Time {
	if !at.IsZero() && old.After(now) && at.Sub(old).Abs() < jitter {
		return old
	}
	return at
}

// silence records that a master does not answer, for every key.
func (b *keyTable) silence(master int, err error, now time.Time) {
	b.clients[master] = nil
	v := downVote(b.addrs[master], err)
	for _, e := range b.entries {
		if at, ok := b.place(e.key, master); ok {
			e.votes[at] = lastPresent(e.votes[at], v, now)
		}
	}
}

// judge makes the lock of a key of its votes: the lock when it changed, gone when it is to be listed no more.
func (b *keyTable) judge(key string, now time.Time) (changed *inspect.Lock, gone bool) {
	e := b.entries[key]
	if e == nil || e.unread() {
		return nil, false
	}
	named := key == b.only
	if lock := e.partOf(); lock != "" {
		b.forget(e, now)
		b.postpone(key, now)
		b.parts[key] = lock
		b.found = append(b.found, lock)
		return nil, e.lock != nil
	}
	if e.lock == nil && !named && !e.isLock() {
		b.forget(e, now)
		return nil, false
	}
	delete(b.foreign, key)
	delete(b.parts, key)
	delete(b.denied, key)
	lock := inspect.KeyLock(inspect.ID{Backend: b.backend, Path: key}, b.votes(e), now)
	if lock.State != inspect.StateFree {
		e.freeSince = time.Time{}
	} else if e.freeSince.IsZero() {
		e.freeSince = now
	} else if !named && now.Sub(e.freeSince) >= freeFor {
		delete(b.entries, key)
		return nil, e.lock != nil
	}
	lock.Polled = b.polled
	if e.lock != nil && e.lock.Polled == lock.Polled && sameVotes(e.lock.Masters, lock.Masters) {
		if !e.dispute.confirmed(e.votes) && (!b.polled || now.Before(reportAgain(e.lock))) {
			return nil, false
		}
	} else {
		e.dispute.of(lock)
		if b.polled || e.unreported || e.outOfSight(now) {
			lock.UnseenSince = e.changedAfter
		}
	}
	e.unreported = false
	b.identify(lock)
	e.lock = lock
	return lock, false
}

// unread reports whether a master was not asked yet. One that does not answer is known as down before long.
func (e *entry) unread() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Error == unread })
}

// isLock reports whether at least one master holds a string under the key, a structure that a recipe knows, or what may be one of
// the two for all that can be seen.
func (e *entry) isLock() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool {
		return v.Present && !v.Foreign || v.Held != nil || hides(v) && !e.forbidden(v)
	})
}

// hides reports whether a master may have a lock under the key that cannot be seen.
func hides(v inspect.Vote) bool {
	return v.Unknown(inspect.AspectHolders) || v.Unknown(inspect.AspectWaiters) || v.Unknown(inspect.AspectKind)
}

// forbidden reports whether our user may not read the key itself, whatever the command: then nothing but its name is known.
func (e *entry) forbidden(v inspect.Vote) bool {
	return !v.Up && slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool { return u.Right == "~"+e.key })
}

// partOf is the key of the lock that this one belongs to; empty when it is a lock of its own.
func (e *entry) partOf() string {
	hidden := false
	for _, v := range e.votes {
		if v.Held != nil && v.Held.PartOf != "" {
			return v.Held.PartOf
		}
		hidden = hidden || v.Held == nil && v.Unknown(inspect.AspectHolders) && !e.forbidden(v)
	}
	if lock, ok := recipe.MayBelongTo(e.key); ok && hidden {
		return lock
	}
	return ""
}

// forget drops a key that is no lock. One that holds something else, or that may not be read, is not looked at again
// for a while; one that is merely absent, or whose master did not answer, may
// come back at any time.
func (b *keyTable) forget(e *entry, now time.Time) {
	delete(b.entries, e.key)
	denied := slices.ContainsFunc(e.votes, e.forbidden)
	if denied {
		b.denied[e.key] = true
	} else {
		delete(b.denied, e.key)
	}
	if denied || slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Foreign }) {
		b.postpone(e.key, now)
	}
}

// postpone puts off the next look at a key that is no lock, each time for longer: the use of a name hardly changes, and
// there may be many.
func (b *keyTable) postpone(key string, now time.Time) {
	wait := min(max(foreignFor, 4*b.foreign[key].wait), time.Hour)
	b.foreign[key] = postponed{now.Add(wait), wait}
}

// recheck has a key that is no lock looked at a minute after the last look, however long that was put off: it changed.
func (b *keyTable) recheck(key string) {
	if a, ok := b.foreign[key]; ok {
		a.until = a.until.Add(foreignFor - a.wait)
		a.wait = foreignFor
		b.foreign[key] = a
	}
}

// rememberPostponed is for how long it is remembered that a key was no lock once that may be looked at again.
const rememberPostponed = 10 * time.Minute

// sweep forgets keys that were no locks and were not seen again.
func (b *keyTable) sweep(now time.Time) {
	for key, a := range b.foreign {
		if now.Sub(a.until) > rememberPostponed {
			delete(b.foreign, key)
			delete(b.parts, key)
			delete(b.denied, key)
		}
	}
}

// drainFound takes the locks that were found by their parts.
func (b *keyTable) drainFound() []string {
	found := b.found
	b.found = nil
	return found
}

// whole puts locks in the place of keys that are known to be a part of them.
func (b *keyTable) whole(keys []string) []string {
	for i, key := range keys {
		if lock, ok := b.parts[key]; ok {
			keys[i] = lock
		}
	}
	return keys
}

// sameVotes compares all but who agrees, which follows from the rest.
func sameVotes(a, b []inspect.Vote) bool {
	return slices.EqualFunc(a, b, func(x, y inspect.Vote) bool {
		return x.LastPresent.Equal(y.LastPresent) && x.Up == y.Up && x.Addr == y.Addr && x.Error == y.Error && x.Present == y.Present && x.Foreign == y.Foreign && x.Flushed == y.Flushed &&
			x.Value == y.Value && x.Digest == y.Digest && x.NoExpiry == y.NoExpiry && x.ExpiresAt.Equal(y.ExpiresAt) &&
			x.Held.Equal(y.Held) && slices.Equal(x.Unseen, y.Unseen)
	})
}
