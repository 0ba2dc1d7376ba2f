package zksource

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
)

// backendState is the last reported state, with which a new report is compared.
type backendState struct {
	sourcekit.Reporter
	lookedAt time.Time
	stale    bool // a change must be reported at once
}

// changedBackend returns the backend's state when a report is due, else nil.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	b := &r.backend
	if r.conn.link != nil && !r.conn.ready && r.conn.why == "" && !r.done {
		return nil // still connecting for the first time
	}
	if b.Last != nil { // locks in the same update are dated by this clock
		k := r.ensemble.Clock()
		b.stale = b.stale || k.From != b.Last.Clock.From || k.Known != b.Last.Clock.Known
	}
	if !b.stale && !r.done && now.Sub(b.lookedAt) < time.Second {
		return nil
	}
	b.stale, b.lookedAt = false, now
	return b.Report(now, r.describe(), r.done)
}

// describe returns the backend's state.
func (r *run) describe() *inspect.Backend {
	r.hear()
	b := &inspect.Backend{
		Name: r.cfg.Backend, Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch, State: inspect.Connected,
		FirstPass: r.tree.FirstPass, Scanned: r.tree.Scanned, Sought: r.sought(), Empty: r.tree.Empty(),
		Reading: r.reading(),
		Unseen:  append(r.tree.Unseen(), r.ensemble.Unseen()...), Findings: r.ensemble.Findings(),
		HeardAt: r.heardAt, DisturbedAt: r.ensemble.DisturbedAt(), Lost: r.conn.lost,
		Clock: r.ensemble.Clock(), Cost: r.cost(), Voters: r.ensemble.Voters(),
	}
	if r.cfg.Once {
		b.Mode = inspect.ModeOnce
	}
	if denied := r.deniedRoot(); denied != "" {
		b.State, b.Error = inspect.Degraded, denied
	}
	if !r.conn.ready {
		b.State = inspect.Down
		why := cmp.Or(r.ensemble.NoQuorum(), r.conn.why)
		b.Error = fmt.Sprintf("zookeeper %s: %s", strings.Join(r.cfg.Servers, ","), why)
	}
	for i := range r.cfg.Servers {
		b.Servers = append(b.Servers, r.serverState(i))
	}
	return b
}

// sought describes the roots below which locks are sought, and the number of nodes.
func (r *run) sought() inspect.Sought {
	if r.cfg.Only != "" {
		return inspect.Sought{}
	}
	return inspect.Sought{For: r.cfg.Roots, Among: r.tree.Scanned, Counted: true}
}

// cost returns what our reads cost the servers.
func (r *run) cost() inspect.Cost {
	p, budget := &r.pacing, &r.cfg.Budget
	c := inspect.Cost{
		Watches: len(r.conn.watched), Slowed: p.pace.Slow, Quickest: p.pace.Quickest, StartQuickest: p.pace.Start,
		Items: p.itemsRead, Bytes: p.bytesRead,
	}
	c.Requests, c.Heartbeats = r.conn.cost()
	c.Requests += r.ensemble.Requests()
	if budget.Unlimited {
		return c
	}
	if r.conn.many {
		c.ItemLimit, c.ByteLimit = budget.Items, budget.Bytes
	}
	switch {
	case r.cfg.Once:
	case r.tree.FirstPass:
		c.Limit = budget.Steady
	case r.conn.many:
		c.Limit = budget.Requests
	default:
		c.Limit = budget.Discovering
	}
	return c
}

// hear notes when the ensemble last answered.
func (r *run) hear() {
	if r.conn.link == nil {
		return
	}
	if at := r.conn.link.tap.Ordered().Round(0); at.After(r.heardAt) {
		r.heardAt = at
	}
}

// serverState combines a server's report with what our connection shows.
func (r *run) serverState(i int) inspect.Server {
	s := r.ensemble.Server(i)
	s.Requests = r.conn.requestsTo(s.Addr) + r.ensemble.RequestsTo(i)
	if failed, ok := r.conn.reasons[s.Addr]; ok {
		s.State, s.Error, s.Latency = inspect.ServerDown, failed.reason, -1
		if failed.ours && s.Fault == "" {
			s.Fault = inspect.FaultOurs
		}
	}
	if r.conn.ready && r.conn.link.tap.Server() == s.Addr {
		s.State, s.Error, s.Latency, s.Fault = inspect.ServerUp, "", r.conn.link.tap.Latency(), ""
	}
	return s
}

// deniedRoot returns the refusal of the first unreadable root; empty if all can be read.
func (r *run) deniedRoot() string {
	root, err := r.tree.Refusal()
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, tree.ErrDenied):
		why := inspect.Untrusted(strings.TrimPrefix(err.Error(), "zk: ")).Cut(mostReason)
		return fmt.Sprintf("zookeeper %s: reading %s: %s", r.serving(), inspect.Escape(root), why)
	}
	p := inspect.Escape(root)
	return fmt.Sprintf("zookeeper %s: not allowed to read %s%s (%s)", r.serving(), p, r.asUser(), credentials)
}

// mostReason limits a displayed reason, in cells.
const mostReason = 240

// credentials is the advice for unreadable nodes.
const credentials = "give credentials with READ on it: LOCKSCOPE_ZK_AUTH=digest:USER:PASSWORD"

// asUser names our user, or is empty without credentials.
func (r *run) asUser() string {
	if len(r.conn.auth) == 0 {
		return ""
	}
	return " as user " + r.user()
}

func (r *run) user() string {
	user, _, _ := strings.Cut(string(r.conn.auth), ":")
	return inspect.Escape(user)
}
