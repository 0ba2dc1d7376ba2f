package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect/finding"
)

// Every rule is explained in lines that fit a terminal, in the words of the rule.
func TestEveryRuleIsExplained(t *testing.T) {
	all := run(t, "explain")
	for _, e := range finding.Explanations() {
		got := run(t, "explain", e.Rule)
		first, _, _ := strings.Cut(e.Do, " ")
		if got.code != 0 || !strings.HasPrefix(got.stdout, e.Rule+" ("+string(e.Severity)+")\n") || !strings.Contains(got.stdout, strings.ReplaceAll(first, "`", "")) {
			t.Errorf("%s: %+v", e.Rule, got)
		}
		for line := range strings.Lines(got.stdout) {
			if ansi.StringWidth(line) > explainedWidth {
				t.Errorf("%s: a line of %d cells", e.Rule, ansi.StringWidth(line))
			}
		}
		if !strings.Contains(all.stdout, e.Rule+"\n") {
			t.Errorf("the list lacks %s", e.Rule)
		}
	}
	if got := run(t, "explain", "no-such"); got.code != exitUsage || !strings.Contains(got.stderr, "lockscope explain") {
		t.Errorf("%+v", got)
	}
}
