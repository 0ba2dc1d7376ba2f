package tui

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// An age by an unchecked clock is marked wherever it is drawn.
func TestUncheckedClockAgesAreMarked(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for i := range l.Waiters {
		l.Waiters[i].Since, l.Waiters[i].Czxid = fixture.Ago(time.Hour), 3
	}
	known, unknown := fixture.Backends(), fixture.Backends()
	known[0].Clock, unknown[0].Clock = inspect.LeaderClock{From: 1, Known: true}, inspect.LeaderClock{From: 1}
	for _, one := range []struct {
		list []*inspect.Backend
		mark string
	}{{known, ""}, {unknown, "~"}} {
		m := model(t, Options{}, 120, 40, inspect.NewSnapshot(fixture.Noon, one.list, []*inspect.Lock{l}))
		wantText(t, m, " "+one.mark+"1h00m")
		goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
		wantText(t, m, "longest wait "+one.mark+"1h00m", "  "+one.mark+"1h00m ")
		press(m, "j")
		wantText(t, m, "in the queue for "+one.mark+"1h00m")
		fits(t, m)
	}
}
