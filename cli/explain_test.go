package cli

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/docs"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

const explainWidth = 96

// shownWords returns the first group of each match of a pattern in the sources below a folder.
func shownWords(t *testing.T, dir, pattern string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			found[string(m[1])] = file
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing in %s (%v)", dir, err)
	}
	return found
}

// Every rule, column, exit code, reason for an undone action and recipe has an explanation, and
// there are no others.
func TestEveryWordIsExplained(t *testing.T) {
	t.Parallel()
	shown := make(map[string]map[string]string)
	shown["column"] = shownWords(t, "../tui", `Title: +"([A-Z0-9# ]+)"`)
	maps.Copy(shown["column"], shownWords(t, "../tui", `t.Header, (?:fmt.Sprintf\(.*?|.*?\+)?" ?([A-Z]{4,})"`))
	maps.Copy(shown["column"], shownWords(t, "../tui", `trendTitle = .*"([A-Z0-9 ]+)"`))
	shown["state"] = make(map[string]string)
	for _, s := range describe.States() {
		shown["state"][string(s)] = "ls"
	}
	heads, _, _ := strings.Cut(run(t, "ls", tour, "-o", "wide").stdout, "\n")
	for _, head := range strings.Fields(heads) {
		shown["column"][head] = "ls"
	}
	shown["error"] = shownWords(t, "../lockops/act", `Reason += "([a-z-]+)"`)
	for _, code := range []int{0, app.ExitNo, app.ExitUsage, app.ExitUnreachable, app.ExitLost, app.ExitInterrupted} {
		shown["error"][strconv.Itoa(code)] = "exit codes"
	}
	all := run(t, "explain")
	for _, e := range finding.Explanations() {
		got := run(t, "explain", e.Rule)
		first, _, _ := strings.Cut(e.Do, " ")
		if !strings.HasPrefix(got.stdout, e.Rule+" ("+string(e.Severity)+")\n") || !strings.Contains(got.stdout, strings.ReplaceAll(first, "`", "")) {
			t.Errorf("%s: %+v", e.Rule, got)
		}
		must.Contain(t, all.stdout, e.Rule+"\n", "the list of words, rule", e.Rule)
	}
	for kind, words := range shown {
		for word, file := range words {
			got := run(t, "explain", word)
			if got.code != 0 || !strings.Contains(got.stdout, "means") || !strings.Contains("\n"+got.stdout, "\n"+word+" (") || !strings.Contains(all.stdout, "\n"+kind) {
				t.Errorf("%s %s of %s has no row in docs/words.md: %+v", kind, word, file, got)
			}
		}
	}
	for _, w := range docs.Columns() {
		must.True(t, shown["column"][w.Name] != "", "explained column does not exist:", w.Name)
	}
	recipes := make(map[string]bool)
	for _, r := range docs.Recipes() {
		recipes[r.Name] = true
		got := run(t, "explain", r.Name)
		if got.code != 0 || !strings.Contains(got.stdout, "based on") || r.Alike != "" && !strings.Contains(got.stdout, "alike") {
			t.Errorf("%s: %+v", r.Name, got)
		}
		must.Contain(t, got.stdout, "A release (", "row under Releases in docs/words.md:", r.Name)
	}
	for _, q := range recipe.Queues() {
		must.True(t, recipes[q.Name], "the recipe", q.Name, "is not explained")
	}
	for _, w := range docs.Releases() {
		if !recipes[w.Name] && w.Name != "any other string" && w.Name != "any other queue" {
			t.Errorf("explained release of an unknown recipe: %s", w.Name)
		}
	}
	run(t, "explain", "no-such").wants(t, app.ExitUsage, "", "lockscope explain")
	for listed := range strings.Lines(all.stdout) {
		name := strings.Fields(listed)[1]
		for line := range strings.Lines(run(t, "explain", name).stdout) {
			if ansi.StringWidth(line) > explainWidth {
				t.Errorf("%s: a line of %d cells", name, ansi.StringWidth(line))
			}
		}
	}
}

// explain accepts the text of a printed error.
func TestAPrintedErrorIsExplained(t *testing.T) {
	t.Parallel()
	got := run(t, "ls", "redis://127.0.0.1:1")
	if got.code != app.ExitUnreachable {
		t.Fatalf("%+v", got)
	}
	if means := run(t, "explain", strings.TrimSpace(got.stderr)); means.code != 0 || !strings.HasPrefix(means.stdout, "refused (connection refused)\n") {
		t.Errorf("%q: %+v", got.stderr, means)
	}
	for said, name := range map[string]string{
		"NOPERM": "noperm", "NOPERM this user has no permissions to run the 'type' command": "noperm", "NOAUTH Authentication required.": "noauth",
		"WRONGPASS invalid username-password pair or user is disabled.": "wrongpass", "ssh: connect to host": "ssh",
	} {
		if means := run(t, "explain", said); means.code != 0 || !strings.HasPrefix(means.stdout, name+" (") {
			t.Errorf("%q: %+v", said, means)
		}
	}
}
