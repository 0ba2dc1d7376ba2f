package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

const (
	// farBehind is the lag at which a server should have left the ensemble: syncLimit is 5 ticks of
	// 2 s in the sample configuration (zoo_sample.cfg). A smaller lag is an election, a pause or a
	// slow disk.
	farBehind = 10 * time.Second
	// elected is how long the loser of an election may still believe that it leads.
	elected = time.Minute
	// deposed is the same for a server that was paused during the election. It gives up when its
	// followers have not answered for syncLimit.
	deposed = 30 * time.Second
)

// serversDisagree reports servers of a ZooKeeper target that do not show the same locks. They may
// not be an ensemble: one is standalone, or two lead without an election that explains it. (A
// server that was paused during an election still claims to lead for some seconds.) Or a member is
// far behind its leader and still serves clients. Or it has a different number of znodes at the
// same transaction; other differences cannot be seen.
//
// Cause in the wild: addresses of several standalone servers in one list of servers; a member that
// was started without the list of the others; a split of an ensemble whose configuration was
// changed by hand. ZOOKEEPER-2845, ZOOKEEPER-4712 and ZOOKEEPER-4785: after elections in which
// connections broke, a member has extra or missing data until it loads everything again.
func serversDisagree() rule {
	return rule{
		name: "servers-disagree", severity: inspect.Warning, sometimes: inspect.Info,
		means: "A target's servers do not form one ensemble, or a member is far behind its leader or has different " +
			"data. The finding is info in a single read.",
		sure: "Look again after half a minute. `srvr` shows each server's role, zxid and number of nodes.",
		do: "Give each ensemble its own target. Restart a member that stays behind. Make a member with different data " +
			"resync from its leader.",
		not: "Do not trust a lock that only this member shows.",
		evidence: "servers (addr, role); or server, role, zxid, lag_ms (at least), nodes_apart (znodes more than its " +
			"leader has)",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		if b.Kind != inspect.ZooKeeper {
			return nil
		}
		if found := noEnsemble(b); found != nil {
			return found
		}
		var found []inspect.Finding
		for i := range b.Servers {
			if s := &b.Servers[i]; s.State == inspect.ServerUp &&
				(s.Lag >= farBehind || s.NodesApart != 0 || behindAtOneLook(b, s)) && len(found) < listed {
				found = append(found, oddMember(s))
			}
		}
		return found
	})
}

// oddMember is the finding about a member whose state differs from its leader's.
func oddMember(s *inspect.Server) inspect.Finding {
	e := evidence{"server": inspect.Escape(s.Addr), "role": inspect.Escape(s.Role), "zxid": fmt.Sprintf("0x%x", s.Zxid)}
	f := inspect.Finding{Subject: inspect.Subject{Server: inspect.Untrusted(s.Addr)}, Evidence: e}
	if s.NodesApart != 0 {
		apart, more := s.NodesApart, "more"
		if apart < 0 {
			apart, more = -apart, "fewer"
		}
		e["nodes_apart"] = s.NodesApart
		e["cause"] = "connections between members broke in an election (ZOOKEEPER-4712, ZOOKEEPER-4785)"
		f.Confidence = recipe.Likely
		f.Message = fmt.Sprintf("%s has %s %s than its leader at the same transaction: its clients see different locks",
			at(s.Addr), describe.Count(apart, "znode"), more)
		f.Steps = do(restart("do not trust a lock that only it shows; stop it, move version-2 out of its dataDir (and " +
			"dataLogDir), and start it: " +
			"it reloads everything from its leader"))
		return f
	}
	e["lag_ms"] = s.Lag.Milliseconds()
	e["cause"] = "it hangs, or is cut off from its leader, or its disk is too slow"
	f.Confidence = recipe.Certain
	f.Message = fmt.Sprintf("%s is at least %s behind its leader: its clients see outdated locks",
		at(s.Addr), describe.Limit(s.Lag.Truncate(time.Second)))
	why := "see why it is behind (its log, its disk, echo srvr to its port); restart it if it does not catch up: " +
		"its clients go to another member"
	f.Steps = do(restart(why))
	if s.Lag < farBehind {
		f.Severity = inspect.Info
		f.Message = fmt.Sprintf("%s is over %s behind its leader: its clients see outdated locks",
			at(s.Addr), describe.Over(s.Lag))
		f.Steps = do(wait("look again: if it persists, " + why))
	}
	return f
}

