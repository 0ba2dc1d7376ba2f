package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mutant is one change and the tests that should notice it. In the table it is a block of lines,
// and blocks are separated by empty lines:
//
//	NAME, in words
//	file: lockops/zklease.go
//	- text that is in the file once (several lines: several of these)
//	+ text that replaces it (none: nothing)
//	test: ./lockops TestOne TestTwo/embedded
//
// Instead of "test:" a block may say "equal:" and why the change makes no difference.
type mutant struct {
	name, file string
	old, new   string
	pkg        string
	tests      string
	equivalent string
	where      string        // in the table
	limit      time.Duration // for its tests
}

// allTests, instead of test names, stands for all tests of the package.
const allTests = "*"

// readTable reads all files of a directory.
func readTable(dir string) ([]*mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []*mutant
	names := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		line := 1
		for block := range strings.SplitSeq(string(text), "\n\n") {
			where := fmt.Sprintf("%s:%d", file, line)
			line += strings.Count(block, "\n") + 2
			if strings.TrimSpace(block) == "" || strings.HasPrefix(block, "#") {
				continue
			}
			m, err := parse(strings.Trim(block, "\n"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			if names[m.name] {
				return nil, fmt.Errorf("%s: a second mutant is called %q", where, m.name)
			}
			names[m.name], m.where = true, where
			all = append(all, m)
		}
	}
	return all, nil
}

func parse(block string) (*mutant, error) {
	name, rest, _ := strings.Cut(block, "\n")
	m := &mutant{name: name, limit: limit}
	var old, new []string
	for line := range strings.SplitSeq(rest, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "file:":
			m.file = value
		case "-":
			old = append(old, value)
		case "+":
			new = append(new, value)
		case "test:":
			m.pkg, m.tests, _ = strings.Cut(value, " ")
		case "equal:":
			m.equivalent = value
		default:
			return nil, fmt.Errorf("%q begins with none of file:, -, +, test:, equal: (use one of them)", line)
		}
	}
	m.old, m.new = strings.Join(old, "\n"), strings.Join(new, "\n")
	if m.file == "" || m.old == "" || m.old == m.new || (m.tests == "") == (m.equivalent == "") {
		return nil, fmt.Errorf("%q lacks its file, its change, or the tests that notice it", name)
	}
	return m, nil
}

// apply returns the file with the change.
func (m *mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %q is in %s %d times, not once", m.where, m.old, m.file, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// key distinguishes test runs.
func (m *mutant) key() string { return m.pkg + " " + m.tests }

// pattern returns the argument of go test -run: each test by its whole name, or by its path.
func (m *mutant) pattern() string {
	if m.tests == allTests {
		return "."
	}
	tests := strings.Fields(m.tests)
	name, sub, _ := strings.Cut(tests[0], "/")
	if len(tests) == 1 && sub != "" {
		return "^" + name + "$/" + sub
	}
	for i, test := range tests {
		tests[i], _, _ = strings.Cut(test, "/")
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}
