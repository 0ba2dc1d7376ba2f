package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockscope/lockscope/internal/must"
)

// filmed is an observer with its own clock whose snapshots are added to a past.
type filmed struct {
	*Observer
	past *Past
	at   time.Time
	turn int
}

// film is an observer whose updates are kept in past.
func film(past *Past) *filmed {
	f := &filmed{past: past, at: now}
	f.Observer = NewObserver(func() time.Time { return f.at }, script{})
	f.Diagnose(testRules(), time.Hour)
	f.receive(Update{Backend: zkUp, Sessions: clients()})
	return f
}

func (f *filmed) receive(u Update) {
	f.apply(sourceUpdate{0, u})
	f.publish()
	f.past.Add(f.Snapshot())
}

// turns hands over a lock of ten contenders: the holder releases and a new waiter comes.
func (f *filmed) turns(i int) {
	f.turn++
	f.receive(Update{Put: []*Lock{curatorLock(i, f.turn)}})
}

func holderAt(p *Past, id ID, at time.Time) string {
	s, _ := p.At(at)
	return nameOfHolder(s, id)
}

// nameOfHolder is empty without a snapshot, a lock, or a holder.
func nameOfHolder(s *Snapshot, id ID) string {
	if s == nil || s.Lock(id) == nil || len(s.Lock(id).Holders) == 0 {
		return ""
	}
	return s.Lock(id).Holders[0].Name.String()
}

// expectBytes checks that the bytes of all versions are counted, and in the budget.
func expectBytes(t *testing.T, p *Past, budget int) {
	t.Helper()
	sum := 0
	for id, e := range p.locks {
		own := entrySize(id)
		for _, v := range e.versions {
			own += versionSize(v.lock)
		}
		must.Equal(t, own, e.bytes, "counted bytes of a lock")
		must.True(t, len(e.versions) > 0, id, "has no versions")
		sum += own
	}
	must.Equal(t, sum, p.Bytes(), "counted bytes")
	must.True(t, sum <= budget, sum, "bytes, over the budget")
}

func TestPastMomentsAreExact(t *testing.T) {
	f := film(NewPast(0, time.Second, 1<<30))
	id := curatorLock(1, 0).ID
	want := make(map[time.Time]string)
	for range 20 {
		f.at = f.at.Add(1500 * time.Millisecond)
		f.turns(1)
		want[f.at] = nameOfHolder(f.Snapshot(), id)
	}
	for at, name := range want {
		must.Equal(t, holderAt(f.past, id, at), name, at)
		must.Equal(t, holderAt(f.past, id, at.Add(1400*time.Millisecond)), name, "until the next")
	}
	var since []time.Time
	f.past.Of(id, now.Add(4*time.Second), func(at time.Time, _ *Lock) { since = append(since, at) })
	must.Equal(t, len(since), 19, "versions since 4 s")
	must.Equal(t, since[0], now.Add(3*time.Second), "the first of them")
	s, _ := f.past.At(f.past.From().Add(-time.Millisecond))
	must.Equal(t, s, nil, "a snapshot from before the first moment")
}

// Changes within a step become one version. The state before a quiet time stays the same.
func TestChangesWithinStepAreMerged(t *testing.T) {
	f := film(NewPast(0, time.Second, 1<<30))
	id := curatorLock(1, 0).ID
	f.at = f.at.Add(10 * time.Second)
	for range 10 {
		f.at = f.at.Add(10 * time.Millisecond)
		f.turns(1)
	}
	quiet, last := f.at, nameOfHolder(f.Snapshot(), id)
	f.at = f.at.Add(time.Minute)
	f.turns(1)
	must.Equal(t, holderAt(f.past, id, quiet.Add(30*time.Second)), last, "holder in the quiet time")
	must.Equal(t, len(f.past.locks[id].versions), 2, "versions")
	must.Equal(t, holderAt(f.past, id, now.Add(5*time.Second)), "", "holder before the lock existed")
}

