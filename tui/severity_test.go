package tui

import (
	"strings"
	"testing"

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
			m := model(t, Options{}, 100, 36, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
			row := lineWith(t, m, l.ID.Path) // the row cuts long rules
			must.Contain(t, row, tt.sign+" "+l.ID.String(), "Locks")
			must.Contain(t, row, cell[:min(len(cell), 9)], "Locks")
			must.Equal(t, screen.Sign(m.Theme(), l).Text, tt.sign, "sign of the chain's verdict")
			goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
			if tt.found != "" {
				wantText(t, m, strings.Fields(tt.found)[0]+" "+rule)
			}
			press(m, "f")
			wantText(t, m, tt.counted)
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
