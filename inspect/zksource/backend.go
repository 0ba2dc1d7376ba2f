package zksource

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcekit"
)

// backendState was reported last; a new report is compared with it.
type backendState struct {
	sourcekit.Reporter
	lookedAt time.Time
	stale    bool // something changed that has to be reported at once
}

// changedBackend returns the backend's state when a report is due, else nil.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	if r.link != nil && !r.ready && r.linkErr == "" && !r.done {
		return nil // still connecting for the first time
	}
	if last := r.backend.Last; last != nil { // the locks that go with it are dated by it
		k := r.clock.ofLeader(r.answers)
		r.backend.stale = r.backend.stale || k.From != last.Clock.From || k.Known != last.Clock.Known
	}
	if !r.backend.stale && !r.done && now.Sub(r.backend.lookedAt) < time.Second {
		return nil
	}
	r.backend.stale, r.backend.lookedAt = false, now
	return r.backend.Report(now, r.describe(), r.done)
}

func (r *run) describe() *inspect.Backend {
	b := &inspect.Backend{
		Name: r.cfg.Backend, Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch, State: inspect.Connected,
		FirstPass: r.firstPass, Scanned: r.scanned, Unseen: slices.Concat(r.nodesUnseen(), r.missed.unseen, r.missed.watches),
		Empty:    r.empty,
		Findings: slices.Concat(r.missed.neverGiven, r.missed.neverWatching),
	}
	if r.cfg.Once {
		b.Mode = inspect.ModeOnce
	}
	b.Reading = r.reading()
	if denied := r.deniedRoot(); denied != "" {
		b.State, b.Error = inspect.Degraded, denied
	}
	r.describeLink(b)
	r.hear()
	b.HeardAt, b.DisturbedAt = r.heardAt, r.disturbedAt
	for i := range r.cfg.Servers {
		b.Servers = append(b.Servers, r.serverState(i))
	}
	b.Lost = r.lostLinks
	b.Clock = r.clock.ofLeader(r.answers)
	b.Cost = inspect.Cost{Requests: r.spent, Heartbeats: r.heartbeats, Watches: len(r.below), Slowed: r.queue.pace.Slow}
	b.Cost.Quickest, b.Cost.StartQuickest = r.queue.pace.Quickest, r.queue.pace.Start
	if !r.cfg.Once && !r.cfg.Budget.Unlimited {
		b.Cost.Limit = r.cfg.Budget.Steady
		switch {
		case r.firstPass:
		case r.manyReads:
			b.Cost.Limit = r.cfg.Budget.Requests
		default:
			b.Cost.Limit = r.cfg.Budget.Discovering
		}
	}
	if l := r.link; l != nil {
		b.Cost.Requests += l.tap.Requests()
		b.Cost.Heartbeats += l.tap.Heartbeats()
	}
	for _, a := range r.admins {
		b.Cost.Requests += a.Requests()
	}
	b.Cost.Trips = b.Cost.Requests
	b.Cost.Items, b.Cost.Bytes = r.itemsRead, r.bytesRead
	if r.manyReads && !r.cfg.Budget.Unlimited {
		b.Cost.ItemLimit, b.Cost.ByteLimit = r.cfg.Budget.Items, r.cfg.Budget.Bytes
	}
	return b
}

// requestsTo counts what was sent to a server so far.
func (r *run) requestsTo(i int) uint64 {
	n := r.spentOn[r.cfg.Servers[i]] + r.admins[i].Requests()
	if r.link != nil && r.link.connectedTo() == r.cfg.Servers[i] {
		n += r.link.tap.Requests()
	}
	return n
}

// describeLink fills in the backend's state, error and server.
func (r *run) describeLink(b *inspect.Backend) {
	none := r.noQuorum()
	switch {
	case !r.ready:
		b.State = inspect.Down
		b.Error = fmt.Sprintf("zookeeper %s: %s", strings.Join(r.cfg.Servers, ","), cmp.Or(none, r.linkErr))
	}
}

// hear notes when the ensemble last answered.
func (r *run) hear() {
	if r.link == nil {
		return
	}
	if at := r.link.tap.Ordered().Round(0); at.After(r.heardAt) {
		r.heardAt = at
	}
}

// serverState joins what a server reports of itself with what our connection to it shows.
func (r *run) serverState(i int) inspect.Server {
	s := inspect.Server{Addr: r.cfg.Servers[i], State: inspect.ServerUnknown, Latency: -1, Requests: r.requestsTo(i)}
	if a := r.answers[i]; a.asked {
		if a.err != "" {
			s.State, s.Error = inspect.ServerDown, a.err
		} else {
			s.State, s.Role, s.Version, s.Latency = inspect.ServerUp, a.status.Role, inspect.Escape(a.status.Version), a.took
			s.Zxid, s.Lagging = a.status.Zxid, behind(a.status.Zxid, leaderZxid(r.answers))
			s.Lag, s.NodesApart = a.lag, a.nodesApart
			if !a.ledFrom.IsZero() {
				s.LeadsFor = a.at.Sub(a.ledFrom)
			}
			if a.status.Uptime > 0 {
				s.StartedAt = r.startedAt(i, &a)
			}
		}
	}
	if reason := r.reasons[s.Addr]; reason != "" {
		s.State, s.Error, s.Latency = inspect.ServerDown, reason, -1
	}
	if r.ready && r.link.tap.Server() == s.Addr {
		s.State, s.Error, s.Latency = inspect.ServerUp, "", r.link.tap.Latency()
	}
	if c := r.clock.ofServer(i, r.answers); c.known {
		s.ClockOffset, s.ClockWithin, s.ClockKnown = c.middle(), c.within(), true
	}
	return s
}

// startedAt keeps the instant that was reported before when it only jittered.
func (r *run) startedAt(i int, a *serverAnswer) time.Time {
	at := a.at.Add(-a.status.Uptime).Round(0)
	if reported := r.backend.Last; reported != nil && i < len(reported.Servers) {
		if was := reported.Servers[i].StartedAt; at.Sub(was).Abs() < 5*time.Second {
			return was
		}
	}
	return at
}

// deniedRoot returns the refusal of the first root that cannot be read; empty when each can.
func (r *run) deniedRoot() string {
	for _, p := range r.cfg.Roots {
		d := r.dirs[p]
		if d == nil || r.hidden(d) == nil || d.phase != shut {
			continue
		}
		if why := r.refused[p].err; !errors.Is(why, zk.ErrNoAuth) {
			return fmt.Sprintf("zookeeper %s: reading %s: %s", r.serving(), inspect.Escape(p), inspect.Untrusted(reason(why)).Cut(mostReason))
		}
		return fmt.Sprintf("zookeeper %s: not allowed to read %s%s (%s)", r.serving(), inspect.Escape(p), r.asUser(), credentials)
	}
	return ""
}

// mostReason limits a reason on the screen, in cells.
const mostReason = 240

// credentials is the advice for nodes that may not be read.
const credentials = "give credentials with READ on it: LOCKSCOPE_ZK_AUTH=digest:USER:PASSWORD"

// asUser names who we are to the servers; empty when we gave no credentials.
func (r *run) asUser() string {
	if len(r.cfg.Auth) == 0 {
		return ""
	}
	return " as user " + r.user()
}

func (r *run) user() string {
	user, _, _ := strings.Cut(string(r.cfg.Auth), ":")
	return inspect.Escape(user)
}
