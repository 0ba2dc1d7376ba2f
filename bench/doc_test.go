// Package bench measures lockscope, its peers, and the minimum that the wire allows, in one run on real servers:
//
//	make bench
//
// Each benchmark is one whole scenario; its figures follow ns/op. A machine where client and
// servers share few cores shows ratios, not absolute speed.
package bench

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) {
	for env, be := range map[string]func(addr string) error{neighbourAddr: beNeighbour, screenAddr: beScreen} {
		if addr := os.Getenv(env); addr != "" {
			if err := be(addr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	servertest.Main(m)
}

// report adds percentiles of times to a benchmark, in milliseconds.
func report(b *testing.B, what string, times []time.Duration) {
	if len(times) == 0 {
		b.Fatalf("%s: nothing was measured", what)
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[min(len(times)-1, int(share*float64(len(times))))]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(0.5), what+"-p50-ms")
	b.ReportMetric(at(0.99), what+"-p99-ms")
	b.ReportMetric(at(1), what+"-max-ms")
}

func connect(b testing.TB, addr string) *zk.Conn {
	b.Helper()
	return connectFor(b, addr, 10*time.Second)
}

// connectFor is connect with this session timeout.
func connectFor(b testing.TB, addr string, timeout time.Duration) *zk.Conn {
	b.Helper()
	conn, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogInfo(false))
	must.Succeed(b, err)
	b.Cleanup(conn.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

// pipelined calls f for each path, at most width of them at a time.
func pipelined(b testing.TB, width int, paths []string, f func(i int, path string) error) {
	b.Helper()
	next := make(chan int)
	var group sync.WaitGroup
	for range width {
		group.Go(func() {
			for i := range next {
				must.Be(b, f(i, paths[i]), nil)
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	group.Wait()
}
