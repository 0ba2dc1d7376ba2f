package finding

import (
	"slices"

	"github.com/lockscope/lockscope/inspect"
)

// Explanation of a rule, in the words of docs/findings.md (Markdown).
type Explanation struct {
	Rule     string
	Severity inspect.Severity
	// Means says what its findings mean, Sure how to check one, Do what to do, and Not what to
	// avoid.
	Means, Sure, Do, Not string
	// Evidence lists the keys of their evidence.
	Evidence string
	// RestsOn are the aspects that must be known for it to be right.
	RestsOn []inspect.Aspect
	// Quiet rules are silent on locks that are only possible. Twice rules may see a change halfway,
	// so a second look must confirm their findings. Watched rules need a lock to have been watched
	// for a while.
	Quiet, Twice, Watched bool
}

// Explanations returns those of all rules, the worst first.
func Explanations() []Explanation {
	list := make([]Explanation, len(all))
	for i, r := range all {
		list[i] = Explanation{
			Rule: r.name, Severity: r.severity,
			Means: r.means, Sure: r.sure, Do: r.do, Not: r.not, Evidence: r.evidence,
			RestsOn: slices.Clone(r.restsOn), Quiet: r.quiet, Twice: r.asOf != nil, Watched: r.needsHistory,
		}
	}
	return list
}
