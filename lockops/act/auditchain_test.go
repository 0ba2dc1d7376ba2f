package act

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// writeLines appends n lines to an audit file.
func writeLines(t *testing.T, a *Audit, n int) {
	t.Helper()
	for i := range n {
		must.Succeed(t, a.write(line{Phase: phaseResult, ActionID: fmt.Sprint(a.actor.Profile, i), Lock: fmt.Sprintf("zk:/%d", i), Action: "release"}))
	}
}

func openTest(t *testing.T, path, profile string) *Audit {
	t.Helper()
	a := must.Have(OpenAudit(time.Now, path, "test", profile))(t)
	t.Cleanup(func() { a.Close() })
	return a
}

func readWhole(t *testing.T, path string) Trail {
	t.Helper()
	return must.Have(ReadTrail(path))(t)
}

// A change to any line but the last is detected, at that line or the next.
func TestChangedTrailsAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLines(t, openTest(t, path, "a"), 4)
	text := must.Have(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if trail := readWhole(t, path); len(trail.Breaks) != 0 || len(trail.Records) != 4 || trail.Last == "" {
		t.Fatalf("as written: %+v", trail)
	}
	without := func(i int) []string { return slices.Delete(slices.Clone(lines), i, i+1) }
	for what, tt := range map[string]struct {
		lines []string
		at    int // the first break
	}{
		"first edited":  {append([]string{strings.Replace(lines[0], "zk:/0", "zk:/9", 1)}, lines[1:]...), 1},
		"last edited":   {append(slices.Clone(lines[:3]), strings.Replace(lines[3], "zk:/3", "zk:/9", 1)), 4},
		"first removed": {without(0), 1},
		"one removed":   {without(2), 3},
		"reordered":     {[]string{lines[0], lines[2], lines[1], lines[3]}, 2},
		"repeated":      {[]string{lines[0], lines[1], lines[1], lines[2], lines[3]}, 3},
		"sum removed":   {[]string{lines[0], lines[1], lines[2], lines[3][:strings.Index(lines[3], sumBefore)] + "}"}, 4},
		"cut":           {[]string{lines[0], lines[1][:40], lines[2], lines[3]}, 2},
	} {
		must.Succeed(t, os.WriteFile(path, []byte(strings.Join(tt.lines, "\n")+"\n"), 0o600))
		if trail := readWhole(t, path); len(trail.Breaks) == 0 || trail.Breaks[0].Line != tt.at {
			t.Errorf("%s: %+v, want line %d", what, trail.Breaks, tt.at)
		}
	}
	must.Succeed(t, os.WriteFile(path, []byte(strings.Join(lines[:3], "\n")+"\n"), 0o600))
	if trail := readWhole(t, path); len(trail.Breaks) != 0 || !strings.Contains(lines[2], trail.Last) {
		t.Errorf("last line removed: %+v, want no break", trail)
	}
}

// When a file is moved away, as logrotate does, a new one is started. No line is lost and each file
// is a valid chain.
func TestMovedTrailIsStartedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a := openTest(t, path, "a")
	writeLines(t, a, 2)
	must.Succeed(t, os.Rename(path, path+".1"))
	writeLines(t, a, 3)
	for file, want := range map[string]int{path: 3, path + ".1": 2} {
		if trail := readWhole(t, file); len(trail.Records) != want || len(trail.Breaks) != 0 {
			t.Errorf("%s: %d records, breaks %+v", file, len(trail.Records), trail.Breaks)
		}
	}
}

// Programs that write to the same file lose no lines and keep the chain valid.
func TestProgramsShareATrail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const each = 25
	var writing sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		a := openTest(t, path, name)
		writing.Go(func() {
			for i := range each {
				if err := a.write(line{Phase: phaseResult, ActionID: fmt.Sprint(name, i), Lock: "zk:/x", Action: "release"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	if trail := readWhole(t, path); len(trail.Records) != 2*each || len(trail.Breaks) != 0 {
		t.Errorf("%d records, breaks %+v", len(trail.Records), trail.Breaks)
	}
}
