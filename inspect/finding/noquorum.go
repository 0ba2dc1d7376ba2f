package finding

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// noQuorum reports a backend on which no lock can be taken because too few of its servers can be
// used. These are independent Redis masters, which may be down or refuse writes, or members of a
// ZooKeeper ensemble. It is a warning if servers have failed and one more failure would lose the
// quorum.
//
// A server counts as lost only when we know that it is. One that refuses our login or our
// certificate, or that we cannot reach for a reason on our side, may serve every other client. When
// no server answers at all, we may be the ones that are cut off: the backend is down, and this rule
// is silent. It is also silent about a single server, which is up or down, and about Sentinel and
// Cluster, which have their own quorums.
//
// Cause in the wild: hosts of one zone or one rollout that stop together; masters that fill up together.
func noQuorum() rule {
	return rule{
		name: "no-quorum", severity: inspect.Critical, sometimes: inspect.Warning,
		means: "Too few servers can be used, so no lock can be taken. The finding is a warning if one more failure " +
			"would cause that.",
		sure:     "Try the lost servers from a host that uses the locks: the problem may be our network.",
		do:       "Bring one of them back.",
		not:      "Do not stop or restart another server.",
		evidence: "servers (addr, says), members, usable (at most), quorum, unseen (addresses that may serve others)",
	}.ofBackends(func(b *inspect.Backend, now time.Time) []inspect.Finding {
		if b.Topology == inspect.Sentinel || b.Topology == inspect.Cluster || b.Spread.Suspect() {
			return nil
		}
		e := countElectorate(b)
		severity := e.ofMasters()
		if b.Kind == inspect.ZooKeeper {
			severity = e.ofEnsemble(b, now)
		}
		if severity == "" {
			return nil
		}
		return one(e.finding(b, severity))
	})
}

// electorate describes a backend's servers. A majority of them can grant a lock.
type electorate struct {
	members int
	lost    []evidence // the members that are known to be lost
	first   string     // the first of them, in words
	silent  bool       // one of them says nothing
	said    bool       // one of them reports its own fault
	unseen  []string   // servers that may serve others but not us
	serving bool       // one can be used
}

// countElectorate counts the servers of the target.
func countElectorate(b *inspect.Backend) (e electorate) {
	seen := map[string]bool{}
	for i := range b.Servers {
		s := &b.Servers[i]
		if seen[s.Addr] || s.Role == "replica" {
			continue
		}
		seen[s.Addr] = true
		e.members++
		switch says := lostBecause(s); {
		case says != "":
			e.first = cmp.Or(e.first, at(s.Addr)+": "+says)
			e.lost = append(e.lost, evidence{"addr": inspect.Escape(s.Addr), "says": says})
			e.silent, e.said = e.silent || says == noAnswer, e.said || says != noAnswer
		case s.State == inspect.ServerUp:
			e.serving = true
		default:
			e.unseen = append(e.unseen, inspect.Escape(s.Addr))
		}
	}
	return e
}

const noAnswer = "no answer"

// lostBecause says why no client can use a server for a lock; empty if clients can, or if unknown.
func lostBecause(s *inspect.Server) string {
	switch {
	case s.Fault == inspect.FaultNoQuorum:
		return "no quorum"
	case s.Role == "read-only":
		return "serves reads only"
	case refusing(*s):
		return "refuses writes"
	case s.State != inspect.ServerDown || s.Fault != "":
		return ""
	}
	if word, _ := redisreply.Advice(s.Error); word != "" {
		return "answers only " + word
	}
	return noAnswer
}

// usable is the largest possible number of usable servers.
func (e *electorate) usable() int { return e.members - len(e.lost) }

func (e *electorate) quorum() int { return e.members/2 + 1 }

// ofMasters grades the remaining independent Redis masters; empty while nothing is wrong.
func (e *electorate) ofMasters() inspect.Severity {
	switch {
	case e.members < 2, len(e.lost) == 0, !e.serving && !e.said, e.usable() > e.quorum():
		return ""
	case e.usable() == e.quorum():
		return inspect.Warning
	}
	return inspect.Critical
}

// election is longer than an ensemble needs to elect a new leader.
const election = 10 * time.Second

// ofEnsemble grades the remaining ZooKeeper servers; empty while nothing is wrong. While a server
// serves, there is a quorum. How close it is to being lost shows only in the number of all
// members, in the target or not.
func (e *electorate) ofEnsemble(b *inspect.Backend, now time.Time) inspect.Severity {
	if b.Voters > 0 {
		e.members = b.Voters
	}
	switch {
	case e.members < 2, len(e.lost) == 0:
		return ""
	case e.serving && b.Voters > 0 && e.usable() <= e.quorum():
		return inspect.Warning
	case e.serving, !e.said, e.usable() >= e.quorum(), now.Sub(b.HeardAt) < election:
		return ""
	}
	return inspect.Critical
}

func (e *electorate) finding(b *inspect.Backend, severity inspect.Severity) inspect.Finding {
	f := inspect.Finding{
		Severity: severity, Confidence: recipe.Certain,
		Evidence: evidence{
			"servers": e.lost[:min(len(e.lost), listed)], "members": e.members, "usable": e.usable(),
			"quorum": e.quorum(),
			"cause":  "they stopped, hang, are cut off, or refuse writes",
		},
	}
	if e.silent { // we may be cut off from some
		f.Confidence = recipe.Likely
	}
	if len(e.unseen) > 0 {
		f.Evidence["unseen"] = e.unseen[:min(len(e.unseen), listed)]
	}
	lost := e.first
	if more := len(e.lost) - 1; more > 0 {
		lost += fmt.Sprintf(", and %d more", more)
	}
	who, harm := "masters", "no lock can be taken or renewed"
	until := "locks end as their keys expire; a master that comes back empty may grant them twice"
	if b.Kind == inspect.ZooKeeper {
		who, harm = "servers", "no lock can be taken or released"
		until = "no holder can be sure of its lock until then; sessions continue once there is a quorum"
	}
	if severity == inspect.Warning {
		f.Message = fmt.Sprintf("%d of %d %s lost (%s): if one more fails, %s", len(e.lost), e.members, who, lost, harm)
		f.Steps = do(configure("bring it back before any other is stopped or restarted"))
		return f
	}
	f.Message = fmt.Sprintf("%d of %d %s lost (%s), a quorum is %d: %s",
		len(e.lost), e.members, who, lost, e.quorum(), harm)
	f.Steps = do(configure("bring one of them back, and do not stop another"), wait(until))
	return f
}
