package inspect

import (
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

const (
	// maxValue limits how many bytes of a value are shown and decoded.
	maxValue = 1 << 10
	// maxAliens limits a lock's list of children that are not contenders.
	maxAliens = 16
)

// Znode is one child of a lock directory as it was read.
type Znode struct {
	Name string
	// Known is false while only the child's name has been listed. Sealed means that everything but
	// its data could be read.
	Known, Sealed  bool
	Data           []byte
	Czxid          int64
	Version        int32
	EphemeralOwner int64
	// Created is when it was created, Modified when its data was last written, both by the
	// server's clock.
	Created, Modified time.Time
}

// Directory holds the data read from a lock directory.
type Directory struct {
	Children []Znode
	// Created counts the children ever created in it, which is also the server's next number. It is
	// half the sum of a Stat's cversion and numChildren (DataNode.copyStat). Zero means unknown.
	Created int64
	// Data of the directory itself; nil if it was not read.
	Data []byte
	// Parts are the children of its existing subdirectories named in recipe.Parts, by place.
	Parts map[string][]Znode
}

// Lock makes the lock of the directory; nil if no recipe recognises any of its children as a
// contender. Names alone prove a lock only for libraries with unique names. Otherwise at least one
// node must be known to be ephemeral. folded means that the lock is a semaphore that includes its
// Parts, which are then not separate locks.
func (d Directory) Lock(id ID, readAt time.Time) (l *Lock, folded bool) {
	own := readQueue(d.Children, d.Created)
	if l = curatorSemaphore(id, own, d); l == nil {
		l = kazooSemaphore(id, own, d)
	}
	if folded = l != nil; !folded {
		l = queueLock(id, own)
	}
	if l == nil {
		return d.keptLock(id, own, readAt), false
	}
	l.ReadAt = readAt
	l.State = queueState(l)
	return l, folded
}

// queue is a directory's children as seen by the recipes.
type queue struct {
	writer  recipe.Queue // the recipe of most entries
	entries []recipe.Entry
	nodes   []Znode // by name
	place   string  // of a part
}

// part is one of the directory's parts as seen by the recipes.
func (d *Directory) part(place string) queue {
	q := readQueue(d.Parts[place], 0)
	q.place = place
	return q
}

// readQueue accepts a name as a contender if a recipe proves it. It rejects other nodes known to
// be persistent, such as work items, unless a session owns another with the same prefix. It also
// rejects numbers that the server cannot have given: names of service members often end in a time
// or a port.
func readQueue(children []Znode, created int64) queue {
	q := queue{nodes: children}
	if !slices.IsSortedFunc(children, byName) { // a source gives them sorted
		q.nodes = slices.SortedFunc(slices.Values(children), byName)
	}
	names := each.Of(q.nodes, func(z Znode) string { return z.Name })
	q.writer, q.entries = recipe.Read(names)
	owned := q.prove()
	var foreign []string // prefixes of numbers that the server did not give
	for _, e := range q.entries {
		if e.Confidence != recipe.Certain && !numbered(e, created) {
			foreign = append(foreign, prefix(e))
		}
	}
	q.entries = slices.DeleteFunc(q.entries, func(e recipe.Entry) bool {
		if e.Confidence == recipe.Certain {
			return false
		}
		n := q.node(&e)
		if kept := n.Known && n.EphemeralOwner == 0 && !q.unread(e); kept && !owned[prefix(e)] {
			return true
		}
		return !e.Unnumbered && len(foreign) > 0 && slices.Contains(foreign, prefix(e))
	})
	if q.disordered() {
		q.entries = slices.DeleteFunc(q.entries,
			func(e recipe.Entry) bool { return e.Confidence == recipe.Possible && !e.Unnumbered })
	}
	q.writer = recipe.Writer(q.entries)
	return q
}

func byName(a, b Znode) int { return strings.Compare(a.Name, b.Name) }

// node returns the node of an entry.
func (q *queue) node(e *recipe.Entry) *Znode { return &q.nodes[e.Index] }

// leaveOut removes expected nodes from a queue without entries.
func (q *queue) leaveOut(names ...string) {
	q.nodes = slices.DeleteFunc(slices.Clone(q.nodes), func(z Znode) bool { return slices.Contains(names, z.Name) })
}

// prove grades the entries by their nodes' data. If a node shows that another library made it, the
// unproven entries of its recipe become plain sequential ones. It returns the name prefixes of
// entries that sessions own.
func (q *queue) prove() (owned map[string]bool) {
	var strange []string // recipes
	repeated := false    // numbers
	for i := range q.entries {
		e := &q.entries[i]
		n := q.node(e)
		e.Session, e.Czxid = n.EphemeralOwner, n.Czxid
		repeated = repeated || i > 0 && !e.Unnumbered && e.Sequence == q.entries[i-1].Sequence
		if !n.Known || e.Confidence == recipe.Certain {
			continue
		}
		if n.EphemeralOwner == 0 && owned == nil {
			owned = q.ownedPrefixes()
		}
		if c := recipe.Proved(*e, n.Data, n.Sealed); c != "" {
			e.Confidence = c
		} else {
			strange = append(strange, e.Recipe)
		}
	}
	if repeated {
		recipe.Sort(q.entries) // by what is now known about the nodes
	}
	for _, name := range slices.Compact(strange) {
		recipe.Generalise(q.entries, name)
	}
	return owned
}

// ownedPrefixes returns the name prefixes of entries that sessions own.
func (q *queue) ownedPrefixes() map[string]bool {
	owned := map[string]bool{}
	for i := range q.entries {
		if q.node(&q.entries[i]).EphemeralOwner != 0 {
			owned[prefix(q.entries[i])] = true
		}
	}
	return owned
}

// prefix is the part of an entry's name before its number.
func prefix(e recipe.Entry) string {
	before, _, _ := recipe.SplitSequence(e.Name)
	return before
}

// numbered reports whether the server can have given an entry its number after that many
// creations; zero means unknown. Numbers turn negative after the largest int32.
func numbered(e recipe.Entry, created int64) bool {
	switch {
	case e.Unnumbered || created == 0:
		return true
	case e.Sequence < 0:
		return created > math.MaxInt32
	}
	return int64(e.Sequence) < created
}

// disordered reports whether nodes that only their names mark as contenders were not created in
// the order of their numbers. Then no server gave the numbers.
func (q *queue) disordered() bool {
	var before recipe.Entry
	newest := int64(0)
	for _, e := range q.entries {
		n := q.node(&e)
		if e.Confidence != recipe.Possible || e.Unnumbered || n.Czxid == 0 {
			continue
		}
		if n.Czxid < newest && e.Sequence != before.Sequence {
			return true
		}
		before, newest = e, max(newest, n.Czxid)
	}
	return false
}

// proven reports whether at least one contender is certain, by its name or its session.
func (q *queue) proven() bool {
	return slices.ContainsFunc(q.entries, func(e recipe.Entry) bool {
		return e.Confidence == recipe.Certain || e.Session != 0 || q.unread(e)
	})
}

// unread reports whether an entry could be proven only by its data, which may not be read. Hive's
// explicit locks have no session.
func (q *queue) unread(e recipe.Entry) bool {
	return q.node(&e).Sealed && e.Recipe == "hive"
}

// queueLock makes a lock of the contenders in one directory; nil if there are no contenders.
func queueLock(id ID, q queue) *Lock {
	// They look like permits, but the directory is not a semaphore's.
	q.entries = slices.DeleteFunc(q.entries, func(e recipe.Entry) bool { return e.Unnumbered })
	if !q.proven() {
		return nil
	}
	q.writer = recipe.Writer(q.entries)
	l := q.lock(id)
	blocks := q.writer.Blocks(q.entries)
	wait := func(c Contender, most int) {
		if l.Waiters == nil {
			l.Waiters = make([]Contender, 0, most)
		}
		l.Waiters = append(l.Waiters, c)
	}
	for i, e := range q.entries {
		c := q.contender(e)
		c.BlockedBelow = int32(blocks[i])
		blocker := q.writer.Blocker(q.entries, i)
		switch {
		case e.Live && !recipe.Granted(q.node(&e).Data):
			c.State = Waiting
			if len(l.Waiters) > 0 { // the first of them looks at the whole directory
				c.Watches = Untrusted(q.entries[i-1].Name)
			}
			wait(c, len(q.entries)-i)
		case blocker >= 0:
			c.State = Waiting
			c.Watches = Untrusted(q.entries[blocker].Name)
			wait(c, len(q.entries)-i)
		default:
			c.State = Holding
			if first := q.entries[0]; e.Mode == recipe.Shared && first.Mode == recipe.Exclusive &&
				e.Sequence != first.Sequence {
				c.Reenters = Untrusted(first.Name)
			}
			l.Holders = append(l.Holders, c)
		}
		if e.Live && c.State == Holding && l.Confidence == recipe.Possible {
			l.Confidence = recipe.Likely // only this library marks granted entries
		}
	}
	if l.Kind == KindSemaphore {
		countBlocked(l)
	}
	l.Aliens = aliens(q)
	return l
}

// lock starts a lock with the facts that its contenders share.
func (q *queue) lock(id ID) *Lock {
	l := &Lock{ID: id, Kind: KindMutex, Recipe: q.writer.Name, Confidence: recipe.Possible}
	candidates := 0
	for _, e := range q.entries {
		switch e.Role {
		case recipe.Lease:
			l.Kind = KindSemaphore
		case recipe.ReadWrite:
			l.Kind = KindRW
		case recipe.Candidate:
			candidates++
		}
		if e.Recipe == q.writer.Name && l.Confidence != recipe.Certain && e.Confidence != recipe.Possible {
			l.Confidence = e.Confidence
		}
	}
	plain := l.Kind == KindMutex && q.writer.Name != "madelson"
	switch {
	case candidates == len(q.entries):
		l.Kind, l.KindConfidence = KindElection, l.Confidence
	case plain && recipe.ElectsByPath(id.Path):
		l.Kind, l.KindConfidence = KindElection, recipe.Possible
	case plain && mayQueueForPermits(id, l.Recipe):
		l.KindConfidence = recipe.Possible
	}
	return l
}

// mayQueueForPermits reports whether an apparent mutex may be the queue of a Curator semaphore. Its
// first user creates the directory of the permits after its entry here.
func mayQueueForPermits(id ID, recipeName string) bool {
	return recipeName == "curator" && path.Base(id.Path) == recipe.CuratorLocks
}

// keptLock makes a lock of numbered nodes that no session owns, if their names or the directory's
// name suggest a lock. Nothing shows which of them holds it. It returns nil for other directories.
func (d *Directory) keptLock(id ID, own queue, readAt time.Time) *Lock {
	named := recipe.NamesLock(path.Base(id.Path))
	for i := range own.nodes {
		n := &own.nodes[i]
		before, _, numbered := recipe.SplitSequence(n.Name)
		if numbered && n.Known && n.EphemeralOwner == 0 && (named || recipe.NamesLock(before)) {
			return d.Vacant(id, nil, readAt)
		}
	}
	return nil
}

// Vacant makes the lock of a directory without contenders. It is free if the directory is empty,
// or is known as a lock of some library. Its holder is unknown if it has children that are not
// contenders of a known library, or a kazoo lease. was, the lock as last seen, may be nil.
func (d *Directory) Vacant(id ID, was *Lock, readAt time.Time) *Lock {
	l := FreeDirectory(id, was, readAt)
	leased := slices.ContainsFunc(d.Children, func(z Znode) bool { return z.Name == recipe.LeaseNode })
	if l.Recipe != "" && !leased {
		return l
	}
	for i := range d.Children {
		name := d.Children[i].Name
		if name != recipe.CuratorLeases && name != recipe.CuratorLocks && len(l.Aliens) < maxAliens {
			l.State, l.Aliens = StateUnknown, append(l.Aliens, Untrusted(name))
		}
	}
	slices.Sort(l.Aliens)
	return l
}

// FreeDirectory makes the lock of a directory without contenders that had some when last seen, or
// that a user named. was may be nil.
func FreeDirectory(id ID, was *Lock, readAt time.Time) *Lock {
	l := &Lock{ID: id, Kind: KindUnknown, Confidence: recipe.Possible, State: StateFree, ReadAt: readAt}
	if was != nil {
		l.Kind, l.KindConfidence, l.Limit = was.Kind, was.KindConfidence, was.Limit
		l.Recipe, l.Confidence = was.Recipe, was.Confidence
	}
	return l
}

func queueState(l *Lock) State {
	switch {
	case len(l.Waiters) > 0:
		return StateContended
	case len(l.Holders) > 0:
		return StateHeld
	default:
		return StateFree
	}
}

// aliens returns the children that no recipe takes for contenders, the first few by name. Those in
// a part have its place before their name.
func aliens(queues ...queue) []Untrusted {
	var names []Untrusted
	for _, q := range queues {
		if len(q.entries) == len(q.nodes) {
			continue
		}
		taken := make(map[string]bool, len(q.entries))
		for _, e := range q.entries {
			taken[e.Name] = true
		}
		for i := range q.nodes {
			if name := q.nodes[i].Name; !taken[name] && name != recipe.LeaseNode {
				names = append(names, Untrusted(path.Join(q.place, name)))
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxAliens)]
}

func (q *queue) contender(e recipe.Entry) Contender {
	n, writer := q.node(&e), q.writer
	c := Contender{
		Name:       Untrusted(e.Name),
		Special:    Special{Place: q.place},
		Sequence:   e.Sequence,
		Sequential: !e.Unnumbered,
		Mode:       e.Mode,
		Count:      1,
		Since:      n.Created,
		Czxid:      n.Czxid,
		Version:    n.Version,
		Persistent: n.Known && n.EphemeralOwner == 0,
	}
	if e.Recipe != writer.Name {
		c.Recipe = e.Recipe
		writer, _ = recipe.QueueByName(e.Recipe)
	}
	c.Revocable = writer.Name == "curator" && (e.Role == recipe.Plain || e.Role == recipe.ReadWrite) &&
		n.Known && n.Data != nil && recipe.CuratorListens(n.Data)
	host, label := writer.Owner(e, n.Data[:min(len(n.Data), maxValue)]) // as its data says
	c.Owner = Owner{Session: n.EphemeralOwner, Process: Process{Host: Untrusted(host)}, Label: Untrusted(label)}
	return c
}

// Node is the path of a contender's znode.
func (l *Lock) Node(c *Contender) string { return path.Join(l.ID.Path, c.Place, c.Name.Raw()) }

// Watched reports whether the servers' watch tables can hold anything about the lock. Without
// waiters they can if its library checks whether the previous node exists, since that leaves a
// watch even on a missing node.
func (l *Lock) Watched() bool {
	return len(l.Waiters) > 0 || l.Recipe == "ephemeral" || slices.ContainsFunc(l.Holders, func(c Contender) bool {
		return c.Reenters != "" || c.Sequential && (l.Recipe == "zookeeper-recipes" || l.Recipe == "sequential")
	})
}

// Predecessor is the path of the znode that a waiter should watch, meaningful if Watches is not
// empty.
func (l *Lock) Predecessor(c *Contender) string {
	return path.Join(l.ID.Path, c.Place, c.Watches.Raw())
}
