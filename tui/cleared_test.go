package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// foundAgo is an event about a finding of the fixture's stuck lock.
func foundAgo(ago time.Duration, kind inspect.EventKind, rule string) inspect.Event {
	f := fixture.Orders().Findings[0]
	f.Rule = rule
	return inspect.Event{Kind: kind, At: fixture.Ago(ago), Lock: fixture.Orders().ID, Finding: &f}
}

// If there is room, recently cleared findings are listed below the others, unless they came back.
func TestClearedFindingsAreListed(t *testing.T) {
	list := []inspect.Event{
		foundAgo(time.Hour, inspect.EventFinding, "long-ago"), foundAgo(16*time.Minute, inspect.EventCleared, "long-ago"),
		foundAgo(9*time.Minute, inspect.EventCleared, "unseen-begin"),
		foundAgo(8*time.Minute, inspect.EventFinding, "came-back"), foundAgo(7*time.Minute, inspect.EventCleared, "came-back"),
		foundAgo(14*time.Minute, inspect.EventFinding, "went"), foundAgo(13*time.Minute, inspect.EventCleared, "went"),
		foundAgo(6*time.Minute, inspect.EventFinding, "went"), foundAgo(5*time.Minute, inspect.EventFinding, "went"), foundAgo(4*time.Minute, inspect.EventCleared, "went"),
		foundAgo(3*time.Minute, inspect.EventFinding, "came-back"), foundAgo(2*time.Minute, inspect.EventCleared, "blind"),
	}
	m := withEvents(t, Options{}, 200, 50, list...)
	press(m, "f")
	fits(t, m)
	wantText(t, m, "cleared in the last 15m ", "11:56:00", "11:51:00")
	wantNoText(t, m, "long-ago", "came-back", "11:58:00")
	var went, begin int
	for i, l := range splitLines(content(m)) {
		switch {
		case strings.Contains(l, " went "):
			went = i
			must.Contain(t, l, "2m00s", "how long it lasted")
		case strings.Contains(l, "unseen-begin"):
			begin = i
			must.Contain(t, l, " ?  11:51", "unseen start")
		}
	}
	must.True(t, went > 0, "the finding cleared last is missing")
	must.Equal(t, begin, went+1, "the one before it is in line")
	narrow := withEvents(t, Options{}, 120, 36, list...)
	press(narrow, "f")
	wantNoText(t, narrow, "cleared in the last")
}

// Without findings, the cleared ones are shown in any window.
func TestClearedFindingsShownInAnyWindow(t *testing.T) {
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{fixture.FreeLock()}))
	fine := inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{fixture.FreeLock()})
	fine.Events = []inspect.Event{foundAgo(time.Minute, inspect.EventCleared, "went")}
	send(m, snapshotArrivedMsg{snapshot: fine})
	press(m, "f")
	fits(t, m)
	wantText(t, m, "Nothing wrong that we can see.", "cleared in the last 15m", "11:59:00")
}

// The pane next to the list shows an advised command in full, so that it can be copied with the mouse.
func TestDetailsShowCommandInFull(t *testing.T) {
	t.Parallel()
	const name = "_c_7f3e0c51-0000-4000-8000-0000000000aa-__WRIT__0000000602"
	for _, width := range []int{80, 120, 199, 200, 220} {
		l := fixture.Orders()
		l.Findings[0].Steps = []inspect.Step{fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, name)}
		m := model(t, Options{}, width, 50, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
		press(m, "f")
		wantText(t, m, name)
	}
}
