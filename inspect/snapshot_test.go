package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestTableKeepsOrderAndOldVersions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var tb table
	model := map[ID]*Lock{}
	var old table
	var oldLocks []*Lock
	for step := range 20000 {
		id := ID{"zk", fmt.Sprintf("/%d", random.IntN(3000))}
		if random.IntN(3) == 0 {
			tb.remove(id)
			delete(model, id)
		} else {
			l := &Lock{ID: id}
			tb.put(l)
			model[id] = l
		}
		if step == 10000 {
			old = tb.share()
			oldLocks = slices.Collect(old.all())
		}
	}
	got := slices.Collect(tb.all())
	must.Same(t, []int{len(got), tb.len()}, []int{len(model), len(model)}, "locks")
	must.True(t, slices.IsSortedFunc(got, func(a, b *Lock) int { return a.ID.Compare(b.ID) }), "not sorted by id")
	for id, l := range model {
		must.Equal(t, tb.get(id), l, "newest version of", id)
	}
	must.True(t, slices.Equal(slices.Collect(old.all()), oldLocks), "a shared table has changed")
	must.Equal(t, tb.get(ID{"zk", "/none"}), nil, "a lock that does not exist")
}

// A session is dated by the clock of the server that its client is connected to, which may differ
// from the leader's.
func TestSessionAgeUsesItsServersClock(t *testing.T) {
	b := &Backend{
		Name: "zk", Kind: ZooKeeper, Clock: LeaderClock{From: 1, Known: true, Offset: time.Hour},
		Servers: []Server{{Addr: "a", ClockKnown: true, ClockOffset: time.Minute}, {Addr: "b"}},
	}
	l := &Lock{ID: ID{"zk", "/l"}}
	s := NewSnapshot(now, []*Backend{b}, []*Lock{l})
	connected := Session{Server: "a", Established: now.Add(-time.Minute)}
	age, ok := s.Established(l, connected, now)
	must.True(t, ok && age == Age{2 * time.Minute, true, 2 * time.Minute}, age)
	connected.Server = "b" // its clock is unknown
	age, ok = s.Established(l, connected, now)
	must.True(t, ok && age == Age{Duration: time.Hour + time.Minute}, age)
	connected.Established = time.Time{}
	_, ok = s.Established(l, connected, now)
	must.True(t, !ok, "an unknown time has an age")
}

// A snapshot of some locks keeps the sessions, names and deadlocks of all locks.
func TestWhereKeepsDataOfOtherLocks(t *testing.T) {
	rule := must.Have(NewHostRule("10.0.9.0/24", "", "billing-1"))(t)
	all := NewSnapshot(now, nil, []*Lock{chain("1", "a", "b"), chain("2", "b", "a")})
	all = all.WithHosts(&Hosts{Rules: []HostRule{rule}})
	all.sessions, all.cycles = map[string]map[int64]Session{"zk": {'a': {}, 'b': {}}}, findCycles(all.Locks())
	some := all.Where(func(l *Lock) bool { return l.ID.Path == "/2" })
	must.Same(t, []int{some.Len(), all.Len()}, []int{1, 2}, "locks")
	must.Equal(t, some.Lock(ID{"zk", "/2"}), all.Lock(ID{"zk", "/2"}))
	must.Equal(t, judged(some.Cycles()), "/1 /2 likely", "deadlocks")
	must.Equal(t, len(some.Sessions("zk")), 2, "sessions")
	name, _ := some.HostName(&Owner{Client: "10.0.9.7:50312"})
	must.Equal(t, name, "billing-1", "the name of a host")
}
