package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// BenchmarkMemory watches 2,000 locks of 10 contenders each and reports the memory of source, observer,
// histories and findings for a contender; that of watching without any lock, which is connections' buffers, is reported
// apart.
func BenchmarkMemory(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	var clients []*zk.Conn // one that waits for itself would be a finding
	for range contenders {
		clients = append(clients, connect(b, server.Addr))
	}
	fill(b, clients...)
	if _, err := clients[0].Create("/none", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		fixed := watching(b, server.Addr, "/none", 0)
		all := watching(b, server.Addr, "/locks", directories)
		b.ReportMetric((all-fixed)/(directories*contenders), "bytes/contender")
		b.ReportMetric(fixed/(1<<20), "fixed-MiB")
	}
}

// watching measures the bytes of heap that it takes to watch so many locks below a directory.
func watching(b *testing.B, addr, root string, locks int) float64 {
	before := heap()
	source := zksource.New(zksource.Config{
		Backend: "s", Servers: []string{addr}, Roots: []string{root}, Budget: zksource.Budget{Unlimited: true},
	})
	observer := inspect.NewObserver(time.Now, source)
	observer.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		observer.Run(ctx)
		close(ended)
	}()
	defer func() { cancel(); <-ended }()
	sub := observer.Subscribe()
	defer sub.Close()
	for s := observer.Snapshot(); s.Len() < locks || len(s.Backends) == 0 || !s.Backends[0].FirstPass; {
		next, err := sub.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		s = next
	}
	return float64(heap()) - float64(before)
}

// heap is the bytes in use after garbage was collected twice: a sync.Pool outlives the first.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
