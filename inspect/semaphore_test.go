package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

const curatorID = "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-"

// curatorNode is a Curator node with its own czxid.
func curatorNode(kind string, n int, session, czxid int64) Znode {
	z := node(fmt.Sprintf("%s%s%010d", curatorID, kind, n), session)
	z.Czxid, z.Data = czxid, []byte("10.0.0.7")
	return z
}

func names(cs []Contender) (list []string) {
	for _, c := range cs {
		list = append(list, fmt.Sprintf("%s %s/%s", c.State, c.Place, c.Name[min(len(c.Name), 40):]))
	}
	return list
}

func TestSemaphoreV2IsOneLock(t *testing.T) {
	id := ID{"zk", "/sem"}
	leases := []Znode{curatorNode("lease-", 0, 1, 10), curatorNode("lease-", 1, 2, 20)}
	locks := []Znode{curatorNode("lock-", 5, 3, 30), curatorNode("lock-", 6, 4, 40), curatorNode("lock-", 7, 1, 50)}
	parts := func(leases, locks []Znode) Directory {
		return Directory{
			Children: []Znode{node("leases", 0), node("locks", 0), node("notes", 0)},
			Parts:    map[string][]Znode{"leases": leases, "locks": locks},
		}
	}
	for _, tt := range []struct {
		name             string
		leases, locks    []Znode
		holders, waiters []string
		limit            int
		state            State
	}{
		{"held", leases, nil, []string{"holding leases/lease-0000000000", "holding leases/lease-0000000001"}, nil, 0, StateHeld},
		{
			"the head of the queue has not made its lease yet", leases, locks[:1],
			[]string{"holding leases/lease-0000000000", "holding leases/lease-0000000001"},
			[]string{"waiting locks/lock-0000000005"},
			0, StateContended,
		},
		{
			"a pending lease", append(slices.Clone(leases), curatorNode("lease-", 2, 3, 35)), locks,
			[]string{"holding leases/lease-0000000000", "holding leases/lease-0000000001"},
			[]string{"pending leases/lease-0000000002", "waiting locks/lock-0000000006", "waiting locks/lock-0000000007"},
			2, StateContended,
		},
		{
			"a lease that is older than its session's place in the queue is held", append(slices.Clone(leases), curatorNode("lease-", 2, 3, 25)), locks[:1],
			[]string{"holding leases/lease-0000000000", "holding leases/lease-0000000001", "holding leases/lease-0000000002"},
			[]string{"waiting locks/lock-0000000005"},
			0, StateContended,
		},
		{"the first of all", []Znode{curatorNode("lease-", 0, 3, 35)}, locks[:1], []string{"holding leases/lease-0000000000"}, nil, 0, StateHeld},
	} {
		l, folded := parts(tt.leases, tt.locks).Lock(id, now)
		if l == nil || !folded || l.Kind != KindSemaphore || l.Recipe != "curator" || l.Confidence != recipe.Certain {
			t.Fatalf("%s: %+v", tt.name, l)
		}
		if !slices.Equal(names(l.Holders), tt.holders) || !slices.Equal(names(l.Waiters), tt.waiters) || l.Limit != tt.limit || l.State != tt.state {
			t.Errorf("%s: limit %d, %s, holders %v, waiters %v", tt.name, l.Limit, l.State, names(l.Holders), names(l.Waiters))
		}
		must.Same(t, l.Aliens, []Untrusted{"notes"}, tt.name, "aliens")
	}
	l, _ := parts(append(slices.Clone(leases), curatorNode("lease-", 2, 3, 35)), locks).Lock(id, now)
	if w := l.Waiters[1]; l.Node(&w) != "/sem/locks/"+locks[1].Name || l.Predecessor(&w) != "/sem/locks/"+locks[0].Name || w.Owner.Host != "10.0.0.7" {
		t.Errorf("waiter %+v", w)
	}
	if l, folded := (Directory{Parts: map[string][]Znode{"locks": locks}}).Lock(id, now); l != nil || folded {
		t.Errorf("a directory of locks recognized as a semaphore: %+v", l)
	}
	if l, folded := (Directory{Children: locks, Parts: map[string][]Znode{"leases": leases}}).Lock(id, now); folded || l.Kind != KindMutex {
		t.Errorf("a mutex with another lock below: %+v", l)
	}
}

