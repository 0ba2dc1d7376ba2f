package tree

import (
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

// A lock is not reported until it is known whether a neighbour is a part of it.
func TestRuledOutPartUnblocksLock(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"named": {Only: "/l"}, "found": {Roots: []string{"/l", "/l-__lock__"}}} {
		for _, what := range []string{"gone", "a node", "a node that is listed"} {
			r := grown(cfg)
			contender := "n_0000000001" // the name alone proves nothing
			r.answer(JobStat, "/l", "", noon, &Stat{NumChildren: 1}, nil)
			r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1, NumChildren: 1}, nil, contender)
			r.answer(JobGet, "/l", contender, noon, &Stat{EphemeralOwner: 7}, nil)
			switch what {
			case "gone":
				r.answer(JobStat, "/l-__lock__", "", noon, nil, ErrGone)
			case "a node":
				r.answer(JobStat, "/l-__lock__", "", noon, &Stat{EphemeralOwner: 7}, nil)
			default:
				r.answer(JobList, "/l-__lock__", "", noon, &Stat{EphemeralOwner: 7}, nil)
			}
			if l := r.changes.Put["/l"]; l == nil || l.State != inspect.StateHeld {
				t.Errorf("%s, the possible part is %s: %+v", name, what, l)
			}
		}
	}
}
