package zksource

import (
	"cmp"
	"errors"
	"fmt"
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
		k := r.ensemble.Clock()
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
		FirstPass: r.firstPass, Scanned: r.scanned, Unseen: append(r.nodesUnseen(), r.ensemble.Unseen()...),
		Empty:    r.empty,
		Findings: r.ensemble.Findings(),
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
	b.HeardAt, b.DisturbedAt = r.heardAt, r.ensemble.DisturbedAt()
	for i := range r.cfg.Servers {
		b.Servers = append(b.Servers, r.serverState(i))
	}
	b.Lost = r.lostLinks
	b.Clock = r.ensemble.Clock()
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
	b.Cost.Requests += r.ensemble.Requests()
	b.Cost.Trips = b.Cost.Requests
	b.Cost.Items, b.Cost.Bytes = r.itemsRead, r.bytesRead
	if r.manyReads && !r.cfg.Budget.Unlimited {
		b.Cost.ItemLimit, b.Cost.ByteLimit = r.cfg.Budget.Items, r.cfg.Budget.Bytes
	}
	return b
}

// requestsTo counts what was sent to a server so far.
func (r *run) requestsTo(i int) uint64 {
	n := r.spentOn[r.cfg.Servers[i]] + r.ensemble.RequestsTo(i)
	if r.link != nil && r.link.connectedTo() == r.cfg.Servers[i] {
		n += r.link.tap.Requests()
	}
	return n
}

// describeLink fills in the backend's state, error and server.
func (r *run) describeLink(b *inspect.Backend) {
	none := r.ensemble.NoQuorum()
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
	s := r.ensemble.Server(i)
	s.Requests = r.requestsTo(i)
	if reason := r.reasons[s.Addr]; reason != "" {
		s.State, s.Error, s.Latency = inspect.ServerDown, reason, -1
	}
	if r.ready && r.link.tap.Server() == s.Addr {
		s.State, s.Error, s.Latency = inspect.ServerUp, "", r.link.tap.Latency()
	}
	return s
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