// A busy lock does not displace the versions of a quiet one, and the past stays within its budget.
func TestListedVersionsTakeNoRoom(t *testing.T) {
	const unchanged, next = 0, 1
	for turn, name := range map[int]string{unchanged: "owners were read", next: "another holds the lock"} {
		f := film(NewPast(0, time.Second, 1<<30))
		listed, read := curatorLock(1, 0), curatorLock(1, turn)
		for c := range listed.Contenders {
			c.Czxid, c.Owner = 0, Owner{}
		}
		f.receive(Update{Put: []*Lock{listed}})
		before, came := f.past.Bytes(), f.at
		f.at = f.at.Add(time.Minute)
		f.receive(Update{Put: []*Lock{read}})
		must.Equal(t, f.past.Bytes() > before, turn == next, name, "a version is kept")
		holder := map[int]*Lock{unchanged: read, next: listed}[turn].Holders[0]
		s, _ := f.past.At(came)
		then := s.Lock(read.ID).Holders[0]
		must.Equal(t, then.Name, holder.Name, name, "holder, when listed")
		must.Equal(t, then.Owner.Session, holder.Owner.Session, name, "its session")
	}
}

func TestNoisyLockLeavesQuietHistoryAlone(t *testing.T) {
	const budget = 1 << 20
	f := film(NewPast(10*time.Minute, 100*time.Millisecond, budget))
	quiet := curatorLock(2, 0).ID
	f.turns(2)
	first := nameOfHolder(f.Snapshot(), quiet)
	start := f.at
	for i := range 3000 {
		f.at = f.at.Add(100 * time.Millisecond)
		if i == 1500 {
			f.turns(2)
		}
		f.turns(1)
	}
	second := nameOfHolder(f.Snapshot(), quiet)
	must.Equal(t, holderAt(f.past, quiet, start.Add(time.Minute)), first, "first holder of the quiet lock")
	must.Equal(t, holderAt(f.past, quiet, start.Add(4*time.Minute)), second, "second holder of the quiet lock")
	must.True(t, first != second, "the quiet lock was not handed over")
	expectBytes(t, f.past, budget)
	for at, want := range map[time.Time]int{start.Add(50 * time.Second): 1, f.at: 0} { // only the busy one
		_, about := f.past.At(at)
		must.Equal(t, about, want, "approximate locks at", at)
	}
}

// The number of states kept next to the locks is limited, and locks without versions are dropped.
func TestKeptStatesAreLimited(t *testing.T) {
	const budget = 1 << 20
	f := film(NewPast(0, time.Second, budget))
	for i := range 2000 {
		f.at = f.at.Add(2 * time.Second)
		b := *zkUp
		b.Servers = slices.Repeat([]Server{{Addr: "10.0.0.1:2181"}}, 9)
		b.Cost.Requests = uint64(i)
		table := make(map[int64]Session)
		for n := range int64(100) {
			table[n] = Session{ID: n, Client: "10.0.0.7:1"}
		}
		f.receive(Update{Backend: &b, Sessions: table, AllSessions: true, Put: []*Lock{curatorLock(i%300, i)}})
	}
	p := f.past
	must.True(t, len(p.states) >= 250 && len(p.states) <= 1000, len(p.states), "states kept")
	expectBytes(t, p, budget)
	s, _ := p.At(now.Add(2000 * time.Second))
	made := s.Backends[0].Cost.Requests
	must.True(t, made >= 999 && made <= 1600, "a state from another time:", made)
}

