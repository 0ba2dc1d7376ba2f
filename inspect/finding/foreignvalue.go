package finding

import (
	"cmp"
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// foreignValue reports a master that holds something other than a lock under the key. A client
// that wants the lock never gets this vote. The rule is silent if all masters do so and the key
// was not watched, since then it is not a lock at all.
//
// Cause in the wild: ordinary data under a lock's name (node-redlock #168, "unable to achieve a quorum").
func foreignValue() rule {
	return rule{
		name: "foreign-value", severity: inspect.Warning,
		means:    "A master holds something under the key that is not a lock, so no client gets its vote.",
		sure:     "`TYPE` and the value on these masters show which program writes it.",
		do:       "Rename the lock or the other key.",
		not:      "Do not delete the value before you know whose it is.",
		evidence: "masters (addr, type)",
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		var masters []evidence
		var first *inspect.Vote
		for i := range c.Lock.Masters {
			m := &c.Lock.Masters[i]
			if !m.Up || !m.Present || !m.Foreign {
				continue
			}
			masters = append(masters, evidence{"addr": inspect.Escape(m.Addr), "type": m.Value.String()})
			first = cmp.Or(first, m)
		}
		if first == nil || c.History == nil && len(masters) == len(c.Lock.Masters) {
			return nil // a key of another type that never held a lock is not a lock
		}
		what := "something"
		if first.Value != "" {
			what = "a " + first.Value.Cut(16)
		}
		where := at(first.Addr)
		if n := len(masters) - 1; n > 0 {
			where += fmt.Sprintf(" and %s", describe.Count(n, "other"))
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    fmt.Sprintf("%s under this key on %s is not a lock: no client gets that vote", what, where),
			Evidence:   evidence{"masters": masters, "cause": "other data under the lock's name (node-redlock #168)"},
			Steps: do(configure("find out which program writes " + describe.Quote(inspect.Escape(c.Lock.ID.Path)) +
				" there, and rename one of the two; do not delete it before that")),
		})
	})
}
