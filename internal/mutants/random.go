package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// change is a piece of a file, from one offset to another, and the text that replaces it.
type change struct {
	file     string
	line     int
	from, to int
	text     string
}

// The kinds of random changes, each as likely as the others: most packages have far more constants than returns.
const (
	operators = iota
	conditions
	constants
	statements
	returns
	kinds
)

// swapped maps an operator to its replacement.
var swapped = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
	token.GEQ: token.GTR, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.REM: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND, token.AND: token.OR, token.OR: token.AND,
}

// finder collects the changes that can be made in one file.
type finder struct {
	path  string
	text  []byte
	files *token.FileSet
	found *[kinds][]change
}

// findChanges returns the possible changes to a package's files, by kind. Some will not compile.
func findChanges(files []string) (found [kinds][]change, err error) {
	for _, path := range files {
		f := &finder{path: path, files: token.NewFileSet(), found: &found}
		if f.text, err = os.ReadFile(path); err != nil {
			return found, err
		}
		parsed, err := parser.ParseFile(f.files, path, f.text, parser.SkipObjectResolution)
		if err != nil {
			return found, err
		}
		ast.Inspect(parsed, f.visit)
	}
	return found, nil
}

func (f *finder) offset(at token.Pos) int { return f.files.Position(at).Offset }

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) add(kind int, from, to token.Pos, text string) {
	at := f.files.Position(from)
	f.found[kind] = append(f.found[kind], change{f.path, at.Line, at.Offset, f.offset(to), text})
}

func (f *finder) replace(kind int, n ast.Node, text string) { f.add(kind, n.Pos(), n.End(), text) }

// visit adds the changes of one node. It returns false if there are none inside it.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field: // a tag is not a constant
		return n.Tag == nil
	case *ast.BinaryExpr:
		if to, ok := swapped[n.Op]; ok {
			f.add(operators, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
		}
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if to, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.replace(constants, n, to)
		}
	case *ast.IfStmt:
		f.replace(conditions, n.Cond, "!("+f.source(n.Cond)+")")
		if n.Else == nil {
			f.replace(statements, n, "")
		}
	case *ast.CaseClause:
		for _, e := range n.List {
			if _, ok := e.(*ast.BinaryExpr); ok {
				f.replace(conditions, e, "!("+f.source(e)+")")
			}
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.replace(statements, n, "")
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt, *ast.DeferStmt:
		f.replace(statements, n, "")
	case *ast.FuncDecl:
		f.results(n.Type, n.Body)
	case *ast.FuncLit:
		f.results(n.Type, n.Body)
	}
	return true
}

// literal adds one to a number, and a letter to a text.
func (f *finder) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT, token.FLOAT:
		f.replace(constants, n, "("+n.Value+"+1)")
	case token.STRING:
		end := len(n.Value) - 1
		f.replace(constants, n, n.Value[:end]+"x"+n.Value[end:])
	}
}

// results replaces each value that a function returns with the zero value of its type.
func (f *finder) results(t *ast.FuncType, body *ast.BlockStmt) {
	if t.Results == nil || body == nil {
		return
	}
	var types []string
	for _, field := range t.Results.List {
		types = append(types, slices.Repeat([]string{f.source(field.Type)}, max(1, len(field.Names)))...)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == len(types) {
			for i, e := range r.Results {
				if !slices.Contains([]string{"nil", "0", `""`, "false", types[i] + "{}"}, f.source(e)) {
					f.replace(returns, e, "*new("+types[i]+")")
				}
			}
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
}

// mutant returns the change as a mutant for all tests of the package.
func (c change) mutant(pkg string, limit time.Duration) (*mutant, error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	changed := slices.Concat(text[:c.from], []byte(c.text), text[c.to:])
	return &mutant{
		name: fmt.Sprintf("%s:%d", c.file, c.line), file: c.file, old: string(text), new: string(changed),
		pkg: pkg, tests: allTests, limit: limit,
	}, nil
}

// difference returns the lines that differ between two texts, with - and + before them.
func difference(old, new string) string {
	before, after := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	var b strings.Builder
	for _, line := range before {
		b.WriteString("  - " + line)
	}
	for _, line := range after {
		b.WriteString("  + " + line)
	}
	return b.String()
}

// goFiles returns a package's files, relative to the working directory.
func goFiles(ctx context.Context, pkg string) (files []string, err error) {
	list, err := exec.CommandContext(ctx, "go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}} {{end}}`, pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, path := range strings.Fields(string(list)) {
		if path, err = filepath.Rel(here, path); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// runRandom makes n random changes in a package, one at a time, and prints those that its own tests do not notice.
func runRandom(ctx context.Context, pkg string, n int, seed uint64) error {
	files, err := goFiles(ctx, pkg)
	if err != nil {
		return err
	}
	found, err := findChanges(files)
	if err != nil {
		return err
	}
	lab, err := newLab()
	if err != nil {
		return err
	}
	defer lab.close()
	whole := &mutant{pkg: pkg, tests: allTests, limit: limit}
	if err := lab.unchanged(ctx, whole); err != nil {
		return err
	}
	most := 10*time.Second + 5*lab.took[whole.key()]
	random := rand.New(rand.NewPCG(seed, 0))
	counts := make(map[string]int)
	for counts[dead]+counts[survived] < n {
		c, ok := draw(random, &found)
		if !ok {
			break // there are no more
		}
		m, err := c.mutant(pkg, most)
		if err != nil {
			return err
		}
		verdict, why, _, err := lab.verdict(ctx, m)
		if err != nil {
			return err
		}
		counts[verdict]++
		if verdict != unbuilt {
			fmt.Printf("%s %s\n%s  %s\n", verdict, m.name, difference(m.old, m.new), why)
		}
	}
	n = counts[dead] + counts[survived]
	fmt.Printf("%s, seed %d: the package's tests noticed %d of %d random changes (%.0f %%); %d others did not compile\n",
		pkg, seed, counts[dead], n, 100*float64(counts[dead])/float64(max(1, n)), counts[unbuilt])
	return nil
}

// draw removes a random change from those found. It picks the kind first.
func draw(r *rand.Rand, found *[kinds][]change) (change, bool) {
	var some []int
	for kind := range found {
		if len(found[kind]) > 0 {
			some = append(some, kind)
		}
	}
	if len(some) == 0 {
		return change{}, false
	}
	of := &found[some[r.IntN(len(some))]]
	at := r.IntN(len(*of))
	c := (*of)[at]
	*of = slices.Delete(*of, at, at+1)
	return c, true
}
