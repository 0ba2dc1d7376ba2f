// Package bench measures lockscope on real servers, beside what the wire allows and beside its peers in the same run:
//
//	make bench
//
// Each benchmark is one whole scenario; figures other than ns/op stand behind it. A machine where client and servers
// share few cores shows ratios, not absolute speed.
package bench

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"lockscope/internal/servertest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(watchEnv); addr != "" {
		watchHotLock(addr)
		return
	}
	for env, be := range map[string]func(addr string) error{neighbourAddr: beNeighbour, screenAddr: beScreen} {
		if addr := os.Getenv(env); addr != "" {
			if err := be(addr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	if d, err := time.ParseDuration(os.Getenv(churnTime)); err == nil {
		if err := churn(os.Getenv(churnAddr), d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
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
