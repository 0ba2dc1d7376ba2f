// Package arch tests the imports between packages, and other rules for the source tree.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

const module = "github.com/lockscope/lockscope/"

// imports maps the folder of each package to the imports of its files, without tests and nested
// modules.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	must.Succeed(t, err)
	all := make(map[string][]string)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || name != root && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		list := all[dir]
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		all[dir] = list
		return nil
	})
	must.Succeed(t, err)
	return all
}

// ours returns the folders of this module's packages among imports.
func ours(list []string) []string {
	var own []string
	for _, p := range list {
		if dir, ok := strings.CutPrefix(p, module); ok {
			own = append(own, dir)
		}
	}
	return own
}

func under(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// screens has the folders of tui with screens or shared parts of screens, each with those that it may
// import.
var screens = map[string][]string{
	"tui/backends": nil,
	"tui/chain":    {"tui/lanes"},
	"tui/clients":  nil,
	"tui/events":   nil,
	"tui/findings": nil,
	"tui/lab":      {"tui/lanes"},
	"tui/lanes":    nil,
	"tui/locks":    {"tui/chain"},
	"tui/release":  nil,
	"tui/timeline": {"tui/lanes"},
}

// rules list the packages of this module that a folder and those below it may import. All may import
// internal.
var rules = []struct {
	of   string
	only bool // not the folders below
	may  []string
}{
	{of: "theme", may: nil},
	{of: "tui/widget", may: []string{"theme"}},
	{of: "tui/screen", may: []string{"tui/widget", "theme", "inspect/describe", "inspect/recipe", "inspect/ticket", "inspect"}},
	{of: "inspect/ticket", may: []string{"inspect", "inspect/recipe", "inspect/describe", "inspect/jsonform"}},
	{of: "inspect/jsonform", may: []string{"inspect", "inspect/recipe"}},
	{of: "inspect/describe", may: []string{"inspect", "inspect/recipe"}},
	{of: "inspect/recipe", may: nil},
	{of: "inspect", only: true, may: []string{"inspect/recipe", "inspect/internal"}},
	{of: "inspect/zksource/tree", may: []string{"inspect", "inspect/recipe", "inspect/internal/sourcekit"}},
	{of: "inspect/zksource/ensemble", may: []string{"inspect", "inspect/recipe", "inspect/zkadmin"}},
	{of: "inspect/finding", may: []string{"inspect", "inspect/recipe", "inspect/describe"}},
	{of: "internal", may: []string{"inspect/recipe"}},
}

func TestPackagesImportOnlyWhatIsAllowed(t *testing.T) {
	all := imports(t)
	for _, r := range rules {
		for dir, list := range all {
			if dir != r.of && (r.only || !under(dir, r.of)) {
				continue
			}
			for _, p := range ours(list) {
				ok := under(p, "internal") || under(p, dir) || slices.ContainsFunc(r.may, func(m string) bool { return p == m || m != "inspect" && under(p, m) })
				must.True(t, ok, dir, "imports", p, "which is not allowed in", r.of)
			}
		}
	}
}

// The tree of znodes is pure: it imports no ZooKeeper client, network or context.
func TestTheTreeIsPure(t *testing.T) {
	for _, p := range imports(t)["inspect/zksource/tree"] {
		if strings.Contains(p, "go-zookeeper") || p == module+"internal/connect" || p == "net" || p == "context" {
			t.Errorf("inspect/zksource/tree imports %s", p)
		}
	}
}

// A screen may import another only as a part of itself.
func TestScreensImportOnlyTheirParts(t *testing.T) {
	all := imports(t)
	for dir, list := range all {
		if path.Dir(dir) != "tui" || slices.Contains([]string{"tui/widget", "tui/screen", "tui/internal"}, dir) {
			continue
		}
		shows, known := screens[dir]
		must.True(t, known, dir, "is a folder of tui missing in screens")
		for _, p := range ours(list) {
			if p == "tui" || path.Dir(p) == "tui" && p != "tui/widget" && p != "tui/screen" && !slices.Contains(shows, p) {
				t.Errorf("%s imports %s", dir, p)
			}
		}
	}
	for dir := range screens {
		must.True(t, all[dir] != nil, dir, "is in screens but does not exist")
	}
}

// Commands do not import each other.
func TestCommandsDoNotImportEachOther(t *testing.T) {
	for dir, list := range imports(t) {
		if path.Dir(dir) != "cli" {
			continue
		}
		for _, p := range ours(list) {
			if under(p, "cli") && (p != "cli/app" && p != "cli/render" || dir == "cli/render") {
				t.Errorf("%s imports %s", dir, p)
			}
		}
	}
}

// Readers never write: nothing under inspect imports the locks, screens or commands. lockops itself
// imports only inspect/recipe.
func TestReadersDoNotWrite(t *testing.T) {
	for dir, list := range imports(t) {
		for _, p := range ours(list) {
			if under(dir, "inspect") && (under(p, "lockops") || under(p, "tui") || under(p, "cli") || under(p, "theme")) {
				t.Errorf("%s imports %s", dir, p)
			}
			if dir == "lockops" && p != "inspect/recipe" && !under(p, "internal") {
				t.Errorf("%s imports %s", dir, p)
			}
		}
	}
}

// The actions use the reader of one Redis server, not the source that watches many.
func TestActionsReadOneServer(t *testing.T) {
	all := imports(t)
	for _, p := range ours(all["lockops/act"]) {
		if under(p, "inspect/redissource") && p != "inspect/redissource/node" {
			t.Errorf("lockops/act imports %s", p)
		}
	}
	for _, p := range ours(all["inspect/redissource/node"]) {
		must.True(t, p != "inspect/redissource", "inspect/redissource/node imports", p)
	}
}

// Package describe has no colours, since the command line prints its words, too.
func TestDescribeKnowsNoColour(t *testing.T) {
	for _, p := range imports(t)["inspect/describe"] {
		if strings.Contains(p, "lipgloss") || strings.Contains(p, "bubble") || p == module+"theme" {
			t.Errorf("inspect/describe imports %s", p)
		}
	}
}

// Widgets and themes know nothing about locks.
func TestWidgetsKnowNoLock(t *testing.T) {
	for dir, list := range imports(t) {
		if !under(dir, "tui/widget") && !under(dir, "theme") {
			continue
		}
		for _, p := range ours(list) {
			if under(p, "inspect") || under(p, "lockops") {
				t.Errorf("%s imports %s", dir, p)
			}
		}
	}
}
