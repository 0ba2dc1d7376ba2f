package zksource

import (
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// dir is one directory that we walked, or one node that turned out to have no children of interest.
type dir struct {
	path  string
	depth int
	root  bool

	stated  bool // its Stat was read
	leaf    bool // ephemeral: it cannot have children
	absent  bool // a root that does not exist
	huge    bool // too many children to list
	denied  bool // we may not list it
	counted bool // among those that were looked at
	count   int32
	czxid   int64
	names   []string
	nodes   map[string]inspect.Znode
	waiting map[string]bool // children whose Get is on its way
	fresh   map[string]bool // those of them that came since the lock was last complete: not shown before they are read
	judged  bool            // once, with all that was wanted read
	lock    *inspect.Lock
	readAt  time.Time
	sentAt  time.Time // when the list that was read at readAt was asked for
	recheck time.Time // a list asked for after this is told even when nothing changed; zero: only changes are
	triedAt time.Time // when it was polled, or could not be read

	busy    bool // a Stat or a list is queued or on its way
	again   bool // it changed meanwhile
	live    bool // the list on its way answers an event
	watched bool
	firedAt time.Time // when its watch fired, until it was listed
	relists bucket
	due     time.Time // when it may be listed again; zero: it need not
}

// adopt takes a new list of children and returns what changed.
func (d *dir) adopt(names []string, stat *zk.Stat, at time.Time) (added, removed []string) {
	slices.Sort(names)
	if d.czxid != stat.Czxid { // it was deleted and made again: same names mean nothing
		d.nodes, d.waiting, d.fresh, d.judged = nil, nil, nil, false
	}
	old := d.names
	d.names, d.czxid, d.count, d.readAt = names, stat.Czxid, stat.NumChildren, at
	for len(old) > 0 || len(names) > 0 { // both are sorted
		switch {
		case len(old) == 0 || len(names) > 0 && names[0] < old[0]:
			added = append(added, names[0])
			names = names[1:]
		case len(names) == 0 || old[0] < names[0]:
			removed = append(removed, old[0])
			delete(d.nodes, old[0])
			delete(d.waiting, old[0])
			delete(d.fresh, old[0])
			old = old[1:]
		default:
			old, names = old[1:], names[1:]
		}
	}
	return added, removed
}

// drop forgets a child that turned out to be gone; false when it was not listed.
func (d *dir) drop(name string) bool {
	i, found := slices.BinarySearch(d.names, name)
	if found {
		d.names = slices.Delete(d.names, i, i+1)
		delete(d.nodes, name)
		delete(d.waiting, name)
		delete(d.fresh, name)
	}
	return found
}

// keep remembers a child that was read.
func (d *dir) keep(name string, data []byte, stat *zk.Stat) {
	if d.nodes == nil {
		d.nodes = map[string]inspect.Znode{}
	}
	z := inspect.Znode{Name: name}
	if stat != nil {
		z.Known, z.Data = true, slices.Clone(data[:min(len(data), maxData)])
		z.Czxid, z.Version, z.EphemeralOwner = stat.Czxid, stat.Version, stat.EphemeralOwner
		z.Created = time.UnixMilli(stat.Ctime)
	}
	d.nodes[name] = z
}

// wanted are the contenders that are not read yet and should be: all of them, or the first of a long queue.
func (d *dir) wanted(full bool) []string {
	q, ok := recipe.Detect(d.names)
	if !ok {
		return nil
	}
	entries := q.Entries(d.names)
	if !full && len(entries) > fullQueue {
		entries = entries[:fullQueue]
	}
	var names []string
	for _, e := range entries {
		if _, known := d.nodes[e.Name]; !known && !d.waiting[e.Name] {
			names = append(names, e.Name)
		}
	}
	return names
}

// await notes that a child is about to be read.
func (d *dir) await(name string) {
	if d.waiting == nil {
		d.waiting = map[string]bool{}
	}
	d.waiting[name] = true
}

// isContender says that a recipe, and nobody else, writes names like this. Any directory's name may end in ten digits:
// whether such a child is a contender shows when it is read.
func isContender(name string) bool {
	q, ok := recipe.Detect([]string{name})
	return ok && q.Certain
}

// judge makes the directory's lock anew. It returns nil when it is none, and whether it changed.
func (d *dir) judge(id inspect.ID, named bool) (lock *inspect.Lock, changed bool) {
	children := make([]inspect.Znode, 0, len(d.names))
	for _, name := range d.names {
		if z, ok := d.nodes[name]; ok {
			children = append(children, z)
		} else if !d.fresh[name] {
			children = append(children, inspect.Znode{Name: name})
		}
	}
	lock = inspect.DirectoryLock(id, children, d.readAt)
	if lock == nil || len(lock.Holders)+len(lock.Waiters) == 0 {
		if d.lock == nil && !named {
			return nil, false
		}
		lock = inspect.FreeDirectory(id, d.lock, d.readAt)
	}
	if d.lock != nil && sameLock(d.lock, lock) {
		return lock, false
	}
	d.lock = lock
	return lock, true
}

// hide makes the directory's lock one of which nothing is known, and says why. What it was before stays known.
func (d *dir) hide(id inspect.ID, named bool, why inspect.Finding) (lock *inspect.Lock, changed bool) {
	if d.lock == nil && !named {
		return nil, false
	}
	at := d.readAt
	if d.triedAt.After(at) {
		at = d.triedAt
	}
	lock = inspect.FreeDirectory(id, d.lock, at)
	lock.State, lock.Findings = inspect.StateUnknown, []inspect.Finding{why}
	if d.lock != nil && sameLock(d.lock, lock) {
		return lock, false
	}
	d.lock = lock
	return lock, true
}

// sameLock compares all but when they were read.
func sameLock(a, b *inspect.Lock) bool {
	return a.State == b.State && a.Kind == b.Kind && a.Recipe == b.Recipe && a.Confidence == b.Confidence &&
		a.Limit == b.Limit && slices.EqualFunc(a.Findings, b.Findings, sameFinding) &&
		slices.Equal(a.Holders, b.Holders) && slices.Equal(a.Waiters, b.Waiters)
}

func sameFinding(a, b inspect.Finding) bool { return a.Rule == b.Rule && a.Message == b.Message }
