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
// the budget of the terminal UI: requests, and the processor time that the handovers take more than unwatched ones. The
// end state must be right.
func BenchmarkHotLock(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	conn := connect(b, server.Addr)
	source := zksource.New(zksource.Config{Backend: "s", Servers: []string{server.Addr}, Roots: []string{"/hot"}})
	id := inspect.ID{Backend: "s", Path: "/hot"}
	handOver := zkQueue(b, conn, id.Path)
	_, unwatched, _ := handOvers(handOver)
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
		n, cpu, last := handOvers(handOver)
		for settled := time.Now(); ; time.Sleep(time.Millisecond) {
			if l := observer.Snapshot().Lock(id); l != nil && len(l.Holders) == 1 && l.Holders[0].Name == last {
				b.ReportMetric(float64(time.Since(settled).Milliseconds()), "settled-ms")
				break
			}
			if time.Since(settled) > 10*time.Second {
				b.Fatalf("the end state is wrong: %+v, want %s", observer.Snapshot().Lock(id), last)
			}
		}
		rate := float64(n) / hotFor.Seconds()
		b.ReportMetric(rate, "handovers/s")
		b.ReportMetric(float64(cost(observer)-requests)/hotFor.Seconds(), "requests/s")
		b.ReportMetric(100*(cpu-unwatched).Seconds()*rate, "core-%")
	}
}

const hotFor = 5 * time.Second

// handOvers hands over for a while and says how often, how much processor time one took, and who holds at the end.
func handOvers(handOver func() inspect.Untrusted) (n int, each time.Duration, last inspect.Untrusted) {
	cpu := processTime()
	for start := time.Now(); time.Since(start) < hotFor; n++ {
		last = handOver()
	}
	return n, (processTime() - cpu) / time.Duration(n), last
}

func cost(o *inspect.Observer) uint64 {
	if backends := o.Snapshot().Backends; len(backends) > 0 {
		return backends[0].Cost.Requests
	}
	return 0
}
