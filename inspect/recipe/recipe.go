// Package recipe knows how client libraries write their locks on a server: names, values and which
// contender blocks which. It only parses and builds them. It is a leaf under both the reading side
// (inspect) and the lock package (lockops). Its tables are queues (znodes), shapes (structured
// keys) and the catalogue (single strings and znodes).
package recipe

import (
	"slices"
	"sync"
)

// Mode of a contender: whether it shares the lock with others.
type Mode uint8

// The modes of a contender.
const (
	Exclusive Mode = iota
	Shared
)

// Role of a contender's znode in its lock.
type Role uint8

// The roles of a contender.
const (
	Plain     Role = iota // a lock
	ReadWrite             // a lock with readers, as for any Shared entry
	Candidate             // leadership
	Lease                 // a semaphore's permit
)

// Entry is one contender's znode, parsed.
type Entry struct {
	Name     string
	Sequence int32
	// Unnumbered is set if the server gave it no number, so that Sequence is meaningless.
	Unnumbered bool
	Mode       Mode
	Role       Role
	// Recipe is the library that writes such names.
	Recipe string
	// Confidence grades the name, which proves a contender only if it is Certain. Others must be
	// seen to be ephemeral.
	Confidence Confidence
	// Live is set if its data holds its state and may change.
	Live bool
	// Session that owns the node and Czxid of the node, filled in by the reader; 0 is unknown.
	Session, Czxid int64
	// Index among the children that Read was given.
	Index int
}

// Queue describes the form of one library's locks as directories of znodes.
type Queue struct {
	// Name of the recipe as the command line and its JSON spell it.
	Name string
	// Certain means that no other library writes names of this shape.
	Certain bool
	// Parse reads one child's name; false for a child that is not a contender of this recipe.
	Parse func(child string) (Entry, bool)
	// Prefix builds the name that an exclusive contender asks the server to number; nil if the recipe is only
	// read. guid is 32 lower-case hex digits; recipes that have no place for it ignore it and report CarriesGUID
	// false.
	Prefix func(guid string) string
	// ReadPrefix and WritePrefix are the same for the contenders of a read-write lock; nil if the recipe has none.
	ReadPrefix, WritePrefix func(guid string) string
	CarriesGUID             bool
	// Owner reads a contender's data: the host that the library wrote, and the label that its user chose.
	Owner func(e Entry, data []byte) (host, label string)
	// Proof grades a contender by its node, whose session is known. It is Certain if only this
	// library can have made it, empty if another did, and otherwise as certain as the name. sealed
	// means that the data may not be read. A nil Proof means that the name says all.
	Proof func(e Entry, data []byte, sealed bool) Confidence
	// readerWatches says which earlier write a reader watches.
	readerWatches writer
}

func labelOnly(_ Entry, data []byte) (host, label string) {
	if t, ok := lockscopeToken("", string(data)); ok { // package lockops, where a name has no GUID
		return "", t.Label
	}
	return ownerIn(data)
}

type writer uint8

const (
	nearestWrite writer = iota // kazoo, madelson, the ZooKeeper recipes page
	firstWrite                 // Curator
)

// Queues returns the queue recipes in the order in which they are tried, the most certain first.
func Queues() []Queue { return slices.Clone(queues()) }

// queues are made once, since every node name that is read is matched against them. They must not
// be modified.
var queues = sync.OnceValue(func() []Queue {
	return []Queue{
		curator(), kazoo(), goZooKeeper(), accumulo(), zooKeeperRecipes(), hbase(), hive(), solr(), madelson(),
		zkRuby(), sequential(),
	}
})

// QueueByName finds a recipe of a queue; false if no recipe has that name.
func QueueByName(name string) (Queue, bool) {
	all := queues()
	for i := range all {
		if all[i].Name == name {
			return all[i], true
		}
	}
	return Queue{}, false
}

// Proves reports whether only one recipe writes such names, which proves a contender.
func Proves(child string) bool {
	e, ok := Parse(child)
	return ok && e.Confidence == Certain
}

// Contends reports whether such a name may be a contender's.
func Contends(child string) bool {
	_, ok := Parse(child)
	return ok
}

