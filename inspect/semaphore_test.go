package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// A word of the expected queue is a place and the end of a name, and "pending" precedes a lease that is not granted.
func TestSemaphoreV2IsOneLock(t *testing.T) {
	const (
		leases = "CURATOR-lease-#0/1@10 CURATOR-lease-#1/2@20"
		locks  = "CURATOR-lock-#5/3@30 CURATOR-lock-#6/4@40=10.0.0.7 CURATOR-lock-#7/1@50"
	)
	semaphore := func(leases, locks string) (*Lock, bool) {
		d := Directory{Children: children(t, "leases locks notes"), Parts: map[string][]Znode{
			"leases": children(t, leases), "locks": children(t, locks),
		}}
		return d.Lock(ID{"zk", "/sem"}, now)
	}
	for _, tt := range []struct {
		name, leases, locks string
		limit               int
		state               State
		want                string
	}{
		{"held", leases, "", 0, StateHeld, "leases/0 leases/1"},
		{
			"the head of the queue has not made its lease yet", leases, "CURATOR-lock-#5/3@30",
			0, StateContended, "leases/0 leases/1 < locks/5",
		},
		{
			"a pending lease", leases + " CURATOR-lease-#2/3@35", locks,
			2, StateContended, "leases/0 leases/1 < pending leases/2 locks/6 locks/7",
		},
		{
			"a lease that is older than its session's place in the queue is held", leases + " CURATOR-lease-#2/3@25", "CURATOR-lock-#5/3@30",
			0, StateContended, "leases/0 leases/1 leases/2 < locks/5",
		},
		{"the first of all", "CURATOR-lease-#0/3@35", "CURATOR-lock-#5/3@30", 0, StateHeld, "leases/0"},
	} {
		l, folded := semaphore(tt.leases, tt.locks)
		must.True(t, folded, tt.name, "is several locks")
		must.Contain(t, outline(l), fmt.Sprintf("curator semaphore %s certain: ", tt.state), tt.name)
		var words []string
		for c := range l.Contenders {
			if len(l.Waiters) > 0 && c == &l.Waiters[0] {
				words = append(words, "<")
			}
			if c.State == Pending {
				words = append(words, "pending")
			}
			words = append(words, c.Place+"/"+c.Name[len(c.Name)-1:].Raw())
		}
		must.Equal(t, strings.Join(words, " "), tt.want, tt.name)
		must.Equal(t, l.Limit, tt.limit, tt.name, "limit")
		must.Same(t, l.Aliens, []Untrusted{"notes"}, tt.name, "aliens")
	}
	l, _ := semaphore(leases+" CURATOR-lease-#2/3@35", locks)
	w := &l.Waiters[1]
	must.Equal(t, l.Node(w), "/sem/locks/"+curatorID+"lock-0000000006")
	must.Equal(t, l.Predecessor(w), "/sem/locks/"+curatorID+"lock-0000000005")
	must.Equal(t, w.Owner.Host, "10.0.0.7")
	l, folded := Directory{Parts: map[string][]Znode{"locks": children(t, locks)}}.Lock(ID{"zk", "/sem"}, now)
	must.True(t, l == nil && !folded, "a directory of locks is recognized as a semaphore", l)
	l, folded = Directory{Children: children(t, locks), Parts: map[string][]Znode{"leases": children(t, leases)}}.Lock(ID{"zk", "/sem"}, now)
	must.True(t, l.Kind == KindMutex && !folded, "a mutex with another lock below", l)
}

func TestKazooSemaphoreIsOneLock(t *testing.T) {
	const queued = "KAZOO__lock__#9/4=b'worker-4' KAZOO__lock__#8/3=b'worker-3'"
	semaphore := func(permits, limit, queue string) *Lock {
		d := Directory{Children: children(t, permits), Data: []byte(limit), Parts: map[string][]Znode{}}
		if queue != "" {
			d.Parts["../sem-__lock__"] = children(t, queue)
		}
		l, folded := d.Lock(ID{"zk", "/a/sem"}, now)
		must.True(t, folded == (l != nil), "several locks", l)
		return l
	}
	permits := "a" + guid[1:] + "/2 b" + guid[1:] + "/1"
	for _, tt := range []struct{ name, permits, limit, queue, want string }{
		{"two hold, two wait", permits, "2", queued, "kazoo semaphore contended certain: 1 2 < worker-3 worker-4"},
		// a client that has its permit is about to leave the queue
		{"the first has its permit", permits, "2", "KAZOO__lock__#7/1@0 " + queued, "kazoo semaphore contended certain: 1 2 < worker-3 worker-4"},
		{"the first has the other permit", permits, "2", "KAZOO__lock__#7/2@0 " + queued, "kazoo semaphore contended certain: 1 2 < worker-3 worker-4"},
		{"without its queue", permits, "2", "", "kazoo semaphore held likely: 1 2"},
		{"nodes with GUIDs alone", permits, "", "", "none"},
		{"persistent nodes with GUIDs", guid, "2", "", "none"},
	} {
		must.Equal(t, outline(semaphore(tt.permits, tt.limit, tt.queue)), tt.want, tt.name)
	}
	l := semaphore(permits, "2", queued)
	first, second := &l.Waiters[0], &l.Waiters[1]
	must.True(t, l.Limit == 2 && !l.Holders[0].Sequential, l)
	must.Equal(t, first.Watches, "", "watched by the first")
	must.Equal(t, l.Predecessor(second), "/a/sem-__lock__/"+first.Name.Raw(), "watched by the second")
}

