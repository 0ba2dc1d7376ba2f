package redissource

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// jitter is the tolerance of a computed expiry: round trips vary, and TTLs are in milliseconds.
const jitter = 50 * time.Millisecond

// keyTable holds each master's last vote on every known key. It does no I/O and does not read the
// clock.
type keyTable struct {
	backend string
	addrs   []string
	only    string
	once    bool
	naming  naming
	entries map[string]*entry
	// ring is the order of reading keys in turn; next is the position. Forgotten keys stay until
	// trim.
	ring []string
	next int
	// foreign are keys that turned out not to be locks.
	foreign map[string]postponed
	// parts maps keys to the locks that they belong to. found lists those locks that are not added
	// yet.
	parts map[string]string
	found []string
	// denied lists matching keys that our user may not read. refused lists known keys that some
	// master did not fully report.
	denied, refused map[string]bool
	deniedKey       string // one of the denied keys, or empty
	// clients lists each master's connections.
	clients []node.Clients
	// replicas says, for each server, which master it replicates; nil for a master.
	replicas []*inspect.Unseen
	// topology maps keys to the masters of a cluster; nil if every master has all keys.
	topology *topology
	// polled is set if some master does not push its changes.
	polled bool
	// full is set if keys were left out because of the limit.
	full bool
	most int // 0 means no limit
}

// postponed is a key that is not a lock, with the time of the next read and the delay until then.
type postponed struct {
	until time.Time
	wait  time.Duration
}

func newKeyTable(cfg Config, masters []*node.Master) *keyTable {
	b := &keyTable{
		backend: cfg.Backend, only: cfg.Only, once: cfg.Once, naming: newNaming(cfg), most: cfg.Budget.Keys,
		entries: map[string]*entry{}, foreign: map[string]postponed{}, parts: map[string]string{},
		denied: map[string]bool{}, refused: map[string]bool{},
	}
	for _, m := range masters {
		b.addrs = append(b.addrs, m.Address())
	}
	b.clients, b.replicas = make([]node.Clients, len(b.addrs)), make([]*inspect.Unseen, len(b.addrs))
	return b
}

// place returns the index of a master in an entry's votes. In a cluster, only the key's master
// has one.
func (b *keyTable) place(key string, master int) (at int, ok bool) {
	switch {
	case b.topology == nil:
		return master, true
	default:
		return 0, b.topology.ownerOf(key) == master
	}
}

// voteOf returns a master's vote on a key, or nil.
func (b *keyTable) voteOf(master int, key string) *inspect.Vote {
	e := b.entries[key]
	at, ok := b.place(key, master)
	if e == nil || !ok {
		return nil
	}
	return &e.votes[at]
}

// add adds a key; false if it is known, or was recently found not to be a lock.
func (b *keyTable) add(key string, now time.Time) bool {
	if b.entries[key] != nil || now.Before(b.foreign[key].until) {
		return false
	}
	if b.most > 0 && len(b.entries)+len(b.foreign) >= b.most {
		b.full = true
		return false
	}
	room := len(b.addrs)
	if b.topology != nil {
		room = 1
	}
	e := &entry{key: key, votes: make([]inspect.Vote, 0, room)}
	for i, addr := range b.addrs {
		if _, ok := b.place(key, i); ok {
			e.votes = append(e.votes, inspect.Vote{Addr: addr, Error: unread})
		}
	}
	if len(e.votes) == 0 {
		err := fmt.Errorf("no node of the cluster serves slot %d", recipe.ClusterSlot(key))
		e.votes = []inspect.Vote{node.DownVote("", err)}
	}
	e.unwatched = make([]bool, len(e.votes))
	switch a, ok := b.foreign[key]; {
	case b.denied[key]:
		e.cameUnreported(inspect.NeverSeen)
	case ok:
		e.cameUnreported(a.until.Add(-a.wait)) // it was not a lock then, but may be one now
	}
	b.entries[key] = e
	b.ring = append(b.ring, key)
	b.trim()
	return true
}

// unwatch notes that changes of a master's keys may be unreported since that time; zero means since
// each key's last read.
func (b *keyTable) unwatch(master int, since time.Time) {
	for key, e := range b.entries {
		if at, ok := b.place(key, master); ok {
			e.unwatch(at, since)
		}
	}
}

// trim drops forgotten keys from the ring once they are the majority.
func (b *keyTable) trim() {
	if len(b.ring) > 2*len(b.entries)+64 {
		b.ring, b.next = slices.Collect(maps.Keys(b.entries)), 0
	}
}

// vote records a master's vote on a key. An expiry that only jittered keeps its old time until that
// has passed.
func (b *keyTable) vote(master int, key string, v inspect.Vote, now time.Time) {
	e := b.entries[key]
	if e == nil {
		return
	}
	e.read, e.readAt = true, now
	at, ok := b.place(key, master)
	if !ok {
		return // the key has moved to another node
	}
	old := &e.votes[at]
	if old.Present != v.Present || old.Value != v.Value || old.Digest != v.Digest || old.Up != v.Up {
		e.changedAfter = e.lastConfirmed(at)
		if e.unwatched[at] {
			e.unreported, e.changedAfter = true, later(e.changedAfter, e.watchedUntil)
		}
	}
	v.Unsure = v.Unsure || e.unwatched[at] && vanished(old, &v) || e.staysUnsure(at, &v)
	e.unwatched[at] = false
	v.ReadAt = now
	if v.Value == old.Value && v.Digest == old.Digest {
		v.ExpiresAt = steady(old.ExpiresAt, v.ExpiresAt, now)
	}
	if v.Held != nil && old.Held != nil {
		steadyClaims(old.Held, v.Held, now)
	}
	if refused(v) {
		b.refused[key] = true
	}
	*old = lastPresent(*old, v, now)
}