// Parse asks the recipes about a name, the surest first; false if none knows it. Read also
// recognises names that mean something only next to others.
func Parse(child string) (Entry, bool) {
	all := queues()
	for i := range all {
		if e, ok := all[i].Parse(child); ok {
			e.Name, e.Recipe = child, all[i].Name
			return e, true
		}
	}
	return Entry{}, false
}

// Read parses the children that may be contenders, each by the surest recipe that knows its name.
// It returns them in queue order, and the recipe that wrote most of them. On a tie it returns the
// surer one.
func Read(children []string) (Queue, []Entry) {
	var entries []Entry
	for i, c := range children {
		if e, ok := Parse(c); ok {
			if entries == nil {
				entries = make([]Entry, 0, len(children)-i) // usually the others are entries, too
			}
			e.Index = i
			entries = append(entries, e)
		}
	}
	guessModes(entries)
	Sort(entries)
	return Writer(entries), entries
}

// Proved grades an entry by its node, whose session is known; see Queue.Proof.
func Proved(e Entry, data []byte, sealed bool) Confidence {
	all := queues()
	for i := range all {
		if all[i].Name == e.Recipe && all[i].Proof != nil {
			return all[i].Proof(e, data, sealed)
		}
	}
	return e.Confidence
}

// Writer returns the recipe that wrote most of these entries; on a tie, the surer one.
func Writer(entries []Entry) Queue {
	var best Queue
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Recipe != entries[0].Recipe }) { // mostly
		if len(entries) > 0 {
			best, _ = QueueByName(entries[0].Recipe)
		}
		return best
	}
	counts := make(map[string]int, 2)
	for i := range entries {
		counts[entries[i].Recipe]++
	}
	for _, q := range queues() {
		if counts[q.Name] > counts[best.Name] {
			best = q
		}
	}
	return best
}

// Blocker returns the index of the entry that entry i waits for and watches by this recipe's
// rule. It returns -1 if nothing before i blocks it, so that i holds the lock. Entries must be in
// queue order.
func (q Queue) Blocker(entries []Entry, i int) int {
	switch {
	case entries[i].Role == Lease:
		return -1 // permits are counted, not ordered
	case entries[i].Mode == Exclusive:
		return i - 1
	}
	found := -1
	for j := range i {
		if entries[j].Mode == Exclusive {
			found = j
			if q.readerWatches == firstWrite {
				break
			}
		}
	}
	if q.reenters(entries, i) {
		return -1
	}
	return found
}

// reenters reports whether a reader behind a write holds anyway, since its own client holds that
// write. Curator lets the thread that writes read at once. Since 5.5 such a reader has the write's
// own number, as a reader of package lockops has with any recipe. Before 5.5 it queued, and looks
// like a waiting reader of another thread (InterProcessReadWriteLock.getSortingSequence,
// CURATOR-621).
func (q Queue) reenters(entries []Entry, i int) bool {
	first, e := &entries[0], &entries[i]
	switch {
	case e.Mode != Shared || i == 0 || first.Mode != Exclusive || e.Session == 0 || e.Session != first.Session:
		return false
	case q.readerWatches == firstWrite:
		return first.Role == ReadWrite
	}
	return e.Sequence == first.Sequence
}

// Blocks counts, for every entry, the entries that cannot be granted before it leaves, directly or
// through others. An exclusive entry blocks all entries behind it that do not hold. A shared entry
// blocks the next exclusive entry and all behind that.
func (q Queue) Blocks(entries []Entry) []int {
	blocked := make([]int, len(entries))
	behind, fromWrite := 0, 0 // the waiters behind, and those from the next exclusive entry on
	for i := len(entries) - 1; i >= 0; i-- {
		waits := q.Blocker(entries, i) >= 0
		switch {
		case entries[i].Mode == Exclusive:
			blocked[i] = behind
		default:
			blocked[i] = fromWrite
		}
		if waits {
			behind++
		}
		if entries[i].Mode == Exclusive {
			fromWrite = behind
		}
	}
	return blocked
}
