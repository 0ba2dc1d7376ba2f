package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheTableIsOfThisTree: every change can still be made, and the tests that are to notice it are there.
func TestTheTableIsOfThisTree(t *testing.T) {
	all, err := readTable("table")
	if err != nil {
		t.Fatal(err)
	}
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
				t.Errorf("%s: there is no %s in %s", m.where, name, m.pkg)
			}
		}
	}
	t.Logf("%d mutants", len(all))
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testsOf(t *testing.T, dir string) map[string]bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return names
}

func TestParseRefusesHalfABlock(t *testing.T) {
	for _, block := range []string{
		"name\nfile: a.go\n- x\n+ y",                    // nobody notices
		"name\nfile: a.go\n- x\n+ x\ntest: ./a TestA",   // no change
		"name\n- x\n+ y\ntest: ./a TestA",               // where?
		"name\nfile: a.go\n- x\nwhat\ntest: ./a TestA",  // what?
		"n\nfile: a.go\n- x\ntest: ./a T\nequal: never", // noticed or not?
	} {
		if m, err := parse(block); err == nil {
			t.Errorf("%q is %+v", block, m)
		}
	}
	m, err := parse("name\nfile: a.go\n- x\n- y\ntest: ./a TestA TestB")
	if err != nil || m.old != "x\ny" || m.new != "" || m.pattern() != "^(TestA|TestB)$" {
		t.Errorf("%+v, %v", m, err)
	}
}
