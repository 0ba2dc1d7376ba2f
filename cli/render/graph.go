package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// graphForm has the templates of a graph language. node and edge include their texts.
type graphForm struct {
	head, node, edge, tail string
	quote                  *strings.Replacer // makes text safe between its quotes
}

// graphForms are the languages by their -o names.
func graphForms() map[string]graphForm {
	return map[string]graphForm{
		"dot": {
			head: "digraph lock {\n  rankdir=RL;\n  node [shape=box];\n",
			node: "  %s [label=\"%s\"];\n", edge: "  %[1]s -> %[2]s [label=\"%[3]s\"];\n", tail: "}\n",
			quote: strings.NewReplacer(`\`, `\\`, `"`, `\"`),
		},
		"mermaid": {
			head: "graph RL\n", node: "  %s[\"%s\"]\n", edge: "  %[1]s -->|%[3]s| %[2]s\n",
			quote: strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "`", "#96;"),
		},
	}
}

// LockGraph draws the holders and waiters of a lock as dot or mermaid.
func LockGraph(l *inspect.Lock, language string) string {
	form := graphForms()[language]
	var b strings.Builder
	b.WriteString(form.head)
	fmt.Fprintf(&b, form.node, "lock", form.quote.Replace(l.ID.String()+" · "+describe.StateWord(l.State)))
	nodes := make(map[inspect.Untrusted]string)
	everyone := slices.Collect(l.Contenders)
	for i, c := range everyone {
		nodes[c.Name] = fmt.Sprintf("c%d", i)
		fmt.Fprintf(&b, form.node, nodes[c.Name], form.quote.Replace(fmt.Sprintf("%s %s", c.State, c.Who())))
	}
	for _, c := range everyone {
		to, label := "lock", "holds"
		if c.State != inspect.Holding {
			to, label = cmp.Or(nodes[c.Watches], "lock"), "waits for"
		}
		fmt.Fprintf(&b, form.edge, nodes[c.Name], to, label)
	}
	b.WriteString(form.tail)
	return b.String()
}
