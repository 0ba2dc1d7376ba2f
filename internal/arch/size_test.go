package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// The most lines of a file and of a function. A table of cases is a variable, which has no bound.
const (
	fileLines, functionLines = 450, 70
	// The bounds of tests are those of the longest ones.
	testFileLines, testLines = 460, 110
)

func TestFilesAndFunctionsAreOfAReadableSize(t *testing.T) {
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		mostOfFile, most := fileLines, functionLines
		if strings.HasSuffix(name, "_test.go") {
			mostOfFile, most = testFileLines, testLines
		}
		if n := fset.File(f.Pos()).LineCount() - 1; n > mostOfFile {
			t.Errorf("%s has %d lines, at most %d: a file is about one thing", name, n, mostOfFile)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > most {
				t.Errorf("%s: %s has %d lines, at most %d: give a step of it a name, or its cases a table", name, fn.Name.Name, n, most)
			}
		}
	})
}
