package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// BenchmarkMemory watches 2,000 locks of 10 contenders each and says how much memory all of it takes, source, observer,
// histories and findings, for a contender.
func BenchmarkMemory(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	fill(b, connect(b, server.Addr))
	for b.Loop() {
		before := heap()
		source := zksource.New(zksource.Config{
			Backend: "s", Servers: []string{server.Addr}, Roots: []string{"/locks"}, Budget: zksource.Budget{Unlimited: true},
		})
		observer := inspect.NewObserver(time.Now, source)
		observer.Diagnose(finding.Rules(), 10*time.Minute)
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			observer.Run(ctx)
			close(ended)
		}()
		sub := observer.Subscribe()
		for s := observer.Snapshot(); s.Len() < directories || !s.Backends[0].FirstPass; {
			next, err := sub.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			s = next
		}
		b.ReportMetric(float64(heap()-before)/(directories*contenders), "bytes/contender")
		sub.Close()
		cancel()
		<-ended
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
