package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// suspectTarget reports a target whose servers are not the masters of one lock. Either nine of ten
// locks are on exactly one of N servers: then the servers are independent, and each needs its own
// target. Or one server is a replica, whose vote only repeats its master's. Other rules skip such
// locks. One lock is enough evidence if its library uses only one server.
//
// Cause in the wild: a list of all Redis servers of an application, copied behind redis:// with commas.
func suspectTarget() rule {
	r := rule{
		name: "suspect-target", severity: inspect.Warning,
		means:    "servers given as masters of one lock that are most likely none",
		evidence: "masters (addresses), locks and on_one (how many, and how many of them on one only), or master and role of a replica; of a lock value, library and masters (addr, says)",
		do:       "give each as a target of its own",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes},
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
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
			Message:    fmt.Sprintf("%s on only one of the %d servers: these are independent servers, not the masters of one Redlock", howMany(s), s.Masters),
			Evidence:   evidence{"masters": addrs, "locks": s.Locks, "on_one": s.OnOne, "cause": "independent servers were given with commas, which means the masters of one Redlock"},
			Steps: do(configure("give each server as a target of its own (redis://HOST:PORT, one after the other); " +
				"release nothing until then: the locks are most likely held")),
		})
	})
	return r.ofLocks(ofOneServer)
}

// howMany locks are on one server only.
func howMany(s inspect.Spread) string {
	if s.OnOne == s.Locks {
		return fmt.Sprintf("each of %d locks is", s.Locks)
	}
	return fmt.Sprintf("%d of %d locks are", s.OnOne, s.Locks)
}

// ofOneServer is the finding about a lock that is short of the masters' quorum, and whose library asks no quorum.
func ofOneServer(c *inspect.Case) []inspect.Finding {
	l := c.Lock
	short := l.State == inspect.StateMinority || l.State == inspect.StateSplit
	if !short || !recipe.OneServer(l.Recipe) || c.Spread.Suspect() {
		return nil
	}
	value := firstVote(l)
	if value == nil {
		return nil
	}
	return one(inspect.Finding{
		Subject:    inspect.Subject{Contender: value.Value, Digest: value.Digest},
		Confidence: recipe.Likely,
		Message: fmt.Sprintf("%s is on %s, not on a quorum of %d; but %s takes a lock on one server: it is most likely held",
			describe.BriefName(value.Value), at(value.Addr), l.Quorum, l.Recipe),
		Evidence: evidence{
			"value": says(value), "library": l.Recipe, "masters": ballots(l),
			"cause": "servers that are not the masters of one Redlock, or not for this lock, were given with commas",
		},
		Steps: do(configure("give " + at(value.Addr) + " as a target of its own (redis://HOST:PORT), and look there before you act")),
	})
}

// replicasAmong returns the findings about replicas that were given together with masters.
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
			Steps:      do(configure("leave it out of the target: name masters only")),
		})
	}
	return found
}
