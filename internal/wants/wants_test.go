// Package wants lists what operators ask of a program like this one, and the tests that show it.
package wants

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// want is something that operators ask for.
type want struct {
	text   string
	answer answer
	// shown are the tests that show it, as FOLDER.Test, with a blank between two; of what is only partly there, those of that part.
	shown string
	// lacks: the part that is not there, and why; empty where all is there.
	lacks string
}

type answer string

const (
	yes    answer = "yes"
	partly answer = "partly"
	no     answer = "no"
)

// group of wants; in one that is whole nothing may be missing altogether but what is excused.
type group struct {
	name    string
	whole   bool
	excused string
	wants   []want
}

// found are the tests of the tree by folder.
func found(t *testing.T) map[string]bool {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	tests := make(map[string]bool)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != root:
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.ToSlash(dir)+"."+m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// Every want that is met names tests that are in the tree, and every other one says what is lacking.
func TestWhatOperatorsAskFor(t *testing.T) {
	tests := found(t)
	count, seen := map[answer]int{}, map[string]bool{}
	for _, g := range groups {
		for _, w := range g.wants {
			count[w.answer]++
			shown := strings.Fields(w.shown)
			switch {
			case w.text == "" || seen[w.text]:
				t.Errorf("%s: %q is empty, or there twice", g.name, w.text)
			case w.answer == yes && (len(shown) == 0 || w.lacks != ""):
				t.Errorf("%s: %q is met: name the tests that show it, and nothing that lacks", g.name, w.text)
			case w.answer == partly && (len(shown) == 0 || w.lacks == ""):
				t.Errorf("%s: %q is met in part: name the tests of that part, and what lacks", g.name, w.text)
			case w.answer == no && (len(shown) > 0 || w.lacks == ""):
				t.Errorf("%s: %q is not met: say why, and name no test", g.name, w.text)
			case w.answer == no && g.whole && !strings.Contains(g.excused, w.text):
				t.Errorf("%s: %q is not met at all", g.name, w.text)
			}
			seen[w.text] = true
			for _, name := range shown {
				if !tests[name] {
					t.Errorf("%s: %q is shown by %s, which is not in the tree", g.name, w.text, name)
				}
			}
		}
	}
	if total := count[yes] + count[partly] + count[no]; total != 126 {
		t.Errorf("%d wants", total)
	}
	t.Logf("%d met, %d in part, %d not", count[yes], count[partly], count[no])
}
