package main

import (
	"fmt"
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

// TestSummaryOfSeveralRuns: each mutant is counted once, by its newest verdict, in the part of the table that it stands in.
func TestSummaryOfSeveralRuns(t *testing.T) {
	var runs []string
	for i, output := range []string{
		"equal     d: because\nSURVIVED  a (twice) (TestA, 1.0 s)\nkilled    b (TestB TestC, 12.5 s)\n          a_test.go:1: no\n",
		"killed    a (twice) (TestA, 2.0 s)\nNO BUILD  c (TestC, 0.1 s)\n1 mutants: 1 killed\n",
	} {
		runs = append(runs, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		if err := os.WriteFile(runs[i], []byte(output), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := []*mutant{
		{name: "a (twice)", where: "table/one.txt:1"},
		{name: "b", where: "table/one.txt:5"},
		{name: "c", where: "table/two.txt:1"},
		{name: "d", where: "table/two.txt:9", equivalent: "because"},
		{name: "e", where: "table/two.txt:20"},
	}
	var got strings.Builder
	if err := summarize(&got, all, runs...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| one | 2 | 2 | 0 | 0 | 0 |\n", "| two | 3 | 0 | 1 | 1 | 1 |\n", "| all | 5 | 2 | 1 | 1 | 1 |\n",
		"- c: **no build**.\n", "- d: because.\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is missing in\n%s", want, got.String())
		}
	}
}

// TestComplaintIsWhatTheTestSays, not what the framework says around it.
func TestComplaintIsWhatTheTestSays(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    a_test.go:7: got 1\nFAIL\n": "a_test.go:7: got 1",
		"panic: test timed out after 2m0s\n\trunning tests:\n":   "panic: test timed out after 2m0s",
		"killed by the system\n":                                 "killed by the system",
	} {
		if got := complaint([]byte(out)); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