// lacked is the lag at which a single look reports a member. A member is asked twice, a second
// apart, and a healthy one has caught up by then (see zksource). One look cannot tell whether it
// hangs or is catching up.
const lacked = time.Second / 2

// behindAtOneLook reports whether, in a single look, a member still lacked what its leader had.
func behindAtOneLook(b *inspect.Backend, s *inspect.Server) bool {
	return b.Mode == inspect.ModeOnce && s.Lagging && s.Lag >= lacked
}

// noEnsemble is the finding about servers that do not form one ensemble: one runs alone next to
// another, or several lead.
func noEnsemble(b *inspect.Backend) []inspect.Finding {
	var servers []evidence
	var all, alone, leaders []string
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.State != inspect.ServerUp || s.Role == "" {
			continue
		}
		role := inspect.Escape(s.Role)
		says := at(s.Addr) + " is " + role
		servers = append(servers, evidence{"addr": inspect.Escape(s.Addr), "role": role})
		all = append(all, says)
		switch s.Role {
		case "standalone":
			alone = append(alone, says)
		case "leader":
			leaders = append(leaders, says)
		}
	}
	if len(servers) < 2 || len(alone) == 0 && len(leaders) < 2 {
		return nil
	}
	odd, other := slices.Concat(alone, leaders)[0], all[0]
	if len(alone) == 0 {
		odd, other = leaders[1], leaders[0]
	} else if odd == other {
		other = all[1]
	}
	f := inspect.Finding{
		Confidence: recipe.Certain,
		Message:    fmt.Sprintf("not one ensemble: %s, %s", odd, other),
		Evidence:   evidence{"servers": servers, "cause": "the target names servers that do not belong together, or a member runs without the others"},
		Steps: do(configure("give each ensemble its own target; " +
			"compare the lists of servers in the members' configurations (server.N lines)")),
	}
	if len(alone) == 0 {
		switch apart := leadersOf(b); {
		case apart.oneElection, apart.together >= deposed:
		case b.Mode != inspect.ModeOnce, apart.elected:
			return nil // one may not have heard of the other yet
		default:
			f.Severity, f.Confidence = inspect.Info, recipe.Possible
			f.Message = fmt.Sprintf("two lead, %s and %s: one was paused and has not heard of the other's election yet, or they are not one ensemble", odd, other)
			f.Steps = do(wait("look again after half a minute: if two still lead, give each ensemble its own target"))
		}
	}
	return one(f)
}

// leading describes two or more servers that claim to lead.
type leading struct {
	oneElection bool          // an ensemble has at most one leader per election
	together    time.Duration // the shortest time that any of them has claimed to lead
	elected     bool          // the newest election was recent, as far as is known
}

// leadersOf compares the leaders of a backend that has two or more. A leader that is cut off
// believes that it leads for syncLimit ticks. One that was paused answers as leader until it finds
// that its followers have left.
func leadersOf(b *inspect.Backend) leading {
	var oldest, newest *inspect.Server
	is := leading{together: -1}
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.State != inspect.ServerUp || s.Role != "leader" {
			continue
		}
		if is.together < 0 || s.LeadsFor < is.together {
			is.together = s.LeadsFor
		}
		if oldest == nil || s.Zxid < oldest.Zxid {
			oldest = s
		}
		if newest == nil || s.Zxid >= newest.Zxid {
			newest = s
		}
	}
	is.oneElection = newest.Zxid>>32 == oldest.Zxid>>32 && oldest.Zxid != 0
	is.elected = newest.StartedAt.IsZero() || b.HeardAt.Sub(newest.StartedAt) < elected
	return is
}
