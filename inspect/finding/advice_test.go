package finding

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
)

// advised lists the lockscope commands in the advice of all rules, one per line.
func advised() string {
	seen := map[string]bool{}
	for _, text := range []string{"x", "a b", "it's; `x`"} {
		cases, backend := everything(text)
		endless := votes("a", time.Minute)
		endless.ID.Path, endless.Masters[0].NoExpiry, endless.Holders[0].NoExpiry = text, true, true
		obliging := queue("curator", 3)
		obliging.ID.Path = "/" + text
		obliging.Holders[0].HeldSince, obliging.Holders[0].Revocable = now.Add(-time.Hour), true
		one, other := present(endless), present(obliging)
		for _, f := range findingsIn(append(cases, one, other), backend) {
			for _, s := range f.Steps {
				if strings.HasPrefix(s.Command, "lockscope ") {
					seen[f.Rule+"\t"+s.Command+"\n"] = true
				}
			}
		}
	}
	var lines []string
	for line := range seen {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// The command line's tests parse testdata/commands.txt, since this package may not import cli.
func TestAdvisedCommandsAreListed(t *testing.T) {
	t.Parallel()
	const name = "testdata/commands.txt"
	if *update {
		must.Succeed(t, os.WriteFile(name, []byte(advised()), 0o600))
	}
	text := must.Have(os.ReadFile(name))(t)
	if diff := cmp.Diff(string(text), advised()); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, diff)
	}
}