// steadyClaims keeps the old expiries of claims that only jittered. It changes the record, which
// the reader no longer uses.
func steadyClaims(old, is *recipe.Record, now time.Time) {
	was := make(map[string]time.Time, len(old.Claims))
	for _, c := range old.Claims {
		was[c.Name] = c.ExpiresAt
	}
	for i := range is.Claims {
		c := &is.Claims[i]
		c.ExpiresAt = steady(was[c.Name], c.ExpiresAt, now)
	}
}

// votes returns the votes that count, those of masters. If all given servers are replicas, theirs
// are used, although they may lag behind their masters.
func (b *keyTable) votes(e *entry) []inspect.Vote {
	if b.topology != nil || !slices.ContainsFunc(b.replicas, func(u *inspect.Unseen) bool { return u != nil }) {
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

// silence records for every key that a master does not answer.
func (b *keyTable) silence(master int, err error, now time.Time) {
	b.clients[master] = nil
	v := node.DownVote(b.addrs[master], err)
	for _, e := range b.entries {
		if at, ok := b.place(e.key, master); ok {
			e.votes[at] = lastPresent(e.votes[at], v, now)
		}
	}
}

// judge builds a key's lock from its votes. It returns the lock if it changed, and whether it is no
// longer listed.
func (b *keyTable) judge(key string, now time.Time) (changed *inspect.Lock, gone bool) {
	e := b.entries[key]
	if e == nil || e.unread() {
		return nil, false
	}
	if !b.keep(e, now) {
		return nil, e.lock != nil
	}
	lock := inspect.KeyLock(inspect.ID{Backend: b.backend, Path: key}, b.votes(e), now)
	if b.naming.names(lock) {
		lock.Named()
	}
	if e.lock == nil && !b.naming.mayBe(lock) {
		delete(b.entries, key)
		b.postpone(key, now)
		return nil, false
	}
	if lock.State != inspect.StateFree {
		e.freeSince = time.Time{}
	} else if e.freeSince.IsZero() {
		e.freeSince = now
	} else if key != b.only && now.Sub(e.freeSince) >= freeFor && !(lock.Kind == inspect.KindSemaphore && e.isLock()) {
		delete(b.entries, key)
		return nil, e.lock != nil
	}
	lock.Polled = b.polled
	if e.lock != nil && e.lock.Polled == lock.Polled && sameVotes(e.lock.Masters, lock.Masters) {
		if !e.confirm() && (!b.polled || now.Before(reportAgain(e.lock))) {
			return nil, false
		}
	} else {
		e.confirmed = 0
		if b.polled || e.unreported || e.outOfSight(now) {
			lock.UnseenSince = e.changedAfter
		}
	}
	e.unreported = false
	b.identify(lock)
	e.lock = lock
	return lock, false
}

// keep reports whether a key is a separate lock, and forgets it if not.
func (b *keyTable) keep(e *entry, now time.Time) bool {
	if lock := e.partOf(); lock != "" {
		b.forget(e, now)
		b.postpone(e.key, now)
		b.parts[e.key] = lock
		b.found = append(b.found, lock)
		return false
	}
	if e.lock == nil && e.key != b.only && !e.isLock() {
		b.forget(e, now)
		return false
	}
	delete(b.foreign, e.key)
	delete(b.parts, e.key)
	b.allow(e.key)
	return true
}

// forget drops a key that is not a lock. If it holds something else or may not be read, it is not
// read again for a while. If it is missing or its master does not answer, it may come back at any
// time.
func (b *keyTable) forget(e *entry, now time.Time) {
	delete(b.entries, e.key)
	denied := slices.ContainsFunc(e.votes, e.forbidden)
	switch {
	case denied:
		b.deny(e.key)
	case slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Up }):
		b.allow(e.key) // otherwise it stays as it was
	}
	if denied || slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Foreign }) {
		b.postpone(e.key, now)
	}
}

// postpone delays the next read of a key that is not a lock, longer each time. Names rarely change
// their use, and there may be many such keys.
func (b *keyTable) postpone(key string, now time.Time) {
	wait := min(max(foreignFor, 4*b.foreign[key].wait), time.Hour)
	b.foreign[key] = postponed{now.Add(wait), wait}
}

// recheck schedules the next read of a changed key that is not a lock, a minute after the last.
func (b *keyTable) recheck(key string) {
	if a, ok := b.foreign[key]; ok {
		a.until = a.until.Add(foreignFor - a.wait)
		a.wait = foreignFor
		b.foreign[key] = a
	}
}

// rememberPostponed is how long we remember that a key was not a lock after its postponement has
// ended.
const rememberPostponed = 10 * time.Minute

// sweep forgets keys that were not locks and did not turn up again.
func (b *keyTable) sweep(now time.Time) {
	for key, a := range b.foreign {
		if now.Sub(a.until) > rememberPostponed {
			delete(b.foreign, key)
			delete(b.parts, key)
			b.allow(key)
		}
	}
}

// drainFound takes the locks that were found through their parts.
func (b *keyTable) drainFound() []string {
	found := b.found
	b.found = nil
	return found
}

// whole replaces keys that are known parts with their locks.
func (b *keyTable) whole(keys []string) []string {
	for i, key := range keys {
		if lock, ok := b.parts[key]; ok {
			keys[i] = lock
		}
	}
	return keys
}
