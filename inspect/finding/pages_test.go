package finding

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockscope/inspect"
)

// The command line's page and the package's own list every rule under its severity, and no other.
func TestThePagesListTheRules(t *testing.T) {
	for _, page := range []struct {
		file       string
		heading    *regexp.Regexp // of a severity: its name, and rules that stand beside it
		rule       *regexp.Regexp
		everywhere bool // rules stand on other lines than the heading
	}{
		{"../../docs/cli.md", regexp.MustCompile(`^\| (critical|warning|info) \|`), regexp.MustCompile("`([a-z][a-z-]*)`"), false},
		{"doc.go", regexp.MustCompile(`^// (Critical|Warning|Info):`), regexp.MustCompile(`^//\t([a-z]\S*) `), true},
	} {
		text, err := os.ReadFile(page.file)
		if err != nil {
			t.Fatal(err)
		}
		listed := make(map[inspect.Severity][]string)
		var under inspect.Severity
		for line := range strings.Lines(string(text)) {
			m := page.heading.FindStringSubmatch(line)
			if m != nil {
				under = inspect.Severity(strings.ToLower(m[1]))
			}
			if under == "" || m == nil && !page.everywhere {
				continue
			}
			for _, rule := range page.rule.FindAllStringSubmatch(line, -1) {
				if rule[1] != "rule" { // the head of a table
					listed[under] = append(listed[under], rule[1])
				}
			}
		}
		for severity, names := range contract {
			want, got := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(listed[severity]))
			if !slices.Equal(want, got) {
				t.Errorf("%s lists under %s\n%v, there are\n%v", page.file, severity, got, want)
			}
		}
	}
}
