package inspect

import (
	"fmt"
	"testing"

	"lockscope/inspect/recipe"
)

const guid = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"

func node(name string, session int64) Znode {
	return Znode{Name: name, Known: true, EphemeralOwner: session, Czxid: session, Created: now}
}

func TestDirectoryLockOrdersHoldersAndWaiters(t *testing.T) {
	l := DirectoryLock(ID{"zk", "/l"}, []Znode{
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
		if w.Owner.Session != int64(11+i) || w.Watches.Raw() != before || w.BlockedBelow != 1-i {
			t.Errorf("waiter %d: %+v", i, w)
		}
	}
}

func TestReadersHoldTogether(t *testing.T) {
	l := DirectoryLock(ID{"zk", "/l"}, []Znode{
		node(guid+"__rlock__0000000000", 10), node(guid+"__rlock__0000000001", 11),
		node(guid+"__lock__0000000002", 12), node(guid+"__rlock__0000000003", 13),
	}, now)
	if l.Kind != KindRW || len(l.Holders) != 2 || len(l.Waiters) != 2 {
		t.Fatalf("%s with %d holders, %d waiters", l.Kind, len(l.Holders), len(l.Waiters))
	}
}

func TestPlainSequentialNodesMustBeEphemeral(t *testing.T) {
	id := ID{"zk", "/queue"}
	if l := DirectoryLock(id, []Znode{node("item-0000000001", 0), node("item-0000000002", 0)}, now); l != nil {
		t.Errorf("persistent work items are taken for a lock: %+v", l)
	}
	l := DirectoryLock(id, []Znode{node("foo0000000001", 7), node("item-0000000000", 0)}, now)
	if l == nil || l.Recipe != "sequential" || l.Contention() != 1 || l.Confidence != recipe.Possible {
		t.Errorf("tutorial's lock: %+v", l)
	}
	if l := DirectoryLock(id, []Znode{node("config", 0)}, now); l != nil {
		t.Errorf("no contender at all: %+v", l)
	}
}
