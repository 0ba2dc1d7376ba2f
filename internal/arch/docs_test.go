package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pathLike matches a folder (it ends in a slash) or a file below one between backquotes.
var pathLike = regexp.MustCompile("`([a-z][a-zA-Z0-9_.-]*(?:/[a-zA-Z0-9_.-]+)*(?:/|/[a-z0-9_]+\\.(?:go|md|json)))`")

// The papers that map the repository stay true: each folder and file that they name is there.
func TestThePapersNameWhatIsThere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md")
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pathLike.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "NAME") {
				continue // where something new goes
			}
			named++
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d folders and files: are they still looked for in the right way?", named)
	}
}
