package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// A test that sleeps has a reason: the time itself is what is tried or measured, or nothing reports what it
// waits for. In a loop sleep is the pause of a poll; and by the clock of testing/synctest it takes no time.
func TestSleepsOfTestsHaveTheirReason(t *testing.T) {
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
		reasons := make(map[int]bool) // lines that end in a comment, or are one
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
						t.Errorf("%s:%d: wait for the event or poll, or say in a comment why the time has to go by", name, at)
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
