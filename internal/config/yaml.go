package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a YAML file. Without them, 100 KiB of brackets or a megabyte of aliases would exhaust
// the machine's memory.
const (
	largestFile = 256 << 10
	deepestYAML = 64
	mostAliases = 100
)

// Decode reads YAML into a value, and refuses unknown keys. Its errors are for the author of the
// text. The library panics on some texts (FuzzLoad found one); Decode turns that into an error.
func Decode(text []byte, into any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is not valid YAML")
		}
	}()
	if err := tooDeep(text); err != nil {
		return err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	var a aliases
	for _, doc := range file.Docs {
		ast.Walk(&a, doc)
	}
	if a.count > mostAliases || a.nested {
		return fmt.Errorf("it has more than %d aliases, or an alias inside an anchor", mostAliases)
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return nil
}

// tooDeep bounds the nesting before the library, which recurses, sees the text. Brackets in quotes count, too.
func tooDeep(text []byte) error {
	depth := 0
	for n, line := range bytes.Split(text, []byte("\n")) {
		depth += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		entries := bytes.Count(line, []byte("- ")) + bytes.Count(line, []byte("? ")) + bytes.Count(line, []byte(": "))
		indent := len(line) - len(bytes.TrimLeft(line, " \t"))
		if max(depth, entries, indent/2) > deepestYAML {
			return fmt.Errorf("line %d: it is nested too deeply", n+1)
		}
		depth -= bytes.Count(line, []byte("]")) + bytes.Count(line, []byte("}"))
		depth = max(0, depth)
	}
	return nil
}

// aliases counts a text's aliases, and notes whether one is inside an anchor.
type aliases struct {
	count  int
	nested bool
}

func (a *aliases) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.AliasNode:
		a.count++
	case *ast.AnchorNode:
		var inside aliases
		ast.Walk(&inside, n.Value)
		a.nested = a.nested || inside.count > 0
	}
	return a
}
