package inspect

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// heap returns the number of live bytes.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// curatorLock is a lock of ten Curator clients as zksource reads it. Each name is its own string,
// and the data is an address. The clients run in 1000 processes.
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

// BenchmarkContenderMemory measures the memory of a contender in a snapshot, including names but
// not the source's own copy.
func BenchmarkContenderMemory(b *testing.B) {
	const locks = 100_000
	for b.Loop() {
		before := heap()
		o := NewObserver(func() time.Time { return now }, script{})
		o.Diagnose(testRules(), time.Hour)
		up := *zkUp
		up.FirstPass = false
		o.apply(sourceUpdate{0, Update{Backend: &up, Sessions: clients()}})
		for i := range locks {
			o.apply(sourceUpdate{0, Update{Put: []*Lock{curatorLock(i, 0)}}})
		}
		o.apply(sourceUpdate{0, Update{Backend: zkUp}})
		o.publish()
		b.ReportMetric(float64(heap()-before)/(10*locks), "bytes/contender")
		runtime.KeepAlive(o)
	}
	b.ReportMetric(0, "ns/op")
}
