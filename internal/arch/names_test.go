package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// homemade are words that name nothing in the field, each with the word that does. No identifier has one of them as a part.
var homemade = map[string]string{
	"told": "reported", "tell": "report", "teller": "reporter", "telling": "reports",
	"calm": "debounce", "sinking": "the name of the delay",
	"knot": "cycle", "tangle": "the blocking tree", "hangers": "dependents",
	"fate": "lateUntil", "asleep": "breakerOpenUntil",
	"lapse": "expire", "revive": "renew", "aside": "auxiliary", "beside": "auxiliary, or split for what stands on one screen",
	"stir": "recheck", "agenda": "the expiry queue", "zkmates": "zkcompat",
	"bout": "run", "arena": "target", "lively": "NeedsFastTick", "crumb": "the route", "opener": "the back stack",
	"ill": "unhealthy", "ward": "all findings",
}

// verbs have one meaning as names of functions and methods; every function that bears one is listed, with what is done to what.
var verbs = map[string]struct {
	means string
	in    []string
}{
	"take": {"removes what is there and returns it", []string{
		"inspect/internal/stall", "inspect/redissource", "inspect/zksource", "internal/connect", "internal/zkserver", "lockops",
	}},
	"put":  {"stores a value under its key", []string{"inspect", "inspect/redissource", "tui/findings"}},
	"ask":  {"asks a lock's holder to let go", []string{"cli", "inspect/describe", "lockops/act", "tui/chain"}},
	"note": {"nothing: record, report or set says it", nil},
	"tell": {"nothing: report says it", nil},
}

// parts are the words of an identifier, in lower case.
func parts(name string) []string {
	var words []string
	start := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] >= 'A' && name[i] <= 'Z' && (name[i-1] < 'A' || name[i-1] > 'Z') || name[i] == '_' {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return words
}

// declared calls see for each name that a file declares.
func declared(f *ast.File, see func(id *ast.Ident)) {
	idents := func(list []*ast.Ident) {
		for _, id := range list {
			see(id)
		}
	}
	defined := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				see(id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			see(n.Name)
		case *ast.TypeSpec:
			see(n.Name)
		case *ast.ValueSpec:
			idents(n.Names)
		case *ast.Field:
			idents(n.Names)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				defined(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				defined(n.Key, n.Value)
			}
		}
		return true
	})
}

// A test's own name is a sentence, in which a word may have its everyday sense.
func TestNamesAreTheFields(t *testing.T) {
	if got := parts("wasToldAtURL_x"); !slices.Equal(got, []string{"was", "told", "at", "url", "x"}) {
		t.Errorf("parts: %q", got)
	}
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		declared(f, func(id *ast.Ident) {
			for _, word := range parts(id.Name) {
				if better, bad := homemade[word]; bad && !strings.HasPrefix(id.Name, "Test") {
					t.Errorf("%s:%d: %s: say %s", name, fset.Position(id.Pos()).Line, id.Name, better)
				}
			}
		})
	})
}

// Tests name their own helpers as they like: a test's ask is read where it stands.
func TestAVerbHasOneMeaning(t *testing.T) {
	used := make(map[string][]string)
	sources(t, func(name string, fset *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		dir := name[:max(0, strings.LastIndexByte(name, '/'))]
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			verb := parts(fn.Name.Name)[0]
			v, listed := verbs[verb]
			if !listed {
				continue
			}
			used[verb] = append(used[verb], dir)
			if !slices.Contains(v.in, dir) {
				t.Errorf("%s:%d: %s: %s %s", name, fset.Position(fn.Pos()).Line, fn.Name.Name, verb, v.means)
			}
		}
	})
	for verb, v := range verbs {
		for _, dir := range v.in {
			if !slices.Contains(used[verb], dir) {
				t.Errorf("%s: no function of %s is called so any more", verb, dir)
			}
		}
	}
}

// Errors of what a command calls reach people as they stand: they name the operation and what it was done to, and no package.
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
