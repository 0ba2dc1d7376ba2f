package finding

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// alienChild reports a child of the lock's directory that no library treats as a contender. The
// effect depends on the library. go-zookeeper's Lock fails on it every time and leaves its own
// znode in the queue (go-zookeeper PR #44). Curator sorts it into the queue and can wait for it
// forever (Netflix/curator #281). kazoo and others ignore it.
//
// Cause in the wild: a configuration node or a README in the lock's directory; locks of two kinds on one path.
func alienChild() rule {
	return rule{
		name: "alien-child", severity: inspect.Warning,
		means: "A child of the lock's directory is not a contender. go-zookeeper's Lock fails on it, and Curator " +
			"may wait for it forever.",
		sure:     "`stat` in `zkCli.sh` shows when it was made and whether a session owns it.",
		do:       "Find the program that writes it, make it write elsewhere, then delete the node.",
		not:      "Do not delete it before you know whose it is.",
		evidence: "children",
		restsOn:  []inspect.Aspect{inspect.AspectKind}, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Aliens) == 0 {
			return nil
		}
		what := l.Aliens[0].Cut(32)
		verb := "is"
		if len(l.Aliens) > 1 {
			what, verb = what+" and others", "are"
		}
		harm, confidence := "go-zookeeper's Lock would fail on it every time", recipe.Possible
		switch writer := aliensHurt(l); writer {
		case "go-zookeeper":
			harm, confidence = "go-zookeeper's Lock fails on it every time", recipe.Certain
		case "curator":
			harm, confidence = "Curator may treat it as a contender and wait for it forever", recipe.Likely
		}
		return one(inspect.Finding{
			Confidence: confidence,
			Message:    fmt.Sprintf("%s %s among the contenders: %s", what, verb, harm),
			Evidence:   evidence{"children": escaped(l.Aliens), "cause": "another program keeps its data in the lock's directory"},
			Steps: do(by(wait("find out which program writes it"), zkCLI(c, "stat", l.Node(&inspect.Contender{Name: l.Aliens[0]}))),
				configure("make that program write elsewhere, then delete it")),
		})
	})
}

// aliensHurt is the lock's library that suffers most from other children; empty if none is known to
// suffer.
func aliensHurt(l *inspect.Lock) string {
	worst := ""
	for c := range l.Contenders {
		switch libraryOf(l, c) {
		case "go-zookeeper":
			return "go-zookeeper"
		case "curator":
			worst = "curator"
		}
	}
	if worst == "" && (l.Recipe == "go-zookeeper" || l.Recipe == "curator") {
		worst = l.Recipe
	}
	return worst
}
