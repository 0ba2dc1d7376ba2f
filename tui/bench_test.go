//go:build linux

package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// p99 returns the 99th percentile of measured times.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// observed returns an observer's snapshots of these locks, and a function that changes some of
// them.
func observed(tb testing.TB, list []*inspect.Lock) (sub *inspect.Subscription, change func(some int)) {
	tb.Helper()
	source := make(supplied)
	sub = observing(tb, func() time.Time { return fixture.Noon }, source)
	source <- inspect.Update{Backend: fixture.Backends()[0]}
	source <- inspect.Update{Put: list}
	r := rand.New(rand.NewPCG(1, 2))
	return sub, func(some int) {
		put := make([]*inspect.Lock, some)
		for i := range put {
			put[i] = fixture.SomeLock(list[r.IntN(len(list))].ID, r.IntN(1000))
		}
		source <- inspect.Update{Put: put}
	}
}

// BenchmarkIdle reports the share of a core needed to show 1,000 unchanged locks.
func BenchmarkIdle(b *testing.B) {
	begin := time.Now()
	feed, quit := runDiscarding(b, Options{Now: func() time.Time { return fixture.Noon.Add(time.Since(begin)) }}, io.Discard)
	defer quit()
	list := make([]*inspect.Lock, 1000)
	for i := range list {
		list[i] = fixture.Orders()
		list[i].ID.Path = fmt.Sprintf("/locks/orders-%04d", i)
	}
	feed <- snapshotOf(list...)
	time.Sleep(10 * time.Second) // past the start, and past tenths of a second
	for b.Loop() {
		cpu, at := cpuTime(b, syscall.RUSAGE_SELF), time.Now()
		time.Sleep(10 * time.Second) // the measured span
		b.ReportMetric(100*float64(cpuTime(b, syscall.RUSAGE_SELF)-cpu)/float64(time.Since(at)), "%core")
	}
}

func cpuTime(b *testing.B, of int) time.Duration {
	var r syscall.Rusage
	must.Succeed(b, syscall.Getrusage(of, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// runDiscarding runs a whole program on a screen of 120x40 that draws into w.
func runDiscarding(tb testing.TB, o Options, w io.Writer) (feed fakeFeed, quit func()) {
	tb.Helper()
	feed = make(fakeFeed)
	keys, keyboard := io.Pipe()
	o.Feed = feed
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, o, tea.WithInput(keys), tea.WithOutput(w), tea.WithWindowSize(120, 40),
			tea.WithColorProfile(trueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	}()
	return feed, func() {
		cancel()
		must.Be(tb, <-done, nil)
		_ = keyboard.Close()
	}
}

// BenchmarkKeyToScreen measures the time from a key to its effect on the terminal, with many
// locks and 1,000 changes a second.
func BenchmarkKeyToScreen(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 20_000} {
		b.Run(fmt.Sprintf("locks=%d", n), func(b *testing.B) { keyToScreen(b, n) })
	}
}

func keyToScreen(b *testing.B, n int) {
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as lockscope does
	p := start(b, Options{}, 120, 40)
	list := fixture.ManyLocks(n)
	sub, change := observed(b, list)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var changes atomic.Int64
	running.Go(func() {
		for {
			s, err := sub.Next(ctx)
			if err != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case p.feed <- s:
			}
		}
	})
	p.wait(fmt.Sprintf("%d locks", n))
	running.Go(func() {
		beat := time.NewTicker(17 * time.Millisecond)
		defer beat.Stop()
		for ctx.Err() == nil {
			<-beat.C
			change(17)
			changes.Add(17)
		}
	})
	var times []time.Duration
	begin := time.Now()
	for b.Loop() {
		for _, open := range []bool{true, false} { // the help
			time.Sleep(rand.N(20 * time.Millisecond)) // keys come at any time of a frame
			at := time.Now()
			p.keys("?")
			p.await("opens or closes the help", func(screen string) bool {
				return strings.Contains(screen, "Keys of this screen") == open
			})
			times = append(times, p.screen.lastDrawn().Sub(at))
		}
	}
	b.ReportMetric(float64(changes.Load())/time.Since(begin).Seconds(), "changes/s")
	b.ReportMetric(float64(p99(times).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}
