package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources calls see for each Go file of the repository, tests and the modules within among them.
func sources(t *testing.T, see func(name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		see(name, fset, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Fatalf("%d files were looked at: is the repository where it was?", files)
	}
}

// hollow matches a sentence that only turns a name round, as in "limit is how long we wait": the comment of a function names what
// it returns, that of a value its unit, and both their reasons.
var hollow = regexp.MustCompile(`(?i)^((the|an?|its) )?[\w.\[\]]+ ((is|are|was|were) (how|what|when|who|whom|whose|whether|where|which|why)|(says?|tells?) (that|how|what|when|who|whom|whose|whether|where|which|why))\b`)

// sentence is the space between two sentences, or two parts of one.
var sentence = regexp.MustCompile(`[.:;] `)

func TestCommentsAreNotHollow(t *testing.T) {
	for text, want := range map[string]bool{
		"limit is how long we wait":               true,
		"read is a table. Its limit says whether": true,
		"limit bounds the wait, in rows":          false,
		"what is seen, and how it is to be drawn": false,
		"A member that says that it leads":        false,
	} {
		if got := len(hollowParts(text)) > 0; got != want {
			t.Errorf("%q: hollow %v", text, got)
		}
	}
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		for _, c := range f.Comments {
			for _, s := range hollowParts(c.Text()) {
				t.Errorf("%s:%d: %q: a comment has a reason, a unit or a source", name, fset.Position(c.Pos()).Line, s)
			}
		}
	})
}

func hollowParts(comment string) []string {
	var found []string
	for _, s := range sentence.Split(strings.Join(strings.Fields(comment), " "), -1) {
		if hollow.MatchString(s) {
			found = append(found, s)
		}
	}
	return found
}
