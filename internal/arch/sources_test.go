package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// sources calls see for each Go file of the repository, including tests and nested modules.
func sources(t *testing.T, see func(name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	must.Succeed(t, err)
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
	must.Succeed(t, err)
	if files < 100 {
		t.Fatalf("only %d files found: is the repository root right?", files)
	}
}

// Users read these errors as they are, so they name the operation and its object, not the Go package.
func TestErrorsNameNoPackage(t *testing.T) {
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		dir := name[:max(0, strings.LastIndexByte(name, '/'))]
		if strings.HasSuffix(name, "_test.go") || !slices.Contains([]string{"inspect", "inspect/zkadmin", "lockops", "lockops/act", "lockops/contend"}, dir) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"`+f.Name.Name+": ") {
				t.Errorf("%s:%d: %s: begin with the operation, not with the package", name, fset.Position(lit.Pos()).Line, lit.Value)
			}
			return true
		})
	})
}

// The maximum lines of a file and of a function. A table of cases is a variable, which has no limit.
const (
	fileLines, functionLines = 450, 70
	// The bounds for tests match the longest ones.
	testFileLines, testLines = 460, 110
)

func TestFilesAndFunctionsStayShort(t *testing.T) {
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		mostOfFile, most := fileLines, functionLines
		if strings.HasSuffix(name, "_test.go") {
			mostOfFile, most = testFileLines, testLines
		}
		if n := fset.File(f.Pos()).LineCount() - 1; n > mostOfFile {
			t.Errorf("%s has %d lines, at most %d are allowed: split it", name, n, mostOfFile)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > most {
				t.Errorf("%s: %s has %d lines, at most %d are allowed: extract a function, or move its cases into a table", name, fn.Name.Name, n, most)
			}
		}
	})
}

// A test that sleeps states its reason: it tests or measures time itself, or no event reports what
// it waits for. In a loop, a sleep is the pause of a poll. On testing/synctest's clock it takes no
// time.
func TestSleepsInTestsHaveReasons(t *testing.T) {
	looked := 0
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, i := range f.Imports {
			if i.Path.Value == `"testing/synctest"` {
				return
			}
		}
		line := func(p token.Pos) int { return fset.Position(p).Line }
		reasons := make(map[int]bool) // lines with a comment
		for _, c := range f.Comments {
			for n := line(c.Pos()); n <= line(c.End()); n++ {
				reasons[n] = true
			}
		}
		walk := func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				return false
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" && isName(s.X, "time") {
					looked++
					if at := line(n.Pos()); !reasons[at] && !reasons[at-1] {
						t.Errorf("%s:%d: wait for the event or poll, or explain the sleep in a comment", name, at)
					}
				}
			}
			return true
		}
		ast.Inspect(f, walk)
	})
	if looked == 0 {
		t.Error("no sleep found: is the search still right?")
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// The lines of README.md for using a checkout from another module work.
func TestAnotherModuleCanUseACheckout(t *testing.T) {
	servertest.Long(t) // it compiles everything again
	root := must.Have(filepath.Abs("../.."))(t)
	readme := must.Have(os.ReadFile(filepath.Join(root, "README.md")))(t)
	lines := regexp.MustCompile("(?s)```\n(require github.com/lockscope.*?)```").FindStringSubmatch(string(readme))
	if lines == nil {
		t.Fatal("README.md shows no lines for go.mod")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/consumer\n\ngo 1.26\n\n" + strings.ReplaceAll(lines[1], "../lockscope", root), "go.sum": "", "main.go": ""} {
		from := map[string]string{"go.sum": filepath.Join(root, "go.sum"), "main.go": "testdata/consumer/main.go"}[name]
		if from != "" {
			copied := must.Have(os.ReadFile(from))(t)
			text = string(copied)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := run.CombinedOutput(); err != nil || string(out) != "zk:/locks/deploy\n" {
		t.Errorf("%v: %s", err, out)
	}
}
