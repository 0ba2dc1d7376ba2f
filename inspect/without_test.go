package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// named returns a lock whose queue has these sessions, the holder first.
func named(t *testing.T, path, sessions string) *Lock {
	t.Helper()
	var words []string
	for i, session := range strings.Fields(sessions) {
		words = append(words, fmt.Sprintf("KAZOO__lock__#%d/%s", i, session))
	}
	return directoryLock(ID{"zk", path}, children(t, strings.Join(words, " ")), now)
}

func TestOwnersOtherLocksAreFound(t *testing.T) {
	s := NewSnapshot(now, nil, []*Lock{named(t, "/a", "11 12"), named(t, "/b", "12 11"), named(t, "/c", "11"), named(t, "/d", "13 14")})
	a := s.Lock(ID{"zk", "/a"})
	holds, waits, known := s.Elsewhere(a.ID, &a.Holders[0])
	must.Equal(t, fmt.Sprint(holds, waits, known), "[zk:/c] [zk:/b] true")
	holds, waits, known = s.Elsewhere(a.ID, &Contender{Name: "token"})
	must.Equal(t, fmt.Sprint(holds, waits, known), "[] [] false", "of an unknown owner")
}

func TestRightReleaseEndsDeadlock(t *testing.T) {
	for _, tt := range []struct {
		name      string
		locks     []string // as PATH: SESSIONS
		gone      int      // the place of a contender of /a
		now, then bool     // a deadlock now, and once the contender left and the next one holds /a
	}{
		{"two owners", []string{"/a: 11 12", "/b: 12 11"}, 0, true, false},
		{"its waiter goes", []string{"/a: 11 12", "/b: 12 11"}, 1, true, false},
		{"a third waits in front", []string{"/a: 11 13 12", "/b: 12 11", "/c: 12 13"}, 0, true, true},
		{"another waiter goes", []string{"/a: 11 12 13", "/b: 12 11"}, 2, true, true},
		{"none", []string{"/a: 11 12", "/b: 11 12"}, 0, false, false},
		{"elsewhere", []string{"/a: 13", "/b: 11 12", "/c: 12 11"}, 0, false, false},
	} {
		var locks []*Lock
		for _, words := range tt.locks {
			path, sessions, _ := strings.Cut(words, ": ")
			locks = append(locks, named(t, path, sessions))
		}
		s := NewSnapshot(now, nil, locks)
		a := s.Lock(ID{"zk", "/a"})
		before := outline(a)
		is, then := s.DeadlockWithout(a.ID, slices.Collect(a.Contenders)[tt.gone])
		must.True(t, is == tt.now && then == tt.then, tt.name, is, "then", then)
		must.Equal(t, outline(a), before, tt.name, "changed by the question")
		must.Equal(t, a.Holders[0].State, Holding, tt.name, "changed by the question")
	}
	is, then := NewSnapshot(now, nil, nil).DeadlockWithout(ID{"zk", "/a"}, &Contender{})
	must.True(t, !is && !then, "a deadlock of a missing lock")
}
