package finding

import (
	"slices"
	"strings"
	"testing"
)

// advised lists the lockscope commands in the advice of all rules, one per line.
func advised() string {
	var lines []string
	for _, text := range []string{"x", "a b", "it's; `x`"} {
		for _, f := range adviceGiven(text) {
			for _, s := range f.Steps {
				if strings.HasPrefix(s.Command, "lockscope ") {
					lines = append(lines, f.Rule+"\t"+s.Command+"\n")
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

// The command line's tests parse testdata/commands.txt, since this package may not import cli.
func TestAdvisedCommandsAreListed(t *testing.T) {
	t.Parallel()
	matches(t, "testdata/commands.txt", advised())
}