func TestKazooSemaphoreIsOneLock(t *testing.T) {
	id := ID{"zk", "/a/sem"}
	permit := func(digit string, session int64) Znode {
		return node(digit+guid[1:], session)
	}
	queued := func(n int, session int64) Znode {
		z := node(fmt.Sprintf("%s__lock__%010d", guid, n), session)
		z.Data = fmt.Appendf(nil, "b'worker-%d'", session)
		return z
	}
	d := Directory{
		Children: []Znode{permit("a", 2), permit("b", 1)}, Data: []byte("2"),
		Parts: map[string][]Znode{"../sem-__lock__": {queued(9, 4), queued(8, 3)}},
	}
	l, folded := d.Lock(id, now)
	if l == nil || !folded || l.Kind != KindSemaphore || l.Recipe != "kazoo" || l.Limit != 2 || l.Confidence != recipe.Certain {
		t.Fatalf("%+v", l)
	}
	if len(l.Holders) != 2 || l.Holders[0].Owner.Session != 1 || l.Holders[0].Sequential || len(l.Waiters) != 2 {
		t.Errorf("%+v", l)
	}
	first, second := l.Waiters[0], l.Waiters[1]
	if first.Owner.Label != "worker-3" || first.Watches != "" || l.Predecessor(&second) != "/a/sem-__lock__/"+first.Name.Raw() {
		t.Errorf("waiters %+v", l.Waiters)
	}
	for session := range int64(2) { // a client that has its permit is about to leave the queue
		head := queued(7, session+1)
		head.Czxid = 0
		d.Parts["../sem-__lock__"] = []Znode{queued(9, 4), head, queued(8, 3)}
		if l, _ := d.Lock(id, now); len(l.Waiters) != 2 || l.Waiters[0].Owner.Session != 3 {
			t.Errorf("%+v", l.Waiters)
		}
	}
	d.Parts = nil
	if l, _ := d.Lock(id, now); l == nil || l.Limit != 2 || l.Confidence != recipe.Likely {
		t.Errorf("without its queue: %+v", l)
	}
	d.Data = nil
	if l, _ := d.Lock(id, now); l != nil {
		t.Errorf("ephemeral nodes with GUIDs alone recognized as a semaphore: %+v", l)
	}
}

func TestMadelsonMarksPermitHolders(t *testing.T) {
	granted := func(n int, data string) Znode {
		z := node(fmt.Sprintf("semaphore-%010d", n), int64(n+1))
		z.Data = []byte(data)
		return z
	}
	l := directoryLock(ID{"zk", "/s"}, []Znode{granted(0, "ACQUIRED"), granted(1, "ACQUIRED"), granted(2, ""), granted(3, "")}, now)
	if l == nil || l.Kind != KindSemaphore || l.Recipe != "madelson" || l.Confidence != recipe.Likely || len(l.Holders) != 2 || len(l.Waiters) != 2 {
		t.Fatalf("%+v", l)
	}
	must.True(t, l.Waiters[0].Watches == "" && l.Waiters[1].Watches == "semaphore-0000000002", l.Waiters)
}

func TestSingleNodeCanBeALock(t *testing.T) {
	token := "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY="
	for _, tt := range []struct {
		path, data string
		session    int64
		alone      bool
		recipe     string
		state      State
	}{
		{"/app/leader", "node-1", 7, true, "ephemeral", StateHeld},
		{"/app/leader", "node-1", 7, false, "", ""},
		{"/app/leader", "node-1", 0, true, "", ""},
		{"/job", token, 7, false, "symfony", StateHeld},
		{"/app/job", token, 7, false, "", ""},
		{"/shedlock/job", "2999-01-01T00:00:00.123Z", 0, false, "shedlock", StateHeld},
		{"/shedlock/job", "2001-01-01T00:00:00Z", 0, false, "shedlock", StateFree},
		{"/shedlock/job", "", 0, false, "shedlock", StateHeld},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"32472144000000"}}`, 0, false, "helix", StateHeld},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"1000"}}`, 0, false, "helix", StateFree},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{}}`, 0, false, "helix", StateFree},
		{"/c/LOCK/RESOURCE/db", `{`, 0, false, "", ""},
		{"/c/LOCK/other/db", `{"id":"LOCK"}`, 0, false, "", ""},
	} {
		z := node("x", tt.session)
		z.Data = []byte(tt.data)
		l := NodeLock(ID{"zk", tt.path}, z, tt.alone, now)
		if (l == nil) != (tt.recipe == "") || l != nil && (l.Recipe != tt.recipe || l.State != tt.state) {
			t.Errorf("%+v: %+v", tt, l)
		}
	}
}

func TestUnreadChildrenMakeHolderUnknown(t *testing.T) {
	for _, tt := range []struct {
		children []string
		want     string
	}{
		{nil, "free []"},
		{[]string{"leases", "locks"}, "free []"},
		{[]string{"notes", "leases", "a"}, "unknown [a notes]"},
	} {
		var d Directory
		for _, name := range tt.children {
			d.Children = append(d.Children, Znode{Name: name})
		}
		l := d.Vacant(ID{"zk", "/a"}, nil, now)
		must.Equal(t, fmt.Sprint(l.State, " ", l.Aliens), tt.want)
	}
}
