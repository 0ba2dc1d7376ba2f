package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// replicaFailover reports a Redis master that accepts writes even if its replicas are gone.
// Replication is asynchronous. A lock granted just before the master fails, or while it is cut off,
// may be missing on the promoted replica. A second client then gets it. The finding concerns the
// backend, not a lock, and is reported once.
//
// Source: Redis' own documents on distributed locks ("Why failover-based implementations are not
// enough") and on replication (min-replicas-to-write). INFO has min_slaves_good_slaves only where
// that is set.
func replicaFailover() rule {
	return rule{
		name: "replica-failover", severity: inspect.Info,
		means: "A Redis master does not wait for its replicas. A failover may lose new locks, which may then be held " +
			"twice.",
		sure:     "`min-replicas-to-write` is 0 on the master.",
		do:       "Set `min-replicas-to-write 1`. Use fencing tokens, or Redlock on independent masters.",
		not:      "Do not expect a replica to have every lock.",
		evidence: "masters (addr, replicas)",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		var masters []evidence
		first := ""
		for i := range b.Servers {
			s := &b.Servers[i]
			if s.Role != "master" || s.Replicas == 0 || s.NeedsReplicas {
				continue
			}
			if first == "" {
				first = at(s.Addr) + " does not wait for its replica"
				if s.Replicas > 1 {
					first = fmt.Sprintf("%s waits for none of its %d replicas", at(s.Addr), s.Replicas)
				}
			}
			masters = append(masters, evidence{"addr": inspect.Escape(s.Addr), "replicas": s.Replicas})
			if len(masters) == listed {
				break
			}
		}
		if first == "" {
			return nil
		}
		if n := len(masters) - 1; n > 0 {
			first += ", nor " + doOthers(n)
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    first + ": after a failover the newest locks may be held twice",
			Evidence: evidence{
				"masters": masters,
				"cause":   "replication is asynchronous, and min-replicas-to-write is 0, as it is by default",
			},
			Steps: do(configure("set min-replicas-to-write 1, so that a master that is cut off grants no locks; " +
				"decide whether you need fencing tokens or Redlock")),
		})
	})
}