func TestMadelsonsWaitersWatchEachOther(t *testing.T) {
	l := lockOf(t, "semaphore-#0/1=ACQUIRED semaphore-#1/2= semaphore-#2/3=")
	must.Equal(t, l.Waiters[0].Watches, "", "watched by the first, which looks at the directory")
	must.Equal(t, l.Waiters[1].Watches, "semaphore-0000000001", "watched by the second")
}

func TestSingleNodeCanBeALock(t *testing.T) {
	token := "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY="
	for _, tt := range []struct {
		path, data string
		session    int64
		alone      bool
		want       string
	}{
		{"/app/leader", "node-1", 7, true, "ephemeral election (possible) held possible: node-1"},
		{"/app/job", "node-1", 7, true, "ephemeral mutex held possible: node-1"},
		{"/app/leader", "node-1", 7, false, "none"},
		{"/app/leader", "node-1", 0, true, "none"},
		{"/job", token, 7, false, "symfony mutex held likely: 7"},
		{"/app/job", token, 7, false, "none"},
		{"/shedlock/job", "2999-01-01T00:00:00.123Z", 0, false, "shedlock mutex held likely: 0"},
		{"/shedlock/job", "2001-01-01T00:00:00Z", 0, false, "shedlock mutex free likely:"},
		{"/shedlock/job", "", 0, false, "shedlock mutex held possible: 0"},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"32472144000000"}}`, 0, false, "helix mutex held likely: admin"},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"1000"}}`, 0, false, "helix mutex free likely:"},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{}}`, 0, false, "helix mutex free likely:"},
		{"/c/LOCK/RESOURCE/db", `{`, 0, false, "none"},
		{"/c/LOCK/other/db", `{"id":"LOCK"}`, 0, false, "none"},
	} {
		z := node("x", tt.session)
		z.Data, z.Modified = []byte(tt.data), now.Add(time.Second)
		l := NodeLock(ID{"zk", tt.path}, z, tt.alone, now)
		must.Equal(t, outline(l), tt.want, tt.path, tt.data)
		if l != nil && l.State == StateHeld {
			h := &l.Holders[0]
			kept := tt.session == 0
			must.Equal(t, h.Persistent, kept, tt.path, "is persistent")
			must.Equal(t, h.Since.After(now), kept, tt.path, "is held since it was last written")
		}
	}
	z := node("x", 7)
	z.Known = false
	must.Equal(t, NodeLock(ID{"zk", "/app/leader"}, z, true, now), nil, "a node that was only listed")
}

func TestUnreadChildrenMakeHolderUnknown(t *testing.T) {
	kazoo := &Lock{Kind: KindSemaphore, Recipe: "kazoo", Confidence: recipe.Certain, Limit: 3}
	for _, tt := range []struct {
		was         *Lock
		nodes, want string
	}{
		{nil, "", "unknown free possible: []"},
		{nil, "leases locks", "unknown free possible: []"},
		{nil, "notes leases a", "unknown unknown possible: [a notes]"},
		{kazoo, "notes", "kazoo semaphore free certain: []"},
		{kazoo, recipe.LeaseNode, "kazoo semaphore unknown certain: [" + recipe.LeaseNode + "]"},
	} {
		l := (&Directory{Children: children(t, tt.nodes)}).Vacant(ID{"zk", "/a"}, tt.was, now)
		must.Equal(t, fmt.Sprint(outline(l), " ", l.Aliens), tt.want, tt.nodes)
		must.True(t, tt.was == nil || l.Limit == tt.was.Limit, "limit", l.Limit)
	}
}
