package bench

import (
	"context"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

// BenchmarkHotLock hands a lock over as fast as the server can for five seconds and says what watching it costs, with
// the budget of the terminal UI. The end state must be right.
func BenchmarkHotLock(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	conn := connect(b, server.Addr)
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{server.Addr}, Roots: []string{"/hot"}})
	id := inspect.ID{Backend: "s", Path: "/hot"}
	handOver := zkQueue(b, conn, id.Path)
	observer := inspect.NewObserver(time.Now, source)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		observer.Run(ctx)
		close(ended)
	}()
	b.Cleanup(func() { cancel(); <-ended })
	for b.Loop() {
		requests := cost(observer)
		handovers := 0
		var last inspect.Untrusted
		start := time.Now()
		for time.Since(start) < 5*time.Second {
			last = handOver()
			handovers++
		}
		took := time.Since(start).Seconds()
		for settled := time.Now(); ; time.Sleep(time.Millisecond) {
			if l := observer.Snapshot().Lock(id); l != nil && len(l.Holders) == 1 && l.Holders[0].Name == last {
				b.ReportMetric(float64(time.Since(settled).Milliseconds()), "settled-ms")
				break
			}
			if time.Since(settled) > 10*time.Second {
				b.Fatalf("the end state is wrong: %+v, want %s", observer.Snapshot().Lock(id), last)
			}
		}
		b.ReportMetric(float64(handovers)/took, "handovers/s")
		b.ReportMetric(float64(cost(observer)-requests)/took, "requests/s")
	}
}

func cost(o *inspect.Observer) uint64 {
	if backends := o.Snapshot().Backends; len(backends) > 0 {
		return backends[0].Cost.Requests
	}
	return 0
}
