package lockops_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// rules counts the rules that known locks and tutorials break, by letter: ZooKeeper, Redis,
// Redlock. docs/locks.md has a sentence for each, and each has a test named after it.
var rules = map[string]int{"Z": 22, "R": 12, "L": 11}

var (
	anyTest  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	ruleTest = regexp.MustCompile(`^Test([ZRL]\d+)_`)
	// These match a rule on the page, and a test or, before an ellipsis, a prefix of test names.
	ruleNamed = regexp.MustCompile(`\b[ZRL]\d+\b`)
	testNamed = regexp.MustCompile("`(Test\\w+)(…?)`")
)

// Each rule has a test, unless docs/locks.md says that it "has no test". Naming the rule on the
// page is not enough, since that refers to its test.
func TestEveryRuleHasATest(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for name := range tests(t) {
		if m := ruleTest.FindStringSubmatch(name); m != nil {
			tested[m[1]] = true
		}
	}
	page := read(t, "../docs/locks.md")
	known := make(map[string]bool)
	for letter, n := range rules {
		for i := range n {
			rule := fmt.Sprint(letter, i+1)
			known[rule] = true
			must.True(t, tested[rule] || regexp.MustCompile(`\b`+rule+`\s+has\s+no\s+test\b`).MatchString(page),
				"no test is called Test", rule, "_…, and docs/locks.md does not say that it has no test")
		}
	}
	for rule := range tested {
		must.True(t, known[rule], "a test is called Test", rule, "_…, but there is no such rule")
	}
	for _, rule := range ruleNamed.FindAllString(page, -1) {
		must.True(t, known[rule], "docs/locks.md names", rule, "which is not a rule")
	}
}

// The tests that docs/locks.md names for its promises exist.
func TestDocsNameExistingTests(t *testing.T) {
	t.Parallel()
	names, named := tests(t), 0
	for _, m := range testNamed.FindAllStringSubmatch(read(t, "../docs/locks.md"), -1) {
		named++
		found := names[m[1]]
		for name := range names {
			found = found || m[2] != "" && strings.HasPrefix(name, m[1])
		}
		must.True(t, found, "docs/locks.md names", m[0], "which is not a test")
	}
	must.True(t, named >= 8, "the page names", named, "tests; does the pattern still match?")
}

// tests returns the names of the tests in this folder, its subfolders and internal/mutants.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "../internal/mutants/*_test.go"} {
		for _, file := range must.Have(filepath.Glob(pattern))(t) {
			for _, m := range anyTest.FindAllStringSubmatch(read(t, file), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	return string(must.Have(os.ReadFile(file))(t))
}
