//go:build linux

package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

// p99 of measured times.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// manySnapshots is a model that shows n locks, and what changes one of them, another each time.
func manySnapshots(tb testing.TB, n int, order string, filter screen.Filter, grouped bool) (m *Model, next func() *inspect.Snapshot) {
	tb.Helper()
	list := fixture.ManyLocks(n)
	published := publisher(tb, list, 1)
	clock := newFakeClock()
	m = New(context.Background(), plain(Options{Now: clock.read}))
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	s := locksOf(m)
	for s.Want.Order.String() != order {
		press(m, "s")
	}
	s.Want.Filter, s.Want.Grouped = filter, grouped
	send(m, answers(send(m, snapshotArrivedMsg{snapshot: published()}))...)
	if len(s.Index.Rows) != n || s.Busy {
		tb.Fatalf("%d rows", len(s.Index.Rows))
	}
	return m, func() *inspect.Snapshot {
		clock.forward(16 * time.Millisecond) // each quarter of a second all rows are drawn anew
		return published()
	}
}

// worstFirst is the table's order at first.
const worstFirst = "worst, longest wait"

// observed are the snapshots of an observer of these locks, and what changes some of them.
func observed(tb testing.TB, list []*inspect.Lock) (sub *inspect.Subscription, change func(some int)) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	source := &changing{puts: make(chan []*inspect.Lock)}
	o := inspect.NewObserver(func() time.Time { return fixture.Noon }, source)
	sub = o.Subscribe()
	done := make(chan struct{})
	go func() {
		_ = o.Run(ctx)
		close(done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	source.puts <- list
	r := rand.New(rand.NewPCG(1, 2))
	return sub, func(some int) {
		put := make([]*inspect.Lock, some)
		for i := range put {
			put[i] = fixture.SomeLock(list[r.IntN(len(list))].ID, r.IntN(1000))
		}
		source.puts <- put
	}
}

// publisher is an observer of these locks, of which each snapshot after the first has changed some.
func publisher(tb testing.TB, list []*inspect.Lock, some int) (next func() *inspect.Snapshot) {
	tb.Helper()
	sub, change := observed(tb, list)
	reported := false
	return func() *inspect.Snapshot {
		for {
			if reported {
				change(some)
			}
			s, err := sub.Next(context.Background())
			if err != nil {
				return nil
			}
			if s.Len() < len(list) {
				continue
			}
			if !reported {
				reported, s.Changed = true, nil
			}
			return s
		}
	}
}

// changing is a source that emits what it is given.
type changing struct{ puts chan []*inspect.Lock }

func (c *changing) Run(ctx context.Context, emit func(inspect.Update)) error {
	emit(inspect.Update{Backend: fixture.Backends()[0]})
	for {
		select {
		case <-ctx.Done():
			return nil
		case list := <-c.puts:
			emit(inspect.Update{Put: list})
		}
	}
}

func (c *changing) Focus([]inspect.ID) {}

// BenchmarkOneChangeAmong100000 measures Update and View after a change of one lock.
func BenchmarkOneChangeAmong100000(b *testing.B) {
	for name, a := range map[string]struct {
		order   string
		filter  screen.Filter
		grouped bool
	}{
		"flat":     {order: worstFirst},
		"filtered": {order: "held longest", filter: screen.NewFilter("lock-0 !free")},
		"grouped":  {order: worstFirst, grouped: true},
	} {
		b.Run(name, func(b *testing.B) {
			m, next := manySnapshots(b, 100_000, a.order, a.filter, a.grouped)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var times, cpu []time.Duration
			for b.Loop() {
				b.StopTimer()
				s := next()
				b.StartTimer()
				begin, used := time.Now(), cpuTime(b, ofThread)
				send(m, snapshotArrivedMsg{snapshot: s})
				m.View()
				times, cpu = append(times, time.Since(begin)), append(cpu, cpuTime(b, ofThread)-used)
			}
			b.ReportMetric(float64(p99(times).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(p99(cpu).Microseconds())/1000, "p99-cpu-ms") // unlike wall time, hardly changed by a busy machine
		})
	}
}

// fakeClock stands still until it is moved.
type fakeClock struct{ ahead atomic.Int64 }

func newFakeClock() *fakeClock { return &fakeClock{} }

func (c *fakeClock) read() time.Time         { return fixture.Noon.Add(time.Duration(c.ahead.Load())) }
func (c *fakeClock) forward(d time.Duration) { c.ahead.Add(int64(d)) }

// BenchmarkIdle reports the share of a core that it takes to show 1,000 locks to which nothing happens.
func BenchmarkIdle(b *testing.B) {
	begin := time.Now()
	feed, quit := runDiscarding(b, Options{Now: func() time.Time { return fixture.Noon.Add(time.Since(begin)) }}, io.Discard)
	defer quit()
	list := make([]*inspect.Lock, 1000)
	for i := range list {
		list[i] = fixture.Orders()
		list[i].ID.Path = fmt.Sprintf("/locks/orders-%04d", i)
	}
	feed <- inspect.NewSnapshot(fixture.Noon, fixture.Backends(), list)
	time.Sleep(10 * time.Second) // past the start, and past tenths of a second
	for b.Loop() {
		cpu, at := cpuTime(b, syscall.RUSAGE_SELF), time.Now()
		time.Sleep(10 * time.Second) // the span that is measured
		b.ReportMetric(100*float64(cpuTime(b, syscall.RUSAGE_SELF)-cpu)/float64(time.Since(at)), "%core")
	}
}

// ofThread is getrusage's RUSAGE_THREAD.
const ofThread = 1

func cpuTime(b *testing.B, of int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(of, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// runDiscarding runs a whole program of 120x40 that draws into w.
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
		if err := <-done; err != nil {
			tb.Error(err)
		}
		_ = keyboard.Close()
	}
}

// BenchmarkKeyToScreen is the time from a key to what it does on the terminal while 1,000 changes a second arrive among
// so many locks.
func BenchmarkKeyToScreen(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 20_000} {
		b.Run(fmt.Sprintf("locks=%d", n), func(b *testing.B) { keyToScreen(b, n) })
	}
}

func keyToScreen(b *testing.B, n int) {
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
		for _, text := range []string{"Keys of this screen", ""} { // the help opens, and closes
			at := time.Now()
			p.keys("?")
			p.await(func(screen string) bool { return strings.Contains(screen, "Keys of this screen") == (text != "") })
			times = append(times, time.Since(at))
		}
	}
	b.ReportMetric(float64(changes.Load())/time.Since(begin).Seconds(), "changes/s")
	b.ReportMetric(float64(p99(times).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}