func TestOldVersionsAreDropped(t *testing.T) {
	f := film(NewPast(time.Minute, time.Second, 1<<30))
	for range 120 {
		f.at = f.at.Add(time.Second)
		f.turns(1)
	}
	expectBytes(t, f.past, 1<<30)
	n := len(f.past.locks[curatorLock(1, 0).ID].versions)
	must.True(t, n >= 60 && n <= 70, n, "versions kept for a minute")
	kept := f.past.To().Sub(f.past.From())
	must.True(t, kept >= time.Minute && kept <= 65*time.Second, kept, "kept")
	f.at = f.at.Add(2 * time.Minute)
	f.receive(Update{Backend: zkUp, Gone: []ID{curatorLock(1, 0).ID}})
	must.True(t, len(f.past.locks) == 1 && len(f.past.states) <= 1, "all was dropped but the last version")
	f.at = f.at.Add(2 * time.Minute)
	f.receive(Update{Backend: zkUp})
	must.Equal(t, len(f.past.locks), 0, "locks without versions")
}

// Applying the differences between its moments restores a snapshot, so a past can be saved as a
// recording.
func TestDifferencesRestoreTheSnapshot(t *testing.T) {
	rules := []Rule{
		{Name: "held", Lock: func(c *Case) []Finding {
			return []Finding{{Rule: "held", Severity: Info, Message: c.Lock.Holders[0].Name.String()}}
		}},
		{Name: "state", Backend: func(b *Backend, _ time.Time) []Finding {
			return []Finding{{Rule: "state", Severity: Info, Message: string(b.State)}}
		}},
	}
	f := film(NewPast(0, time.Millisecond, 1<<30))
	f.Diagnose(rules, time.Hour)
	f.receive(Update{Put: []*Lock{curatorLock(1, 0), curatorLock(2, 0), curatorLock(3, 0)}})
	for i := range 30 {
		f.at = f.at.Add(time.Second)
		f.turns(1 + i%3)
	}
	f.at = f.at.Add(time.Second)
	f.receive(Update{Gone: []ID{curatorLock(3, 0).ID}, Backend: &Backend{Name: "zk", Kind: ZooKeeper, State: Degraded, Mode: ModeWatch, FirstPass: true}})

	clock := now
	again := NewObserver(func() time.Time { return clock }, script{})
	again.Diagnose(rules, time.Hour)
	var before *Snapshot
	locks := 0
	for _, at := range f.past.Moments() {
		s, _ := f.past.At(at)
		clock = s.TakenAt
		for _, u := range s.Since(before) {
			again.apply(sourceUpdate{0, u})
			locks += len(u.Put)
		}
		again.publish()
		before = s
	}
	// The holders at the first moment were granted earlier.
	earlier := cmpopts.IgnoreFields(Lock{}, "Observed")
	alike := []cmp.Option{earlier, cmpopts.EquateEmpty(), cmp.AllowUnexported(Lock{}, Contender{})}
	want, got := slices.Collect(f.Snapshot().Locks()), slices.Collect(again.Snapshot().Locks())
	must.NoDiff(t, cmp.Diff(want, got, alike...))
	must.Equal(t, locks, 3+30, "reported locks")
}

// The differences list exactly the changed locks, whether pages were split, emptied or left alone.
func TestDifferencesOfTables(t *testing.T) {
	var tab table
	lock := func(i int) *Lock { return &Lock{ID: ID{"zk", fmt.Sprintf("/%05d", i)}} }
	for i := range 3 * pageSize {
		tab.put(lock(2 * i))
	}
	before := tab.share()
	tab.put(lock(1))
	tab.put(lock(4))
	tab.remove(lock(8).ID)
	for i := range 2 * pageSize { // splits pages at the end
		tab.put(lock(2*(3*pageSize+i) + 1))
	}
	after := tab.share()
	var put, gone []string
	after.differing(&before, func(l *Lock) { put = append(put, l.ID.Path) },
		func(id ID) { gone = append(gone, id.Path) })
	must.Equal(t, len(put), 2+2*pageSize, "put")
	must.Same(t, put[:2], []string{"/00001", "/00004"}, "put first")
	must.Same(t, gone, []string{"/00008"}, "gone")
	changes := (&Snapshot{locks: after}).Changes(&Snapshot{locks: before})
	must.Equal(t, len(changes), len(put)+len(gone), "changes")
}
