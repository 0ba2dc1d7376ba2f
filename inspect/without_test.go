package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// named returns a queue of these sessions in any order.
func named(t *testing.T, path, sessions string) *Lock {
	t.Helper()
	var nodes []Znode
	for i, word := range strings.Fields(sessions) {
		nodes = append(nodes, node(fmt.Sprintf("%s__lock__%010d", guid, i), numberOf(t, word)))
	}
	return directoryLock(ID{"zk", path}, nodes, now)
}

func TestOwnersOtherLocksAreFound(t *testing.T) {
	s := NewSnapshot(now, nil, []*Lock{named(t, "/a", "11 12"), named(t, "/b", "12 11"), named(t, "/c", "11"), named(t, "/d", "13 14")})
	a := s.Lock(ID{"zk", "/a"})
	holds, waits, known := s.Elsewhere(a.ID, &a.Holders[0])
	if !known || !slices.Equal(holds, []ID{{"zk", "/c"}}) || !slices.Equal(waits, []ID{{"zk", "/b"}}) {
		t.Errorf("%v %v %v", holds, waits, known)
	}
	if holds, waits, known := s.Elsewhere(a.ID, &Contender{Name: "token"}); known || holds != nil || waits != nil {
		t.Errorf("of an unknown owner: %v %v %v", holds, waits, known)
	}
}

func TestRightReleaseEndsDeadlock(t *testing.T) {
	for _, tt := range []struct {
		name      string
		locks     map[string]string
		gone      func(a *Lock) *Contender // returns a contender of /a
		now, then bool
	}{
		{"two owners", map[string]string{"/a": "11 12", "/b": "12 11"}, func(a *Lock) *Contender { return &a.Holders[0] }, true, false},
		{"its waiter goes", map[string]string{"/a": "11 12", "/b": "12 11"}, func(a *Lock) *Contender { return &a.Waiters[0] }, true, false},
		{"a third waits in front", map[string]string{"/a": "11 13 12", "/b": "12 11", "/c": "12 13"}, func(a *Lock) *Contender { return &a.Holders[0] }, true, true},
		{"another waiter goes", map[string]string{"/a": "11 12 13", "/b": "12 11"}, func(a *Lock) *Contender { return &a.Waiters[1] }, true, true},
		{"none", map[string]string{"/a": "11 12", "/b": "11 12"}, func(a *Lock) *Contender { return &a.Holders[0] }, false, false},
		{"elsewhere", map[string]string{"/a": "13", "/b": "11 12", "/c": "12 11"}, func(a *Lock) *Contender { return &a.Holders[0] }, false, false},
	} {
		var locks []*Lock
		for path, words := range tt.locks {
			locks = append(locks, named(t, path, words))
		}
		s := NewSnapshot(now, nil, locks)
		a := s.Lock(ID{"zk", "/a"})
		contenders := a.Contention()
		if now, then := s.DeadlockWithout(a.ID, tt.gone(a)); now != tt.now || then != tt.then {
			t.Errorf("%s: %v, then %v", tt.name, now, then)
		}
		if a.Contention() != contenders || len(a.Holders) != 1 || a.Holders[0].State != Holding {
			t.Errorf("%s: the snapshot was changed: %+v", tt.name, a)
		}
	}
	if now, then := NewSnapshot(now, nil, nil).DeadlockWithout(ID{"zk", "/a"}, &Contender{}); now || then {
		t.Error("a deadlock of a missing lock")
	}
}
