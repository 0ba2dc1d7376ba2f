package zksource

import (
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// phase is the result of reading a node as a directory.
type phase uint8

const (
	unasked  phase = iota // nothing
	absent                // it does not exist; only a root stays then
	leaf                  // it is ephemeral: it cannot have children
	crowded               // it has too many children to list
	shut                  // its children could not be listed; see run.refused
	listable              // its children can be, or were, listed
)

// dir is one directory that we walked, or one node that turned out to have no children of interest. There is
// one for each lock, so that its small fields stand together and what few have is behind a pointer.
type dir struct {
	path  string
	depth int32
	root  bool
	// aboveRoot: the parent of a root, only looked at for the sake of that.
	aboveRoot bool

	phase    phase
	counted  bool  // among those that were looked at
	count    int32 // of its children, by its newest Stat; -1: not known
	aversion int32 // of its ACL, as of readAt
	created  int64 // children ever created in it; 0: not known
	czxid    int64
	pzxid    int64
	ctime    int64 // ms since 1970, by the servers' clock
	children
	reported *reported // nil: it is no lock
	judged   bool      // once, with all that was wanted read

	// Its own data, for recipes that keep something there; see wantData.
	dataWanted bool
	dataRead   bool
	dataStale  bool           // it has changed since
	self       *inspect.Znode // nil: it was not read

	// What belongs together; see parts.go.
	parts map[string]*dir // by place
	// heldBack is the time since which the lock is not emitted, because not all of its parts were read again.
	heldBack time.Time
	// lost and gained: children have left, or come, since the lock that it is, or is a part of, was last emitted.
	lost, gained bool

	folded bool // its parts are no locks themselves
	// queue is the czxid of the queue that Curator's permits were last seen beside; another may be a mutex's.
	// 0: none was.
	queue   int64
	decided bool // whether they are is known
	pending bool // something of it that came, or changed, since that was decided has not been read
	joined  bool // a part: its base was decided with it
	gone    bool // it is being forgotten

	// Locks without a queue; see single.go.
	single bool
	alone  bool
	seen   bool            // its Stat was read, once
	unread int32           // children of which it was not
	leaves map[string]bool // children that are ephemeral and no contenders
	lone   *dir            // the child that is alone, and so a lock
	freed  *dir            // the one that there was

	access map[string]accessList // of its contenders' nodes, by path; nil: nobody looks so closely
	lease  *inspect.Znode        // the newest node of a lease that was read
	reread map[string]bool       // children whose data changed, or may have

	readAt  time.Time
	sentAt  time.Time // when the list that was read at readAt was asked for
	recheck time.Time // a list asked for after this is emitted even when nothing changed; zero: only changes are
	triedAt time.Time // when it was polled, or could not be read

	busy    bool // a Stat or a list is queued or on its way
	again   bool // it changed meanwhile
	answers bool // the list on its way answers an event
	// secretive: it has nodes that may not be read, of which servers may not report anything.
	secretive bool
	polled    bool      // no watch reports its changes
	firedAt   time.Time // when its watch fired, until it was listed
	relists   *bucket   // nil: it was never listed again
	due       time.Time // when it may be listed again; zero: it need not
}

// adopt takes a new list of children and returns what changed.
func (d *dir) adopt(names []string, stat *zk.Stat, at time.Time) (added, removed []string) {
	if d.czxid != stat.Czxid { // it was deleted and made again: same names mean nothing
		d.forget()
		d.judged, d.lease, d.folded, d.queue = false, nil, false, 0
		d.dataStale = d.dataStale || d.dataRead
	}
	d.czxid, d.pzxid, d.ctime, d.count, d.created, d.readAt = stat.Czxid, stat.Pzxid, stat.Ctime, stat.NumChildren, creations(stat), at
	d.aversion = stat.Aversion
	added, removed = d.list(names)
	for _, name := range removed {
		delete(d.reread, name)
	}
	return added, removed
}

// isAnother reports whether a node is another than the one that was read by that name, which is gone: an
// ephemeral one in place of a directory, or the reverse. What it is in was listed too late to show it.
func (d *dir) isAnother(stat *zk.Stat) bool {
	if stat.EphemeralOwner != 0 {
		return !d.readAt.IsZero()
	}
	return d.phase == leaf && !d.root
}

// creations counts the children ever created in a directory; 0 where the count no longer fits its Stat.
func creations(stat *zk.Stat) int64 {
	if stat.Cversion < 0 {
		return 0
	}
	return (int64(stat.Cversion) + int64(stat.NumChildren)) / 2
}

// keep remembers a child that was read; without a Stat, one that could not be.
func (d *dir) keep(name string, data []byte, stat *zk.Stat, sealed bool) *node {
	n := d.children.keep(name, data, stat, sealed)
	if z := n.znode(name); z.IsLease() {
		d.lease = &z
	}
	return n
}

// znode is a node that was read, or, without a Stat, one that could not be. sealed: its data may not be read.
func znode(name string, data []byte, stat *zk.Stat, sealed bool) inspect.Znode {
	if stat == nil {
		return inspect.Znode{Name: name}
	}
	return inspect.Znode{
		Name: name, Known: true, Sealed: sealed, Data: slices.Clone(data[:min(len(data), maxData)]),
		Czxid: stat.Czxid, Version: stat.Version, EphemeralOwner: stat.EphemeralOwner,
		Created: time.UnixMilli(stat.Ctime), Modified: time.UnixMilli(stat.Mtime),
	}
}

// wanted are the contenders that are not read yet, or not since their data changed, and should be: all of
// them where they are read together, else in the order of the queue, of a long one the first unless it is to
// be full.
func (d *dir) wanted(together, full bool) []recipe.Entry {
	var entries []recipe.Entry
	if together { // their order does not matter, and those that are read need not be parsed
		entries = d.unreadContenders()
	} else {
		_, entries = recipe.Read(d.names)
		if !full {
			entries = entries[:min(len(entries), fullQueue)]
		}
		entries = slices.DeleteFunc(entries, func(e recipe.Entry) bool { return !d.mayWant(d.find(e.Name), e.Name) })
	}
	if d.wantsLease() {
		entries = append(entries, recipe.Entry{Name: recipe.LeaseNode})
	}
	return entries
}

// unreadContenders are those that are to be read, in the order of their names.
func (d *dir) unreadContenders() (entries []recipe.Entry) {
	for i, name := range d.names {
		if !d.mayWant(d.at(i), name) {
			continue
		}
		if e, ok := recipe.Parse(name); ok {
			if entries == nil {
				entries = make([]recipe.Entry, 0, len(d.names)-i) // mostly the others are, too
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// mayWant reports whether a child would be read if it is a contender.
func (d *dir) mayWant(n *node, name string) bool {
	return !(n.read() && !d.reread[name] || n != nil && n.is&nodeAwaited != 0)
}

// judge makes the directory's lock anew, its parts folded in, with what is unseen of it. It returns nil when
// it is none, and whether it changed.
func (d *dir) judge(id inspect.ID, named bool, now time.Time, unseen []inspect.Unseen) (lock *inspect.Lock, changed bool) {
	lock, folded := d.lock(id, now)
	d.foldedIs(folded)
	if lock == nil {
		if d.reported == nil && !named {
			return nil, false
		}
		lock = d.free(id)
	}
	lock.Unseen, lock.Polled = unseen, d.polled
	for _, part := range d.parts {
		lock.Polled = lock.Polled || part.polled
	}
	d.accessOn(lock)
	return lock, d.report(lock)
}

// foldedIs takes in whether the directory was a semaphore now. One that was goes on to be one, while nobody
// is in it, as long as a part of it is there that was one then.
func (d *dir) foldedIs(folded bool) {
	leases, locks := d.parts[recipe.CuratorLeases], d.parts[recipe.CuratorLocks]
	if folded && leases != nil && locks != nil {
		d.queue = locks.czxid
	}
	made := leases == nil && locks != nil && locks.czxid != d.queue && d.parts[recipe.KazooQueue(d.path)] == nil
	d.folded = folded || d.folded && len(d.parts) > 0 && !made
}

// lock makes the directory's lock of what was read; nil when it is none, or was one and nobody is in it.
// Leases are judged at now.
func (d *dir) lock(id inspect.ID, now time.Time) (lock *inspect.Lock, folded bool) {
	memory := znodes.Get().(*[]inspect.Znode)
	whole := d.directory(now, (*memory)[:0])
	lock, folded = whole.Lock(id, d.newest())
	clear(whole.Children)
	*memory = whole.Children
	znodes.Put(memory)
	if lock == nil && d.single {
		lock = inspect.NodeLock(id, d.own(), d.alone, now)
	}
	return lock, folded
}

// own is the directory's own node as it was read; the zero Znode where it was not.
func (d *dir) own() inspect.Znode {
	if d.self == nil {
		return inspect.Znode{}
	}
	return *d.self
}

// znodes are memory for what a lock is made of, which has no part of it: there are as many as contenders.
var znodes = sync.Pool{New: func() any { return new([]inspect.Znode) }}

// directory is all that was read of the directory, its children in memory that is given.
func (d *dir) directory(now time.Time, memory []inspect.Znode) inspect.Directory {
	whole := inspect.Directory{Children: d.shown(memory), Created: d.created, Data: d.own().Data, Lease: d.lease, Now: now}
	if len(d.parts) > 0 {
		whole.Parts = make(map[string][]inspect.Znode, len(d.parts))
		for place, part := range d.parts {
			whole.Parts[place] = part.shown(nil)
		}
		// The permits of Curator's are in a container, which a server removes when it finds it empty, between
		// one permit and the next.
		if _, there := whole.Parts[recipe.CuratorLeases]; !there && d.folded && d.parts[recipe.CuratorLocks] != nil && d.parts[recipe.CuratorLocks].czxid == d.queue {
			whole.Parts[recipe.CuratorLeases] = nil
		}
	}
	return whole
}

// newest returns the last time that the directory or one of its parts was read.
func (d *dir) newest() time.Time {
	at := d.readAt
	for _, part := range d.parts {
		if part.readAt.After(at) {
			at = part.readAt
		}
	}
	return at
}

// listedSince reports whether the directory and its parts were asked for after an instant.
func (d *dir) listedSince(at time.Time) bool {
	for _, part := range d.parts {
		if !part.sentAt.After(at) {
			return false
		}
	}
	return d.sentAt.After(at)
}

// hide makes the directory's lock one of which nothing is known, and says why. What it was before stays known.
func (d *dir) hide(id inspect.ID, named bool, why []inspect.Unseen) (lock *inspect.Lock, changed bool) {
	if d.reported == nil && !named {
		return nil, false
	}
	lock = d.free(id)
	lock.ReadAt, lock.State, lock.Unseen, lock.Polled = d.tried(), inspect.StateUnknown, why, true
	return lock, d.report(lock)
}
