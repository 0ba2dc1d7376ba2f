package lockops_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The rules that known locks and tutorials break, by the letter of what they are about: ZooKeeper, Redis, Redlock. Each has a
// test by its name.
var rules = map[string]int{"Z": 22, "R": 12, "L": 11}

var ruleTest = regexp.MustCompile(`(?m)^func Test([ZRL]\d+)_`)

// TestEveryRuleHasATest: or docs/locks.md names it, and says why there is none.
func TestEveryRuleHasATest(t *testing.T) {
	tested := make(map[string]bool)
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range ruleTest.FindAllStringSubmatch(read(t, file), -1) {
				tested[m[1]] = true
			}
		}
	}
	page := read(t, "../docs/locks.md")
	for letter, n := range rules {
		for i := range n {
			rule := fmt.Sprint(letter, i+1)
			if !tested[rule] && !regexp.MustCompile(`\b`+rule+`\b`).MatchString(page) {
				t.Errorf("no test is called Test%s_…, and docs/locks.md does not say why", rule)
			}
			delete(tested, rule)
		}
	}
	for rule := range tested {
		t.Errorf("a test is called Test%s_…: there is no such rule", rule)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
