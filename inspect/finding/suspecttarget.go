package finding

import (
	"fmt"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// suspectTarget: what was given as the masters of one lock is something else. Every lock stands on exactly one of N servers:
// they are independent, and each is a target of its own. Or one of them is a replica, whose vote is its master's once more.
// What the other rules would say of such locks is left out.
//
// Cause in the wild: a list of all Redis servers of an application, copied behind redis:// with commas.
//
// Evidence: masters (addresses), locks and on_one (how many, and how many of them on one only), or replica and servers.
func suspectTarget() inspect.Rule {
	return backendRule("suspect-target", inspect.Warning, func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		if b.Kind != inspect.Redis || len(b.Servers) < 2 || b.Topology == inspect.Cluster || b.Topology == inspect.Sentinel {
			return nil // the servers say themselves who is a replica of whom
		}
		found := replicasAmong(b)
		s := b.Spread
		if !s.Suspect() {
			return found
		}
		addrs := make([]string, 0, min(len(b.Servers), listed))
		for i := range b.Servers[:min(len(b.Servers), listed)] {
			addrs = append(addrs, inspect.Escape(b.Servers[i].Addr))
		}
		return append(found, inspect.Finding{
			Confidence: recipe.Likely,
			Message:    fmt.Sprintf("each of %d locks is on only one of the %d servers: these are independent servers, not the masters of one Redlock", s.Locks, s.Masters),
			Evidence:   evidence{"masters": addrs, "locks": s.Locks, "on_one": s.OnOne, "cause": "independent servers were given with commas, which means the masters of one Redlock"},
			Advice:     "give each server as a target of its own (redis://HOST:PORT, one after the other); release nothing until then: the locks are most likely held",
		})
	})
}

// replicasAmong are the findings about replicas that were given beside masters.
func replicasAmong(b *inspect.Backend) []inspect.Finding {
	var found []inspect.Finding
	masters := 0
	for i := range b.Servers {
		if b.Servers[i].Role == "master" {
			masters++
		}
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Role != "replica" || masters == 0 || len(found) == listed {
			continue
		}
		found = append(found, inspect.Finding{
			Subject:    inspect.Subject{Server: inspect.Untrusted(s.Addr)},
			Confidence: recipe.Certain,
			Message:    at(s.Addr) + " is a replica: it repeats its master's vote and has none of its own",
			Evidence:   evidence{"master": inspect.Escape(s.Addr), "role": "replica", "cause": "a replica was given as one of several masters"},
			Advice:     "leave it out of the target: name masters only",
		})
	}
	return found
}
