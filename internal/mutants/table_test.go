package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// Every change still applies, and the tests that should detect it exist.
func TestTableMatchesThisTree(t *testing.T) {
	all := must.Have(readTable("table"))(t)
	known := make(map[string]map[string]bool)
	for _, m := range all {
		if _, err := m.apply("../.."); err != nil {
			t.Error(err)
		}
		if m.equivalent != "" {
			continue
		}
		if known[m.pkg] == nil {
			known[m.pkg] = testsOf(t, filepath.Join("../..", m.pkg))
		}
		for _, test := range strings.FieldsFunc(m.tests, func(r rune) bool { return r == ' ' || r == '|' }) {
			if name, _, _ := strings.Cut(test, "/"); !known[m.pkg][name] {
				t.Errorf("%s: no %s in %s", m.where, name, m.pkg)
			}
		}
	}
	t.Logf("%d mutants", len(all))
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testsOf(t *testing.T, dir string) map[string]bool {
	files := must.Have(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	names := make(map[string]bool)
	for _, file := range files {
		text := must.Have(os.ReadFile(file))(t)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return names
}
