package inspect

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

const guid = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"

func node(name string, session int64) Znode {
	return Znode{Name: name, Known: true, EphemeralOwner: session, Czxid: session, Created: now}
}

func directoryLock(id ID, children []Znode, readAt time.Time) *Lock {
	l, _ := Directory{Children: children}.Lock(id, readAt)
	return l
}

func TestDirectoryLockOrdersHoldersAndWaiters(t *testing.T) {
	l := directoryLock(ID{"zk", "/l"}, []Znode{
		node(guid+"__lock__0000000002", 12),
		node("README", 0),
		node(guid+"__lock__0000000000", 10),
		node(guid+"__lock__0000000001", 11),
	}, now)
	if l.Recipe != "kazoo" || l.Kind != KindMutex || l.State != StateContended || l.Confidence != recipe.Certain {
		t.Fatalf("lock %+v", l)
	}
	if len(l.Holders) != 1 || l.Holders[0].Owner.Session != 10 || l.Holders[0].BlockedBelow != 2 {
		t.Errorf("holders %+v", l.Holders)
	}
	for i, w := range l.Waiters {
		before := fmt.Sprintf("%s__lock__%010d", guid, i)
		if w.Owner.Session != int64(11+i) || w.Watches.Raw() != before || int(w.BlockedBelow) != 1-i {
			t.Errorf("waiter %d: %+v", i, w)
		}
	}
}

// A directory at the largest sequence number repeats it, so these nodes are ordered by czxid.
func TestEqualNumbersGoByCzxid(t *testing.T) {
	other := "f" + guid[1:]
	l := directoryLock(ID{"zk", "/l"}, []Znode{
		node(guid+"__lock__2147483647", 12), node(other+"__lock__2147483647", 10), node(guid+"__lock__2147483646", 11),
	}, now)
	if got := l.Holders[0].Owner.Session; got != 11 || len(l.Waiters) != 2 {
		t.Fatalf("held by session %d, %d waiters", got, len(l.Waiters))
	}
	if first, last := l.Waiters[0].Owner.Session, l.Waiters[1].Owner.Session; first != 10 || last != 12 {
		t.Errorf("sessions %d and %d wait in this order, want their order of creation", first, last)
	}
}

func TestReadersHoldTogether(t *testing.T) {
	l := directoryLock(ID{"zk", "/l"}, []Znode{
		node(guid+"__rlock__0000000000", 10), node(guid+"__rlock__0000000001", 11),
		node(guid+"__lock__0000000002", 12), node(guid+"__rlock__0000000003", 13),
	}, now)
	if l.Kind != KindRW || len(l.Holders) != 2 || len(l.Waiters) != 2 {
		t.Fatalf("%s with %d holders, %d waiters", l.Kind, len(l.Holders), len(l.Waiters))
	}
}

func TestPlainSequentialNodesMustBeEphemeral(t *testing.T) {
	id := ID{"zk", "/queue"}
	items := directoryLock(id, []Znode{node("item-0000000001", 0), node("item-0000000002", 0)}, now)
	must.Equal(t, items, nil, "persistent work items")
	l := directoryLock(id, []Znode{node("foo0000000001", 7), node("item-0000000000", 0)}, now)
	if l == nil || l.Recipe != "sequential" || l.Contention() != 1 || l.Confidence != recipe.Possible {
		t.Errorf("lock of a tutorial: %+v", l)
	}
	must.Equal(t, directoryLock(id, []Znode{node("config", 0)}, now), nil, "no contenders")
}

func TestOtherChildrenAreNamed(t *testing.T) {
	children := []Znode{node(guid+"__lock__0000000000", 10), node("_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lock-0000000001", 11)}
	for i := range 20 {
		children = append(children, node(fmt.Sprintf("note-%02d", i), 0))
	}
	children = append(children, node(guid+"__lock__0000000002", 0), node("item-0000000003", 0))
	l := directoryLock(ID{"zk", "/l"}, children, now)
	if len(l.Aliens) != 16 || l.Aliens[0] != "item-0000000003" || l.Aliens[15] != "note-14" {
		t.Errorf("aliens %v", l.Aliens)
	}
	if l.Recipe != "kazoo" || l.Waiters[0].Recipe != "curator" || l.Holders[0].Recipe != "" || l.Waiters[0].Persistent || !l.Waiters[1].Persistent {
		t.Errorf("%+v", l)
	}
}

func TestUnwatchedSequentialNodesAreARegistry(t *testing.T) {
	id := ID{"zk", "/services"}
	read := func(at time.Duration) *Lock {
		return directoryLock(id, []Znode{node("s-0000000000", 1), node("s-0000000001", 2), node("s-0000000002", 3)}, now.Add(at))
	}
	for _, tt := range []struct {
		name   string
		table  map[string][]int64
		second Confirmation
		third  Confirmation
	}{
		{"no watches", nil, Unconfirmed, Unconfirmed},
		{"a stranger watches", map[string][]int64{"/services/s-0000000000": {99}, "/services": {1}}, Unconfirmed, Unconfirmed},
		{"a node watches itself", map[string][]int64{"/services/s-0000000001": {2}}, Unconfirmed, Unconfirmed},
		{"they watch each other", map[string][]int64{"/services/s-0000000000": {2}}, Confirmed, Missing},
	} {
		before, after := read(0), read(2*time.Second)
		confirmWatches(before, &WatchTable{Backend: "zk", ReadAt: now.Add(time.Second), Sessions: tt.table})
		carry(before, after, 0, false)
		if after.Waiters[0].Watch != tt.second || after.Waiters[1].Watch != tt.third {
			t.Errorf("%s: %v, %v", tt.name, after.Waiters[0].Watch, after.Waiters[1].Watch)
		}
	}
}

