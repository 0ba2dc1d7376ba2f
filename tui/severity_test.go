package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// A lock's worst finding decides its sign in its row, above its chain and in the list of findings,
// whatever its state. All three mark a muted finding as muted.
func TestAFindingHasOneSeverityEverywhere(t *testing.T) {
	t.Parallel()
	muted := func(f inspect.Finding) inspect.Finding {
		f.Muted = &inspect.Muted{Until: fixture.In(1 << 40), Reason: "known", By: "me"}
		return f
	}
	leftover := fixture.Trouble("minority-leftover", inspect.Info, "")
	for name, tt := range map[string]struct {
		lock    *inspect.Lock
		finding *inspect.Finding
		sign    string // before the lock
		found   string // before the finding, with its name
		counted string
	}{
		"a leftover that is only possible": {fixture.Minority(), &leftover, "?", "i minority-leftover", "i 1 info"},
		"a leftover":                       {fixture.Minority(), new(fixture.Trouble("minority-leftover", inspect.Warning, "")), "▲", "▲ minority-leftover", "▲ 1 warning"},
		"a split":                          {fixture.Split(), new(fixture.Trouble("split-quorum", inspect.Critical, "")), "✖", "✖ split-quorum", "✖ 1 critical"},
		"a split that may pass":            {fixture.Split(), nil, "?", "", "no findings"},
		"a muted split":                    {fixture.Split(), new(muted(fixture.Trouble("split-quorum", inspect.Critical, ""))), "?", "✖ split-quorum", "1 muted"},
		"a muted contender":                {fixture.Orders(), new(muted(fixture.Trouble("persistent-contender", inspect.Critical, ""))), "●", "✖ persistent-contender", "1 muted"},
	} {
		t.Run(name, func(t *testing.T) {
			l := tt.lock
			l.Findings = nil
			rule, cell := "", ""
			if tt.finding != nil {
				l.Findings = []inspect.Finding{*tt.finding}
				if rule, cell = tt.finding.Rule, tt.finding.Rule; tt.finding.Muted != nil {
					rule, cell = rule+" (muted)", "muted"
				}
			}
			m := model(t, Options{}, 100, 36, snapshotOf(l))
			row := lineWith(t, m, l.ID.Path) // the row cuts long rules
			must.Contain(t, row, tt.sign+" "+l.ID.String(), "Locks")
			must.Contain(t, row, cell[:min(len(cell), 9)], "Locks")
			must.Equal(t, screen.Sign(m.Theme(), l).Text, tt.sign, "sign of the chain's verdict")
			goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
			if tt.found != "" {
				wantText(t, m, strings.Fields(tt.found)[0]+" "+rule)
			}
			shows(t, m, "f", tt.counted)
			if tt.found != "" {
				wantText(t, m, tt.found)
			}
		})
	}
}

// lineWith is the first line of the screen that contains a text.
func lineWith(t *testing.T, m *Model, text string) string {
	t.Helper()
	for _, line := range splitLines(content(m)) {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("no line contains %q:\n%s", text, content(m))
	return ""
}

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
	hides(t, narrow, "f", "cleared in the last")
}

// Without findings, the cleared ones are shown in any window.
func TestClearedFindingsShownInAnyWindow(t *testing.T) {
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{fixture.FreeLock()}))
	fine := inspect.NewSnapshot(fixture.Noon, fixture.Backends()[:1], []*inspect.Lock{fixture.FreeLock()})
	fine.Events = []inspect.Event{foundAgo(time.Minute, inspect.EventCleared, "went")}
	deliver(m, fine)
	press(m, "f")
	wantText(t, m, "Nothing wrong that we can see.", "cleared in the last 15m", "11:59:00")
}

// The pane next to the list shows an advised command in full, so that it can be copied with the mouse.
func TestDetailsShowCommandInFull(t *testing.T) {
	t.Parallel()
	const name = "_c_7f3e0c51-0000-4000-8000-0000000000aa-__WRIT__0000000602"
	for _, width := range []int{80, 120, 199, 200, 220} {
		l := fixture.Orders()
		l.Findings[0].Steps = []inspect.Step{fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, name)}
		m := model(t, Options{}, width, 50, snapshotOf(l))
		shows(t, m, "f", name)
	}
}
