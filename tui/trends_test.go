package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// A row of Locks and the head of Chain plot the queue over the last few minutes.
func TestTrendsAreShown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ascii bool
		locks string
	}{{false, "▅▆▆▅     2"}, {true, "=++=     2"}} {
		p := fairPlay(t, Options{Theme: theme.Options{ASCII: test.ascii}}, 120, 36)
		wantText(t, p.Model, "LAST 5M QUEUE", test.locks)
		goTo(p.Model, screen.Chain, screen.Subject{Lock: p.lock.ID})
		wantText(t, p.Model, "queue, last 15m", strings.TrimRight(test.locks, " 2"))
	}
}

// A cached trend equals a recomputed one, even after going back in time.
func TestCachedTrendMatchesRecomputed(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	same := func() {
		t.Helper()
		kept := p.Trend(p.lock.ID)
		clear(p.trends)
		fresh := p.Trend(p.lock.ID)
		must.Same(t, kept.Waiting, fresh.Waiting, "cached")
		must.Same(t, kept.Holding, fresh.Holding, "cached")
	}
	for i, before := range []int{110, 95, 61, 60, 31} {
		p.Trend(p.lock.ID)
		p.come(time.Duration(before)*time.Second, int32(102+i))
		same()
	}
	press(p.Model, "{")
	same()
	must.True(t, p.Trend(p.lock.ID).Waiting[screen.TrendCells-1] >= 0, "a minute ago is unknown")
}

// An invisible queue looks different from an empty one, and waiters are higher than a lone holder.
func TestPulse(t *testing.T) {
	trend := inspect.Trend{Waiting: []float64{-1, 0, 0, 0.1, 1, 4, 8}, Holding: []float64{-1, 0, 1, 1, 1, 1, 1}}
	for _, test := range []struct {
		options theme.Options
		want    string
	}{{theme.Options{}, " ·▁▂▂▅█"}, {theme.Options{ASCII: true}, " ._--=#"}} {
		th := theme.New(test.options)
		must.Equal(t, screen.Pulse(th, trend, 7).Text(), test.want)
	}
	must.Equal(t, screen.Pulse(theme.New(theme.Options{}), trend, 2).Text(), "▅█", "the last two are")
}

// Below a short table are the longest waits, and the acquisitions since watching began.
func TestShortTableShowsWaitsAndGrants(t *testing.T) {
	t.Parallel()
	p := fairPlay(t, Options{Theme: theme.Options{ASCII: true}}, 200, 50)
	wantText(t, p.Model, "longest waits", "waits for zk:/locks/fair, held by", "acquired since ", "2.7/min  zk:/locks/fair")
	wantNoText(t, p.Model, "none seen")

	still := model(t, Options{}, 200, 50, snapshotOf(fixture.FreeLock()))
	wantText(t, still, "no waiters seen", "none seen")
	full := model(t, Options{}, 200, 50, snapshotOf(fixture.ManyLocks(60)...))
	wantNoText(t, full, "longest waits", "acquired since ")
}

// The longest waits are in order, to the second.
func TestLongestWaitsAreInOrder(t *testing.T) {
	t.Parallel()
	a, b := fixture.Orders(), fixture.Orders()
	b.ID.Path += "-2"
	b.Waiters[0].Since = b.Waiters[0].Since.Add(-2 * time.Second)
	m := model(t, Options{}, 200, 50, snapshotOf(a, b))
	first, second := lineAt(m, "waits for zk:/locks/orders-2,"), lineAt(m, "waits for zk:/locks/orders,")
	must.True(t, first < second, "the longer wait is at line", first, "the other at", second)
}

// Backends plots our load and a server's latency over the last few minutes, once there is a past.
func TestBackendsDrawTheLastMinutes(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 200, 50)
	goTo(p.Model, screen.Backends, screen.Subject{})
	hides(t, p.Model, "j", "last 15m")
	for i := range 4 {
		p.until(time.Duration(90-30*i) * time.Second)
		p.publish(inspect.Update{Put: []*inspect.Lock{p.copy()}, Backend: &inspect.Backend{
			Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true,
			Cost:    inspect.Cost{PerSecond: float64(10 * (i + 1))},
			Servers: []inspect.Server{{Addr: "10.1.0.1:2181", State: inspect.ServerUp, Latency: time.Duration(i+1) * time.Millisecond}},
		}})
	}
	p.until(0)
	wantText(t, p.Model, "last 15m", "max 30/s, 30s average", "4.0 ms now", "max 3.0 ms, 30s average")
}

// The header's load adds up ZooKeeper and Redis: all requests, including each command of a pipeline,
// and the watches.
func TestHeaderShowsTotalLoad(t *testing.T) {
	t.Parallel()
	b := fixture.Backends()
	b[0].Cost = inspect.Cost{Requests: 900, PerSecond: 30, Watches: 214}
	b[1].Cost = inspect.Cost{Requests: 20_000, PerSecond: 2_012}
	m := model(t, Options{}, 160, 40, fixture.ObservedOf(t, inspect.Update{Backend: b[0]}, inspect.Update{Backend: b[1]}))
	wantText(t, m, "our load 2042/s", "214 watches")
}
