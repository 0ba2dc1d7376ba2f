package inspect

import (
	"time"

	"lockscope/inspect/recipe"
)

// maxValue is how many bytes of a value are shown and decoded.
const maxValue = 1 << 10

// Znode is one child of a lock directory as it was read.
type Znode struct {
	Name string
	// Known is false for a child of which only the name was listed so far.
	Known          bool
	Data           []byte
	Czxid          int64
	Version        int32
	EphemeralOwner int64
	Created        time.Time
}

// DirectoryLock makes the lock of a ZooKeeper directory from its children; nil when no recipe recognises any of
// them as a contender. Names alone prove a lock only for libraries with names of their own; for plain sequential
// nodes at least one child must be known to be ephemeral.
func DirectoryLock(id ID, children []Znode, readAt time.Time) *Lock {
	names := make([]string, len(children))
	byName := make(map[string]*Znode, len(children))
	ephemeral := false
	for i := range children {
		c := &children[i]
		names[i], byName[c.Name] = c.Name, c
		ephemeral = ephemeral || c.EphemeralOwner != 0
	}
	q, ok := recipe.Detect(names)
	if !ok || !q.Certain && !ephemeral {
		return nil
	}
	entries := q.Entries(names)
	if !q.Certain {
		entries = ephemeralOnly(entries, byName)
	}
	l := &Lock{ID: id, Kind: KindMutex, Recipe: q.Name, Confidence: recipe.Certain, ReadAt: readAt}
	if !q.Certain {
		l.Confidence = recipe.Possible
	}
	blocks := recipe.Blocks(entries)
	for i, e := range entries {
		if e.Mode == recipe.Shared {
			l.Kind = KindRW
		}
		c := contender(q, e, byName[e.Name])
		c.BlockedBelow = blocks[i]
		if blocker := q.Blocker(entries, i); blocker >= 0 {
			c.State = Waiting
			c.Watches = Untrusted(entries[blocker].Name)
			l.Waiters = append(l.Waiters, c)
		} else {
			c.State = Holding
			l.Holders = append(l.Holders, c)
		}
	}
	l.State = queueState(l)
	return l
}

// FreeDirectory is the lock of a directory that has no contenders: one that held some when it was last seen, or
// that somebody named. was may be nil.
func FreeDirectory(id ID, was *Lock, readAt time.Time) *Lock {
	l := &Lock{ID: id, Kind: KindUnknown, Confidence: recipe.Possible, State: StateFree, ReadAt: readAt}
	if was != nil {
		l.Kind, l.Recipe, l.Confidence, l.Limit = was.Kind, was.Recipe, was.Confidence, was.Limit
	}
	return l
}

func queueState(l *Lock) State {
	switch {
	case len(l.Holders) == 0:
		return StateFree
	case len(l.Waiters) > 0:
		return StateContended
	default:
		return StateHeld
	}
}

// ephemeralOnly drops the nodes that are known to be persistent: in a directory of no known library they are work
// items of a queue or the like.
func ephemeralOnly(entries []recipe.Entry, nodes map[string]*Znode) []recipe.Entry {
	kept := entries[:0]
	for _, e := range entries {
		if n := nodes[e.Name]; !n.Known || n.EphemeralOwner != 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

func contender(q recipe.Queue, e recipe.Entry, n *Znode) Contender {
	return Contender{
		Name:       Untrusted(e.Name),
		Sequence:   e.Sequence,
		Sequential: true,
		Mode:       e.Mode,
		Count:      1,
		Since:      n.Created,
		Czxid:      n.Czxid,
		Version:    n.Version,
		Owner:      owner(q, n),
	}
}

// owner reads what a contender's data says of it, from at most its first KiB.
func owner(q recipe.Queue, n *Znode) Owner {
	host, label := q.Owner(n.Data[:min(len(n.Data), maxValue)])
	return Owner{Session: n.EphemeralOwner, Host: Untrusted(host), Label: Untrusted(label)}
}
