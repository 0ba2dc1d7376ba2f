package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// evictionRisk reports a Redis server that may delete a held lock when its memory is full. It
// concerns the backend: maxmemory is set, and the policy is allkeys-* or volatile-* (locks have an
// expiry, so both delete them).
//
// Cause in the wild: locks on a server that is also a cache.
func evictionRisk() rule {
	return rule{
		name: "eviction-risk", severity: inspect.Warning,
		means:    "When its memory is full, this Redis server evicts keys, including those of held locks.",
		sure:     "`maxmemory` is set and `maxmemory-policy` is not `noeviction`.",
		do:       "Keep locks on their own server, with `maxmemory-policy noeviction`.",
		not:      "Do not switch a full cache to that policy: its writes would fail.",
		evidence: "servers (addr, policy, maxmemory in bytes)",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		var servers []evidence
		first := ""
		for i := range b.Servers {
			s := &b.Servers[i]
			if !s.Evicts() {
				continue
			}
			servers = append(servers, evidence{
				"addr": inspect.Escape(s.Addr), "policy": inspect.Escape(s.EvictionPolicy), "maxmemory": s.MaxMemory,
			})
			if first == "" {
				first = fmt.Sprintf("%s evicts keys when its memory is full (%s, %s)",
					at(s.Addr), inspect.Untrusted(s.EvictionPolicy).Cut(20), bytes(s.MaxMemory))
			}
		}
		if len(servers) == 0 {
			return nil
		}
		if n := len(servers) - 1; n > 0 {
			first += ", and so " + doOthers(n)
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    first + ": a held lock may vanish",
			Evidence:   evidence{"servers": servers, "cause": "locks share a server with a cache"},
			Steps: do(configure("keep locks on a dedicated server with maxmemory-policy noeviction; " +
				"do not switch a full cache to it: its writes would fail")),
		})
	})
}

// bytes formats a size for people.
func bytes(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (10 * (3 - i)); n >= size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(size), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
