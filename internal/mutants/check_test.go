package main

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	luaparse "github.com/yuin/gopher-lua/parse"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Every mutant compiles; otherwise it would test nothing. Each changed file is type-checked against
// the packages compiled by go list, which takes a fiftieth of the time of a build.
func TestEveryMutantBuilds(t *testing.T) {
	servertest.Long(t)
	all := must.Have(readTable("table"))(t)
	c := newChecker(t, all)
	for _, m := range all {
		text, err := m.apply("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		switch filepath.Ext(m.file) {
		case ".go":
			err = c.check(m.file, text)
		case ".lua":
			_, err = luaparse.Parse(bytes.NewReader(text), m.file)
		default:
			t.Errorf("%s: cannot check whether %s compiles", m.where, m.file)
		}
		must.Be(t, err, nil, m.where, m.name, "does not build")
	}
}

// checker type-checks packages with one changed file.
type checker struct {
	files    *token.FileSet
	packages map[string][]string // the Go files of each directory
	parsed   map[string]*ast.File
	imports  types.Importer
}

func newChecker(t *testing.T, mutants []*mutant) *checker {
	c := &checker{files: token.NewFileSet(), packages: make(map[string][]string), parsed: make(map[string]*ast.File)}
	args := []string{"list", "-export", "-deps", "-f", `{{.ImportPath}}	{{.Export}}	{{if not .Standard}}{{.Dir}}	{{join .GoFiles " "}}{{end}}`}
	for _, m := range mutants {
		if dir := filepath.Dir(m.file); filepath.Ext(m.file) == ".go" && c.packages[dir] == nil {
			c.packages[dir] = []string{}
			args = append(args, "./"+dir)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	out := must.Have(cmd.Output())(t)
	root := must.Have(filepath.Abs("../.."))(t)
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		exports[fields[0]] = fields[1]
		if len(fields) < 4 {
			continue
		}
		if dir, err := filepath.Rel(root, fields[2]); err == nil && c.packages[dir] != nil {
			c.packages[dir] = strings.Fields(fields[3])
		}
	}
	c.imports = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns the first error of a file's package if the file has this text.
func (c *checker) check(file string, text []byte) error {
	dir := filepath.Dir(file)
	changed, err := parser.ParseFile(c.files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var all []*ast.File
	for _, name := range c.packages[dir] {
		path := filepath.Join(dir, name)
		if path == file {
			all = append(all, changed)
			continue
		}
		if c.parsed[path] == nil {
			if c.parsed[path], err = parser.ParseFile(c.files, filepath.Join("../..", path), nil, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		all = append(all, c.parsed[path])
	}
	config := types.Config{Importer: c.imports}
	_, err = config.Check(dir, c.files, all, nil)
	return err
}
