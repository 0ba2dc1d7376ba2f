package finding

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockscope/inspect"
)

// The package's documentation has every rule under its severity, and no other.
func TestTheDocumentationHasTheRules(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	heading, row := regexp.MustCompile(`^// (Critical|Warning|Info):`), regexp.MustCompile(`^//\t([a-z]\S*) `)
	listed := make(map[inspect.Severity][]string)
	var under inspect.Severity
	for line := range strings.Lines(string(text)) {
		if m := heading.FindStringSubmatch(line); m != nil {
			under = inspect.Severity(strings.ToLower(m[1]))
		}
		if m := row.FindStringSubmatch(line); m != nil && m[1] != "rule" { // the head of the table
			listed[under] = append(listed[under], m[1])
		}
	}
	for severity, names := range contract {
		want, got := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(listed[severity]))
		if !slices.Equal(want, got) {
			t.Errorf("under %s stand\n%v, there are\n%v", severity, got, want)
		}
	}
}