// Numbered nodes that no session owns are a lock only if a name says so.
func TestKeptNodesNeedANameOfALock(t *testing.T) {
	for path, want := range map[string]bool{"/app/lock": true, "/app/orders": false} {
		l := directoryLock(ID{"zk", path}, []Znode{node("n-0000000000", 0)}, now)
		must.Equal(t, l != nil, want, path)
	}
	must.True(t, directoryLock(ID{"zk", "/app/orders"}, []Znode{node("lock-0000000000", 0)}, now) != nil, "a node's name")
}

func TestPlainReadersAndAnotherLibrarysData(t *testing.T) {
	l := directoryLock(ID{"zk", "/l"}, []Znode{node("read-0000000000", 1), node("read-0000000001", 2), node("write-0000000002", 3)}, now)
	if l.Recipe != "madelson" || l.Confidence != recipe.Possible || l.Kind != KindRW || len(l.Holders) != 2 {
		t.Errorf("%+v", l)
	}
	labelled := node("read-0000000000", 1)
	labelled.Data = []byte("web-1")
	l = directoryLock(ID{"zk", "/l"}, []Znode{labelled, node("read-0000000001", 2), node("write-0000000002", 3)}, now)
	if l.Recipe != "sequential" || l.Kind != KindRW || len(l.Holders) != 2 || l.Holders[0].Owner.Label != "web-1" {
		t.Errorf("%+v", l)
	}
}

func FuzzDirectory(f *testing.F) {
	f.Add(guid, "1", "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lease-0000000000", "lock--2147483648", int64(1), int64(2))
	f.Fuzz(func(t *testing.T, a, data, b, c string, one, two int64) {
		children := []Znode{node(a, one), node(b, two), {Name: c}}
		parts := map[string][]Znode{"leases": {node(b, two), node(c, one)}, "locks": {node(c, one)}, "../l-__lock__": {node(a, one)}}
		for _, d := range []Directory{{Children: children}, {Children: children, Data: []byte(data), Parts: parts}, {Data: []byte(data), Parts: parts}} {
			if l, _ := d.Lock(ID{"zk", "/l"}, now); l != nil && (l.Contention() == 0) != (l.State == StateFree || l.State == StateUnknown) {
				t.Errorf("%+v", l)
			}
		}
		NodeLock(ID{"zk", "/" + a}, node(b, one), true, now)
	})
}

// A directory whose path suggests an election is one, whatever library queues there.
func TestElectionsByTheirPath(t *testing.T) {
	candidate := []Znode{node(guid+"__lock__0000000011", 11), node(guid+"__lock__0000000012", 12)}
	for path, want := range map[string]Kind{"/app/leader": KindElection, "/app/leader-election": KindElection, "/app/orders": KindMutex, "/leaderboard": KindMutex} {
		if l := directoryLock(ID{"zk", path}, candidate, now); l == nil || l.Kind != want {
			t.Errorf("%s: %+v, want %s", path, l, want)
		}
	}
	must.Equal(t, directoryLock(ID{"zk", "/app/leader"}, candidate, now).KindConfidence, recipe.Possible)
	readers := []Znode{node(guid+"__rlock__0000000011", 11)}
	must.Equal(t, directoryLock(ID{"zk", "/app/leader"}, readers, now).Kind, KindRW, "kind of a lock with readers")
}

// Curator's LeaderLatch has its own node name. A LeaderSelector uses a mutex's node name, and
// without an id also its data.
func TestCuratorsElections(t *testing.T) {
	const protected = "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-"
	of := func(token string, data []byte) []Znode {
		return []Znode{{Name: protected + token + "0000000001", Known: true, Data: data, EphemeralOwner: 7, Created: now}}
	}
	for name, tt := range map[string]struct {
		nodes []Znode
		kind  Kind
		sure  recipe.Confidence
	}{
		"a latch":               {of("latch-", []byte("id")), KindElection, recipe.Certain},
		"a revocable mutex":     {of("lock-", []byte{}), KindMutex, ""},
		"a mutex":               {of("lock-", []byte("10.0.0.1")), KindMutex, ""},
		"a selector with an id": {of("lock-", []byte("worker-1")), KindMutex, ""},
		"a writer":              {of("__WRIT__", []byte{}), KindRW, ""},
	} {
		l := directoryLock(ID{"zk", "/app/jobs"}, tt.nodes, now)
		if l == nil || l.Kind != tt.kind || l.KindConfidence != tt.sure {
			t.Errorf("%s: %+v, want %s (%s)", name, l, tt.kind, tt.sure)
		}
	}
}
