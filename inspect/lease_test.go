package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// leaseNode is the node of a lease that ends so many seconds after now.
func leaseNode(holder string, czxid int64, seconds int) Znode {
	end := now.Add(time.Duration(seconds) * time.Second).UTC().Format("2006-01-02T15:04:05")
	n := node(recipe.LeaseNode, 0)
	n.Czxid, n.Data = czxid, fmt.Appendf(nil, `{"version": 1, "holder": %q, "end": %q}`, holder, end)
	return n
}

// leaseClient is a client's place in the queue of a lease.
func leaseClient(label string, number int) Znode {
	n := node(fmt.Sprintf("%s__lock__%010d", guid, number), int64(number))
	n.Data = []byte(label)
	return n
}

func TestALeaseAndItsQueueAreOneLock(t *testing.T) {
	held, over := leaseNode("a", 10, 60), leaseNode("a", 10, -1)
	unread := leaseClient("a", 3)
	unread.Known, unread.Data = false, nil
	ephemeral, garbage := held, held
	ephemeral.EphemeralOwner, garbage.Data = 7, []byte("a")
	for _, tt := range []struct {
		name     string
		children []Znode
		before   *Znode
		holders  string
		waiters  int
		state    State
	}{
		{"held", []Znode{held}, nil, "a", 0, StateHeld},
		{"over", []Znode{over}, nil, "", 0, StateFree},
		{"held, and others ask for it", []Znode{held, leaseClient("b", 3), leaseClient("c", 4)}, nil, "a", 2, StateContended},
		{"its holder is about to renew it, and is no waiter", []Znode{held, leaseClient("a", 3), leaseClient("c", 4)}, nil, "a", 1, StateContended},
		{"over, and somebody is about to take it", []Znode{over, leaseClient("b", 3)}, nil, "", 1, StateContended},
		{"its holder makes it anew", []Znode{leaseClient("a", 3)}, &held, "a", 0, StateHeld},
		{"somebody makes it anew, who was not read yet", []Znode{unread}, &held, "a", 1, StateContended},
		{"another makes it anew: it was over or deleted", []Znode{leaseClient("b", 3)}, &held, "", 1, StateContended},
		{"its former holder takes it again", []Znode{leaseClient("a", 3)}, &over, "", 1, StateContended},
	} {
		d := Directory{Children: slices.Clone(tt.children), Lease: tt.before, Now: now}
		l, folded := d.Lock(ID{"zk", "/lease"}, now.Add(-time.Hour))
		if l == nil || folded || l.Recipe != "kazoo" || l.Kind != KindMutex || l.Confidence != recipe.Certain || l.State != tt.state || len(l.Waiters) != tt.waiters {
			t.Errorf("%s: %+v", tt.name, l)
			continue
		}
		must.Equal(t, holdersOf(l), tt.holders, tt.name, "held by")
		if tt.holders != "" {
			h := l.Holders[0]
			if want := now.Add(time.Minute); !h.ExpiresAt.Equal(want.Truncate(time.Second)) || !h.Persistent || l.Node(&h) != "/lease/lease_holder" || int(h.BlockedBelow) != tt.waiters {
				t.Errorf("%s: holder %+v", tt.name, h)
			}
		}
	}
	for name, n := range map[string]Znode{"an ephemeral node": ephemeral, "data of another kind": garbage, "a node that was not read": {Name: recipe.LeaseNode}} {
		if l := directoryLock(ID{"zk", "/lease"}, []Znode{n, leaseClient("b", 3)}, now); l == nil || l.Holders[0].Owner.Label != "b" || len(l.Aliens) != 1 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := directoryLock(ID{"zk", "/lease"}, []Znode{garbage}, now); l != nil {
		t.Errorf("no lease: %+v", l)
	}
	if l := directoryLock(ID{"zk", "/lease"}, []Znode{held, node("notes", 0)}, now); l == nil || !slices.Equal(l.Aliens, []Untrusted{"notes"}) {
		t.Errorf("aliens: %+v", l)
	}
}

func holdersOf(l *Lock) (text string) {
	for i := range l.Holders {
		text += string(l.Holders[i].Owner.Label)
	}
	return text
}

func TestALeaseIsOneHoldFromItsFirstGrantToItsEnd(t *testing.T) {
	lock := func(second int, children ...Znode) *Lock {
		d := Directory{Children: children, Now: now.Add(time.Duration(second) * time.Second)}
		l, _ := d.Lock(ID{"zk", "/l"}, d.Now)
		return l
	}
	a := applying(t)
	a.send(0, Update{Backend: zkUp})
	a.reports(t)
	for _, tt := range []struct {
		what   string
		second int
		znodes []Znode
		want   []EventKind
	}{
		{"it is about to be taken", 1, []Znode{leaseClient("a", 1)}, []EventKind{EventAppeared, EventAcquired}},
		{"it is taken", 1, []Znode{leaseNode("a", 10, 10)}, nil},
		{"another asks", 2, []Znode{leaseNode("a", 10, 10), leaseClient("b", 2)}, []EventKind{EventWaiting}},
		{"and is refused", 2, []Znode{leaseNode("a", 10, 10)}, []EventKind{EventGone}},
		{"it is renewed", 5, []Znode{leaseNode("a", 20, 15)}, nil},
		{"its time is up", 15, []Znode{leaseNode("a", 20, 15)}, []EventKind{EventExpired}},
		{"another takes it", 20, []Znode{leaseNode("b", 30, 30), leaseClient("b", 3)}, []EventKind{EventAcquired}},
		{"and is done", 20, []Znode{leaseNode("b", 30, 30)}, nil},
		{"an operator deletes it, and c takes it", 21, []Znode{leaseNode("c", 40, 60)}, []EventKind{EventReleased, EventHandover}},
	} {
		a.send(tt.second, Update{Put: []*Lock{lock(tt.second, tt.znodes...)}})
		var kinds []EventKind
		for _, e := range a.events {
			kinds = append(kinds, e.Kind)
		}
		must.Same(t, kinds, tt.want, tt.what)
		a.publish()
	}
	h := a.history()
	if h.Grants != 3 || len(h.Recent) != 2 || h.Recent[0].Label != "a" || h.Recent[1].Label != "b" {
		t.Errorf("history %+v", h)
	}
}
