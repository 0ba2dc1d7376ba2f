package inspect

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// run is one run of a Redis server, as last reported.
type run struct {
	id      string
	started time.Time
}

// cluster is the last known state of a backend's servers, kept while they are unreachable.
type cluster struct {
	leader  string
	elected uint64   // the number of its election
	masters []string // in the order of the servers
	runs    map[string]run
}

// follow records the leader, and reports whether it has changed. s may be nil.
func (k *cluster) follow(s *Server) bool {
	if s == nil || s.Zxid>>32 < k.elected && s.LeadsFor < deposed {
		return false // another, now silent, may have been elected while it was paused
	}
	before := k.leader
	k.leader, k.elected = s.Addr, s.Zxid>>32
	return before != k.leader
}

// changed records a newer state of a backend and returns the changes of its servers.
func (k *cluster) changed(b *Backend, at time.Time) []Event {
	if b.State == Down {
		return nil
	}
	var events []Event
	report := func(what ChangeKind, from, to string) {
		events = append(events, Event{
			Kind: EventChanged, At: at, Backend: b, Certainty: recipe.Certain,
			Change: &Change{what, from, to},
		})
	}
	if b.Kind == ZooKeeper {
		if before := k.leader; k.follow(newestLeader(b.Servers)) && before != "" {
			report(ChangedLeader, before, k.leader)
		}
		return events
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		before, known := k.runs[s.Addr]
		if s.RunID == "" || known && before.id == s.RunID {
			continue
		}
		if known && s.StartedAt.After(before.started) {
			report(Restarted, s.Addr, s.Addr)
		}
		if k.runs == nil || len(k.runs) >= mostRuns {
			k.runs = make(map[string]run)
		}
		k.runs[s.Addr] = run{s.RunID, s.StartedAt}
	}
	for _, move := range k.moved(b.Servers) {
		report(ChangedMaster, move[0], move[1])
	}
	return events
}

// deposed is how long a leader may claim to lead after it was paused while another was elected. It
// gives up when its followers have not answered for syncLimit, 5 ticks of 2 s in the sample
// configuration (zoo_sample.cfg).
const deposed = 30 * time.Second

// newestLeader is the leader of the newest election, since a leader that was paused still claims
// to lead when it resumes. It is nil if no server leads. It is also nil if two lead in one epoch,
// since either may be the right one.
func newestLeader(servers []Server) (leader *Server) {
	newest, found := uint64(0), false
	for i := range servers {
		s := &servers[i]
		if s.Role != "leader" {
			continue
		}
		switch epoch := s.Zxid >> 32; {
		case !found || epoch > newest:
			leader, newest, found = s, epoch, true
		case epoch == newest:
			leader = nil
		}
	}
	return leader
}

// mostRuns limits the remembered runs, including those of servers that are gone.
const mostRuns = 1000

// moved returns the replaced masters, as pairs of old and new. Masters that left are paired in
// order with those that joined.
func (k *cluster) moved(servers []Server) (moves [][2]string) {
	var now []string
	for i := range servers {
		if s := &servers[i]; s.Role == "master" && s.State == ServerUp {
			now = append(now, s.Addr)
		}
	}
	if len(now) < len(k.masters) {
		return nil // one does not answer, and its successor is not known yet
	}
	was := k.masters
	k.masters = now
	if len(now) != len(was) {
		return nil
	}
	gone := slices.DeleteFunc(slices.Clone(was), func(addr string) bool { return slices.Contains(now, addr) })
	come := slices.DeleteFunc(slices.Clone(now), func(addr string) bool { return slices.Contains(was, addr) })
	for i := range min(len(gone), len(come)) {
		moves = append(moves, [2]string{gone[i], come[i]})
	}
	return moves
}

// wentBlind records an interval in which a backend could not be read, and reports the part that was
// not yet reported.
func (p *backendState) wentBlind(i Interval, at time.Time) []Event {
	if i.From.Before(p.blindReported) {
		i.From = p.blindReported
	}
	if p.state == nil || !p.firstPassDone || !i.To.After(i.From) {
		return nil
	}
	p.blindReported = i.To
	return []Event{{Kind: EventBlind, At: at, Backend: p.state, Certainty: recipe.Certain, Between: i}}
}
