package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
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
		fits(t, p.Model)
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
