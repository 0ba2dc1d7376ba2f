package arch

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// pathLike matches a folder, which ends in a slash, or a file below one, between backquotes.
var pathLike = regexp.MustCompile("`([a-z][a-zA-Z0-9_.-]*(?:/[a-zA-Z0-9_.-]+)*(?:/|/[a-z0-9_]+\\.(?:go|md|json)))`")

// The pages only name folders and files that exist.
func TestDocsNameExistingFiles(t *testing.T) {
	pages := must.Have(filepath.Glob("../../docs/*.md"))(t)
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md")
	named := 0
	for _, page := range pages {
		text := must.Have(os.ReadFile(page))(t)
		for _, m := range pathLike.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "NAME") {
				continue // a placeholder for something new
			}
			named++
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
	must.True(t, named >= 20, "the pages name", named, "folders and files: does the pattern still match?")
}

// inFile matches names and their file: `file.go` (`name`, `name`), or `name` and `name` in `file.go`.
var inFile = []*regexp.Regexp{
	regexp.MustCompile("(?P<file>`[\\w/]+\\.go`) \\((?P<names>`\\w+`(?:(?:, | and )`\\w+`)*)[);:,]"),
	regexp.MustCompile("(?P<names>`\\w+`(?:(?:, | and )`\\w+`)*) in (?P<file>`[\\w/]+\\.go`)"),
}

var quotedName = regexp.MustCompile("`\\w+`")

// Files declare the names that ARCHITECTURE.md places in them.
func TestArchitectureDocMatchesDeclarations(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/ARCHITECTURE.md"))(t)
	declarations := make(map[string][]map[string]bool) // by suffixes of the path: docs.go, internal/arch/docs.go
	sources(t, func(name string, _ *token.FileSet, f *ast.File) {
		names := make(map[string]bool)
		declared(f, func(id *ast.Ident) { names[id.Name] = true })
		for end := name; ; {
			declarations[end] = append(declarations[end], names)
			_, rest, more := strings.Cut(end, "/")
			if !more {
				return
			}
			end = rest
		}
	})
	flat, looked := strings.Join(strings.Fields(string(text)), " "), 0
	for _, form := range inFile {
		for _, m := range form.FindAllStringSubmatch(flat, -1) {
			file := strings.Trim(m[form.SubexpIndex("file")], "`")
			for _, quoted := range quotedName.FindAllString(m[form.SubexpIndex("names")], -1) {
				name := strings.Trim(quoted, "`")
				looked++
				if !slices.ContainsFunc(declarations[file], func(names map[string]bool) bool { return names[name] }) {
					t.Errorf("ARCHITECTURE.md places %s in %s, which does not declare it", name, file)
				}
			}
		}
	}
	must.True(t, looked >= 12, "only", looked, "names were found in the page")
}

// declared calls see for each name declared in f.
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
