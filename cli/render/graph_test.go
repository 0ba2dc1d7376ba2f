package render

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestLockGraph(t *testing.T) {
	node := func(name string, session int64, label string) inspect.Znode {
		return inspect.Znode{Name: name, Known: true, EphemeralOwner: session, Data: []byte(label)}
	}
	l, _ := inspect.Directory{Children: []inspect.Znode{
		node("a0000000001", 1, `me "quoted" <b>`), node("b0000000002", 2, "you"),
	}}.Lock(inspect.ID{Backend: "zk", Path: "/l"}, time.Time{})
	for form, want := range map[string]string{
		"dot": `digraph lock {
  rankdir=RL;
  node [shape=box];
  lock [label="zk:/l · contended"];
  c0 [label="holding me \"quoted\" <b>"];
  c1 [label="waiting you"];
  c0 -> lock [label="holds"];
  c1 -> c0 [label="waits for"];
}
`,
		"mermaid": `graph RL
  lock["zk:/l · contended"]
  c0["holding me #quot;quoted#quot; #lt;b#gt;"]
  c1["waiting you"]
  c0 -->|holds| lock
  c1 -->|waits for| c0
`,
	} {
		must.Equal(t, LockGraph(l, form), want, form)
	}
}
