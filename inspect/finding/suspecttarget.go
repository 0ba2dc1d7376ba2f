package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// suspectTarget reports a target whose servers are not the masters of one lock. Either nine of ten
// locks are on exactly one of N servers: then the servers are independent, and each needs its own
// target. Or one server is a replica, whose vote only repeats its master's. Or a load balancer
// hides several servers, each with its own locks. Other rules skip such locks. One lock is enough
// evidence if its library uses only one server.
//
// Cause in the wild: a list of all Redis servers of an application, copied after redis:// with
// commas; a proxy that was meant to find the master, and has two.
func suspectTarget() rule {
	r := rule{
		name: "suspect-target", severity: inspect.Warning,
		means: "A target's servers are most likely not the masters of one lock. Nine of ten locks are on one server " +
			"each, a server is a replica, or several servers answer at one address.",
		sure: "Compare the target with the clients' configuration. INFO has each server's `role` and `run_id`.",
		do:   "Give each independent server its own target, and leave out replicas.",
		not:  "Do not release anything before that: the locks are most likely held.",
		evidence: "masters, locks, on_one (how many are on only one); or master, role; or server; or value, library, " +
			"masters (addr, says)",
		restsOn: []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes},
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		if b.Kind != inspect.Redis || b.Topology == inspect.Cluster || b.Topology == inspect.Sentinel {
			return nil // the servers report their own roles
		}
		found := behindOneAddress(b)
		if len(b.Servers) < 2 {
			return found
		}
		found = append(found, replicasAmong(b)...)
		s := b.Spread
		if !s.Suspect() {
			return found
		}
		addrs := each.Of(b.Servers[:min(len(b.Servers), listed)],
			func(s inspect.Server) string { return inspect.Escape(s.Addr) })
		return append(found, inspect.Finding{
			Confidence: recipe.Likely,
			Message:    fmt.Sprintf("%s on only one of the %d servers: these are independent servers, not the masters of one Redlock", howMany(s), s.Masters),
			Evidence:   evidence{"masters": addrs, "locks": s.Locks, "on_one": s.OnOne, "cause": "independent servers were given with commas, which means the masters of one Redlock"},
			Steps: do(configure("give each server its own target (redis://HOST:PORT, one after the other); " +
				"release nothing until then: the locks are most likely held")),
		})
	})
	return r.ofLocks(ofOneServer)
}

// howMany returns the number of locks on one server only, in words.
func howMany(s inspect.Spread) string {
	if s.OnOne == s.Locks {
		return fmt.Sprintf("each of %d locks is", s.Locks)
	}
	return fmt.Sprintf("%d of %d locks are", s.OnOne, s.Locks)
}

// ofOneServer is the finding about a lock without a quorum whose library does not use one.
func ofOneServer(c *inspect.Case) []inspect.Finding {
	l := c.Lock
	short := l.State == inspect.StateMinority || l.State == inspect.StateSplit
	if !short || !l.OneServer() || c.Spread.Suspect() {
		return nil
	}
	value := firstVote(l)
	if value == nil {
		return nil
	}
	// It names no contender, so that it stays the same finding when the lock changes hands.
	return one(inspect.Finding{
		Confidence: recipe.Likely,
		Message: fmt.Sprintf("its key is on %s, not on a quorum of %d; but %s takes a lock on one server: "+
			"it is most likely held", at(value.Addr), l.Quorum, l.Recipe),
		Evidence: evidence{
			"value": says(value), "library": l.Recipe, "masters": ballots(l),
			"cause": "servers that are not the masters of one Redlock, or not for this lock, were given with commas",
		},
		Steps: do(configure("give " + at(value.Addr) + " its own target (redis://HOST:PORT), and look there before you act")),
	})
}

// behindOneAddress returns the findings about addresses at which several servers answer.
func behindOneAddress(b *inspect.Backend) (found []inspect.Finding) {
	for i := range b.Servers {
		s := &b.Servers[i]
		if !s.Several || len(found) == listed {
			continue
		}
		found = append(found, inspect.Finding{
			Subject:    inspect.Subject{Server: inspect.Untrusted(s.Addr)},
			Confidence: recipe.Certain,
			Message:    "several servers answer at this address, " + at(s.Addr) + ": connections reach one or the other (run_id), and each has its own locks",
			Evidence:   evidence{"server": inspect.Escape(s.Addr), "cause": "a proxy or load balancer in front of servers that do not replicate each other"},
			Steps: do(configure("give each server behind it its own target (redis://HOST:PORT); " +
				"release nothing until then: we see a mixture of their keys")),
		})
	}
	return found
}

// replicasAmong returns the findings about replicas in a target with several servers.
func replicasAmong(b *inspect.Backend) []inspect.Finding {
	var found []inspect.Finding
	hasMaster := slices.ContainsFunc(b.Servers, func(s inspect.Server) bool { return s.Role == "master" })
	for i := range b.Servers {
		s := &b.Servers[i]
		active := s.Role == "active-replica" // KeyDB's, which accepts writes too
		if !active && (s.Role != "replica" || !hasMaster) || len(found) == listed {
			continue
		}
		found = append(found, inspect.Finding{
			Subject:    inspect.Subject{Server: inspect.Untrusted(s.Addr)},
			Confidence: recipe.Certain,
			Message:    at(s.Addr) + " is a replica: it repeats its master's vote and has none of its own",
			Evidence: evidence{
				"master": inspect.Escape(s.Addr), "role": s.Role,
				"cause": "a replica was given as one of several masters",
			},
			Steps: do(configure("leave it out of the target: name masters only")),
		})
	}
	return found
}
