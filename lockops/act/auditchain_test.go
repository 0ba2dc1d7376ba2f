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

// writeLines has an audit file write so many lines.
func writeLines(t *testing.T, a *Audit, n int) {
	t.Helper()
	for i := range n {
		must.Succeed(t, a.write(line{Phase: phaseResult, ActionID: fmt.Sprint(a.actor.Profile, i), Lock: fmt.Sprintf("zk:/%d", i), Action: "release"}))
	}
}

func openLimited(t *testing.T, path, profile string, limit int64) *Audit {
	t.Helper()
	a := must.Have(OpenAudit(time.Now, path, "test", profile))(t)
	t.Cleanup(func() { a.Close() })
	a.limit = limit
	return a
}

func readWhole(t *testing.T, path string) Trail {
	t.Helper()
	trail := must.Have(ReadTrail(path))(t)
	return trail
}

// Whatever is done to any line but the end of the file is seen, at that line or the next.
func TestChangedTrailsAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeLines(t, openLimited(t, path, "a", auditLimit), 4)
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
		"sum taken out": {[]string{lines[0], lines[1], lines[2], lines[3][:strings.Index(lines[3], sumBefore)] + "}"}, 4},
		"cut":           {[]string{lines[0], lines[1][:40], lines[2], lines[3]}, 2},
	} {
		must.Succeed(t, os.WriteFile(path, []byte(strings.Join(tt.lines, "\n")+"\n"), 0o600))
		if trail := readWhole(t, path); len(trail.Breaks) == 0 || trail.Breaks[0].Line != tt.at || trail.Breaks[0].File != path {
			t.Errorf("%s: %+v, want line %d", what, trail.Breaks, tt.at)
		}
	}
	must.Succeed(t, os.WriteFile(path, []byte(strings.Join(lines[:3], "\n")+"\n"), 0o600))
	if trail := readWhole(t, path); len(trail.Breaks) != 0 || !strings.Contains(lines[2], trail.Last) {
		t.Errorf("the end removed shows by the last sum alone: %+v", trail)
	}
}

// Two programs fill several files together: no line is lost, and all of it is one chain.
func TestTrailsAreRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const each, limit = 25, 2000
	var writing sync.WaitGroup
	kept := openLimited(t, path, "kept", limit) // the others put its file away before it writes again
	writeLines(t, kept, 1)
	for _, name := range []string{"a", "b"} {
		a := openLimited(t, path, name, limit)
		writing.Go(func() {
			for i := range each {
				if err := a.write(line{Phase: phaseResult, ActionID: fmt.Sprint(name, i), Lock: "zk:/x", Action: "release"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	writeLines(t, kept, 1)
	files, whole := trailFiles(path)
	trail := readWhole(t, path)
	if whole && len(trail.Records) != 2*each+2 || len(trail.Breaks) != 0 || trail.Damaged != 0 || len(files) < 3 {
		t.Errorf("%d records in %v, breaks %+v", len(trail.Records), files, trail.Breaks)
	}
	writeLines(t, openLimited(t, path, "c", limit), 200) // far more than is kept
	files, whole = trailFiles(path)
	trail = readWhole(t, path)
	if whole || len(files) != auditKept+1 || len(trail.Breaks) != 0 || len(trail.Records) == 0 || len(trail.Records) > 100 {
		t.Errorf("%d records in %d files, breaks %+v", len(trail.Records), len(files), trail.Breaks)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 2*limit || info.Mode().Perm() != auditMode {
			t.Errorf("%s: %v, %v", f, info, err)
		}
	}
	must.Succeed(t, os.Remove(older(path, 3)))
	if trail := readWhole(t, path); len(trail.Breaks) != 1 || trail.Breaks[0].File != older(path, 2) || trail.Breaks[0].Line != 1 {
		t.Errorf("a file removed: %+v", trail.Breaks)
	}
}
