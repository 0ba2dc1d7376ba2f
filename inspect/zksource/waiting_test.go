package zksource

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
)

// A lock waits for what may be a part of it, and no longer when that turns out to be none.
func TestALockIsReportedWhenWhatMightBeAPartIsNone(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"named": {Only: "/l"}, "found": {Roots: []string{"/l", "/l-__lock__"}}} {
		for _, what := range []string{"gone", "a node", "a node that is listed"} {
			r := testRun(t, cfg)
			if cfg.Only != "" {
				r.root("/l-__lock__") // as loop does
			}
			contender := "n_0000000001" // it proves nothing before it is read
			r.answer(jobStat, "/l", "", noon, &zk.Stat{NumChildren: 1}, nil)
			r.answer(jobList, "/l", "", noon, &zk.Stat{Czxid: 1, NumChildren: 1}, nil, contender)
			r.answer(jobGet, "/l", contender, noon, &zk.Stat{EphemeralOwner: 7}, nil)
			switch what {
			case "gone":
				r.answer(jobStat, "/l-__lock__", "", noon, nil, zk.ErrNoNode)
			case "a node":
				r.answer(jobStat, "/l-__lock__", "", noon, &zk.Stat{EphemeralOwner: 7}, nil)
			default:
				r.answer(jobList, "/l-__lock__", "", noon, &zk.Stat{EphemeralOwner: 7}, nil)
			}
			if l := r.puts["/l"]; l == nil || l.State != inspect.StateHeld {
				t.Errorf("%s, which might be a part is %s: %+v", name, what, l)
			}
		}
	}
}
