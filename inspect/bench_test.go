package inspect

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

// heap returns the live bytes.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// curatorLock is a lock of ten Curator clients as zksource reads it: every name is a string of its own, and the data are an
// address. Clients have connected from 1000 processes.
func curatorLock(i int, from int) *Lock {
	var nodes []Znode
	for j := from; j < from+10; j++ {
		n := node(fmt.Sprintf("_c_%08x-0000-4000-8000-%012x-lock-%010d", i, j, j), int64(1+(i*10+j)%1000))
		n.Data = []byte(fmt.Sprintf("10.0.%d.%d", j, i%250))
		nodes = append(nodes, n)
	}
	return directoryLock(ID{"zk", fmt.Sprintf("/locks/%06d", i)}, nodes, now)
}

func clients() map[int64]Session {
	m := make(map[int64]Session)
	for i := int64(1); i <= 1000; i++ {
		m[i] = Session{ID: i, Client: fmt.Sprintf("10.0.0.%d:%d", i%250, 30000+i), Server: "127.0.0.1:2181", Timeout: 10 * time.Second}
	}
	return m
}

// manyLocks is an observer of this many locks of ten contenders each.
func manyLocks(b *testing.B, locks int) *Observer {
	b.Helper()
	o := NewObserver(func() time.Time { return now }, script{})
	o.Diagnose(testRules(), time.Hour)
	o.apply(sourceUpdate{0, Update{Backend: &Backend{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeWatch}, Sessions: clients()}})
	for i := range locks {
		o.apply(sourceUpdate{0, Update{Put: []*Lock{curatorLock(i, 0)}}})
	}
	o.apply(sourceUpdate{0, Update{Backend: zkUp}})
	o.publish()
	return o
}

// What a contender takes in a snapshot, names and all; the source's own copy is not in it.
func BenchmarkContenderMemory(b *testing.B) {
	const locks = 100_000
	for b.Loop() {
		before := heap()
		o := manyLocks(b, locks)
		b.ReportMetric(float64(heap()-before)/(10*locks), "bytes/contender")
		runtime.KeepAlive(o)
	}
	b.ReportMetric(0, "ns/op")
}

// One change of hands in 100 000 locks of 10 contenders each, with rules, history, an event and a snapshot.
func BenchmarkPublishOneChange(b *testing.B) {
	o := manyLocks(b, 100_000)
	sub := o.Subscribe()
	defer sub.Close()
	versions := make([]*Lock, 64)
	for i := range versions {
		versions[i] = curatorLock(50_000, i)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		o.apply(sourceUpdate{0, Update{Put: []*Lock{versions[i%len(versions)]}}})
		o.publish()
		i++
	}
	if s := o.Snapshot(); s.History(versions[0].ID) == nil {
		b.Error("nothing was remembered")
	}
}

// A million contenders as ls -o json writes them.
func BenchmarkWriteJSON(b *testing.B) {
	s := manyLocks(b, 100_000).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.WriteJSON(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// The rules' beat over 100 000 locks of which all, or one in a hundred, have waiters: its share of a core.
func BenchmarkBeat(b *testing.B) {
	for name, every := range map[string]int{"all contended": 1, "one in 100": 100} {
		b.Run(name, func(b *testing.B) {
			o := manyLocks(b, 0)
			o.rules = o.rules[:1] // nothing found: the waiting locks alone are looked at
			for i := range 100_000 {
				l := curatorLock(i, 0)
				if i%every != 0 {
					l.Waiters = nil
				}
				o.apply(sourceUpdate{0, Update{Put: []*Lock{l}}})
			}
			laps := 0
			for b.Loop() {
				o.onBeat(now)
				if o.contended == (ID{}) {
					laps++
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(beat)*100, "%core")
			b.ReportMetric(float64(b.N)/float64(max(1, laps))*beat.Seconds(), "s/lap")
		})
	}
}

func BenchmarkFindCycles(b *testing.B) {
	for _, locks := range []int{1000, 100_000} {
		o := manyLocks(b, locks)
		b.Run(fmt.Sprint(locks), func(b *testing.B) {
			for b.Loop() {
				findCycles(o.locks.all())
			}
		})
	}
}

func BenchmarkHistoryMemory(b *testing.B) {
	const locks = 1000
	for _, grants := range []int{1, 32, 1000} {
		b.Run(fmt.Sprint(grants, " grants"), func(b *testing.B) {
			for b.Loop() {
				tracks := make([]*track, locks)
				views := make([]*History, locks)
				before := heap()
				for i := range tracks {
					tracks[i] = &track{}
					was := curatorLock(0, 0)
					for n := range grants {
						is := curatorLock(0, n+1)
						is.ReadAt = now.Add(time.Duration(n) * time.Second)
						carry(was, is, 0, false)
						views[i] = tracks[i].apply(change{was: was, is: is, events: compare(was, is, view{at: is.ReadAt})})
						was = is
						if n == 40 && i > 0 {
							break // the rest takes no more, as the first lock shows
						}
					}
				}
				b.ReportMetric(float64(heap()-before)/locks, "bytes/lock")
				runtime.KeepAlive(views)
				runtime.KeepAlive(tracks)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
