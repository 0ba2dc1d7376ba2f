package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

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
