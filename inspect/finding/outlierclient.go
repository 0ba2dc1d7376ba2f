package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// outlierClient reports a client with far more locks than its peers. This may be intended, or the
// client never releases its locks.
//
// Cause in the wild: locks that are not released when their work fails; a retry that takes a new
// lock each time; one ephemeral node for each order or user, which makes the end of the session a
// long transaction. If it deletes too many nodes at once, it exceeds jute.maxbuffer, and the
// ensemble fails (ZOOKEEPER-2101).
func outlierClient() rule {
	return rule{
		name: "outlier-client", severity: inspect.Info,
		means:    "A client has at least ten times as many entries as three quarters of the other clients in the same place.",
		sure:     "Clients, sorted by HOLDS, shows its locks. Should it have that many?",
		do:       "Find out whether its program releases its locks. If not, restart it.",
		not:      "Do not release its locks one by one: it takes new ones.",
		evidence: "clients (owner, session, client, entries, holds, under, peers, usual)",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		if len(b.Outliers) == 0 {
			return nil
		}
		clients := make([]evidence, len(b.Outliers))
		for i, o := range b.Outliers {
			clients[i] = evidence{
				"owner": o.Owner.String(), "entries": o.Entries, "holds": o.Holds,
				"under": inspect.ID{Backend: b.Name, Path: o.Under}.String(), "peers": o.Peers, "usual": o.Usual,
			}
			if o.Session != 0 {
				clients[i]["session"] = inspect.SessionID(o.Session)
			}
			if o.Client != "" {
				clients[i]["client"] = inspect.Escape(o.Client)
			}
		}
		most := b.Outliers[0]
		message := fmt.Sprintf("%s has %d entries (%d hold) under %s; most of its %d peers have up to %d",
			describe.Quote(most.Owner.Cut(24)), most.Entries, most.Holds, inspect.Untrusted(most.Under).Cut(24),
			most.Peers, most.Usual)
		return one(inspect.Finding{
			Confidence: recipe.Certain, Message: message,
			Evidence: evidence{
				"clients": clients,
				"cause": "locks that are taken repeatedly and never released; " +
					"or a service that needs that many",
			},
			Steps: do(restart("look at its locks (Clients, sorted by what they hold) and, " +
				"unless it is meant to have that many, " +
				"restart its program, which frees what it leaked")),
		})
	})
}
