package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Messages, troubles of backends and lost locks are shown in their own line, and move no row or key.
func TestMessagesMoveNoRow(t *testing.T) {
	for _, key := range []string{"", "f", "e", "c", "b", "L", "t"} {
		m := model(t, Options{}, 80, 24, nil)
		send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, nil, []*inspect.Lock{fixture.Orders(), fixture.Readers()})})
		if key != "" {
			press(m, key)
		}
		between := func() string {
			lines := splitLines(content(m))
			return strings.Join(slices.Concat(lines[2:22], lines[23:]), "\n")
		}
		before := between()
		m.Flash("copied a rather long text that goes on and on, over the whole width of the window and beyond its end")
		fits(t, m)
		must.Equal(t, between(), before, key, "a message changed the page")
		m.feedError = errors.New("end of the recording")
		fits(t, m)
		must.True(t, between() == before || key == "" || key == "b", key, "a backend's trouble changed the page")
		wantText(t, m, "no more updates", "copied a rather long")
		press(m, "?")
		m.Report(screen.Loss{Lock: fixture.Orders().ID, Why: "the session expired", At: fixture.Noon})
		wantText(t, m, "LOST  zk:/locks/orders")
	}
}

// Rows of a backend that does not answer look old: their ages stop and become lower bounds, and their
// sign is the one for unknown.
func TestLostBackendRowsLookOld(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, nil)
	backends := fixture.Backends()
	backends[0].State, backends[0].HeardAt = inspect.Down, fixture.Noon
	send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, backends, []*inspect.Lock{fixture.Orders(), fixture.Readers()})})
	row := func(lock string) string { return lineWith(t, m, "? "+lock) }
	must.Contain(t, row("zk:/locks/orders"), "≥13m58s")
	now = now.Add(time.Minute)
	send(m, tickedMsg{m.ticking})
	must.Contain(t, row("zk:/locks/orders"), "≥13m58s", "a minute later")
	must.Contain(t, row("zk:/locks/billing"), "1m00s old", "a minute later")
}
