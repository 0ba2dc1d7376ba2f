// Package ensemble knows the servers of one ZooKeeper ensemble: their clients, the leader, the
// clock that dates the tree, and whether there is a quorum. An Inquiry asks all servers. Its Report
// goes back into the Ensemble, which remembers the previous reports.
package ensemble

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zkadmin"
)

// Ensemble is the servers' last reports. It belongs to one goroutine.
type Ensemble struct {
	addrs   []string          // of the servers in the target
	admins  []*zkadmin.Server // one for each of them, then those of unlisted servers
	answers []answer          // one for each of admins
	missed  missed            // of the last inquiry
	voters  int               // as last known; see inspect.Backend
	clock   clock
	commits []commit    // of the leader, the newest last
	starts  []time.Time // as reported, so that they do not jitter
	// disturbedAt is inspect.Backend's DisturbedAt.
	disturbedAt time.Time
}

// New returns an Ensemble of the servers at addrs, host:port. admins are the base URLs of
// AdminServers; reach has their common settings.
func New(addrs, admins []string, reach zkadmin.Config) *Ensemble {
	servers := newAdmins(addrs, admins, reach)
	n := len(servers)
	return &Ensemble{addrs: addrs, admins: servers, answers: make([]answer, n), starts: make([]time.Time, n)}
}

// Close closes idle connections to AdminServers.
func (e *Ensemble) Close() {
	for _, a := range e.admins {
		a.Close()
	}
}

// Requests counts the requests to all servers so far.
func (e *Ensemble) Requests() (n uint64) {
	for _, a := range e.admins {
		n += a.Requests()
	}
	return n
}

// RequestsTo counts the requests to the server at an index of the target.
func (e *Ensemble) RequestsTo(i int) uint64 { return e.admins[i].Requests() }

// Learn records the report of an inquiry.
func (e *Ensemble) Learn(r *Report) {
	e.disturbedBy(r.servers)
	e.measureLag(r.servers)
	e.recordLeaders(r.servers)
	e.clock.measure(e.answers, r.servers, r.AllSessions)
	e.answers = r.servers
	if r.Covers == nil { // the watches were not asked for this time
		r.missed.watches, r.missed.watchesNotAllowed = e.missed.watches, e.missed.watchesNotAllowed
	}
	e.missed = r.missed
	if r.membersKnown {
		e.voters = r.voters
	}
}

// Voters is the value for inspect.Backend. It is kept while no server can be asked.
func (e *Ensemble) Voters() int { return e.voters }

// Dated learns from a transaction of a node that was read at now, with its time by the leader's
// clock.
func (e *Ensemble) Dated(zxid int64, at, now time.Time) { e.clock.dated(transaction{zxid, at}, now) }

// Created learns from a node whose creation was reported to us at seen.
func (e *Ensemble) Created(zxid int64, created, seen, now time.Time) {
	e.clock.created(byClockOf(now, seen), created, zxid)
}

// Clock relates the clock that dates the tree to ours.
func (e *Ensemble) Clock() inspect.LeaderClock { return e.clock.ofLeader(e.answers) }

// ForgetClocks drops the offsets of the servers' clocks after our clock was set.
func (e *Ensemble) ForgetClocks() {
	e.clock.live = bounds{}
	for i := range e.answers {
		e.answers[i].clock = bounds{}
	}
}

// DisturbedAt is the value for inspect.Backend.
func (e *Ensemble) DisturbedAt() time.Time { return e.disturbedAt }

// Unseen lists what the servers did not report.
func (e *Ensemble) Unseen() []inspect.Unseen { return slices.Concat(e.missed.unseen, e.missed.watches) }

// Findings are about facts that the servers are configured not to report.
func (e *Ensemble) Findings() []inspect.Finding {
	return slices.Concat(e.missed.notAllowed, e.missed.watchesNotAllowed)
}

// Server returns the last report of the server at an index of the target.
func (e *Ensemble) Server(i int) inspect.Server {
	s := inspect.Server{Addr: e.addrs[i], State: inspect.ServerUnknown, Latency: -1}
	a := &e.answers[i]
	switch {
	case !a.asked:
	case a.err != "":
		s.State, s.Error, s.Fault = inspect.ServerDown, a.err, a.fault()
	default:
		s.State, s.Role, s.Version = inspect.ServerUp, a.status.Role, inspect.Escape(a.status.Version)
		s.Latency, s.Zxid = a.took, a.status.Zxid
		s.Lagging, s.Lag, s.NodesApart = behind(a.status.Zxid, leaderZxid(e.answers)), a.lag, a.nodesApart
		if !a.ledFrom.IsZero() {
			s.LeadsFor = a.at.Sub(a.ledFrom)
		}
		s.StartedAt = e.startedAt(i)
	}
	if c := e.clock.ofServer(i, e.answers); c.known {
		s.ClockOffset, s.ClockWithin, s.ClockKnown = c.middle(), c.within(), true
	}
	return s
}

// startedAt returns when a server began to serve; zero if unknown. It ignores jitter.
func (e *Ensemble) startedAt(i int) time.Time {
	a := &e.answers[i]
	if a.status.Uptime == 0 {
		return time.Time{}
	}
	if at := a.at.Add(-a.status.Uptime).Round(0); at.Sub(e.starts[i]).Abs() >= jitter {
		e.starts[i] = at
	}
	return e.starts[i]
}
