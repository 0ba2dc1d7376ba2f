package redissource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/each"
)

// changedBackend returns the backend's state when a report is due, else nil. It is nil until a
// master has answered or failed, since the backend is not known to be down.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	if !slices.ContainsFunc(r.masters, func(p *masterState) bool {
		return p.server.State == inspect.ServerUp || p.server.State == inspect.ServerDown
	}) {
		return nil
	}
	return r.backend.Report(now, r.describe(), false)
}

func (r *run) describe() *inspect.Backend {
	b := &inspect.Backend{
		Name: r.cfg.Backend, Kind: inspect.Redis, Topology: r.topology(), User: r.masters[0].User(), Mode: r.mode(),
		FirstPass: true, Scanned: len(r.table.entries),
	}
	up, troubles := 0, []string(nil)
	for _, p := range r.masters {
		if p.up() {
			up++
		}
		b.FirstPass = b.FirstPass && (p.down() || p.up() && p.passed)
		if text := p.trouble(); text != "" {
			troubles = append(troubles, text)
		}
		if p.up() {
			b.Unseen = append(b.Unseen, p.blindness(r.table.replicas[p.index])...)
		}
		b.Servers = append(b.Servers, p.describe())
		b.Lost += p.lost
		p.pacing(&b.Cost)
	}
	for _, p := range r.replicas {
		server := p.describe()
		server.Role, server.Cluster = cmp.Or(server.Role, node.RoleReplica), true
		b.Servers = append(b.Servers, server)
	}
	for _, server := range b.Servers {
		b.Cost.Requests += server.Requests
		b.Cost.Heartbeats += server.Heartbeats
	}
	r.limitsOf(b)
	b.Sought = r.sought()
	if r.backend.Last != nil && r.backend.Last.FirstPass {
		b.FirstPass = true
	} else if b.FirstPass && up > 0 {
		b.FirstPass = r.table.complete()
	}
	b.Unseen = append(b.Unseen, r.table.blind()...)
	b.Error = strings.Join(troubles, "; ")
	switch {
	case up > 0 && len(troubles) == 0: // masters without an answer may still give one
		b.State = inspect.Connected
	case up > 0:
		b.State = inspect.Degraded
	default:
		b.State = inspect.Down
	}
	return b
}

func (r *run) limitsOf(b *inspect.Backend) {
	if r.cfg.Once {
		return
	}
	b.Cost.Duty = r.cfg.Budget.Duty
	if b.Mode == inspect.ModePoll && !r.cfg.Budget.Unlimited {
		b.Cost.Limit = float64(len(r.masters) * (r.cfg.Budget.Polls + withPolls))
	}
}

// describe returns the server's state and the number of requests sent to it.
func (p *masterState) describe() inspect.Server {
	server := p.server
	server.Addr, server.Several = p.Address(), p.several
	if !p.up() && !p.down() {
		server.State, server.Latency = inspect.ServerUnknown, -1
	}
	server.Requests, server.Heartbeats = p.Traffic()
	return server
}

// trouble explains why a master's locks, or its new locks, are unknown. It is empty if nothing is
// known to be wrong.
func (p *masterState) trouble() string {
	switch {
	case p.down():
		return p.server.Error
	case p.up() && p.unsought != nil:
		return p.cannotLook()
	case p.up() && p.several:
		return "master " + p.Address() + ": several servers answer at this address (give each its own target)"
	}
	return ""
}

// pacing reports the pace of the slowest master in the cost; a slowed master comes before the
// others.
func (p *masterState) pacing(c *inspect.Cost) {
	if slower := p.pace.Slow && !c.Slowed; slower || p.pace.Slow == c.Slowed && p.pace.Quickest > c.Quickest {
		c.Quickest, c.StartQuickest = p.pace.Quickest, p.pace.Start
	}
	c.Slowed = c.Slowed || p.pace.Slow
}

func (r *run) topology() inspect.Topology {
	switch {
	case r.masters[0].BySentinel():
		return inspect.Sentinel
	case r.cluster != nil:
		return inspect.Cluster
	default:
		return inspect.Independent
	}
}

// mode is push only if every master that answers pushes.
func (r *run) mode() inspect.Mode {
	if r.cfg.Once {
		return inspect.ModeOnce
	}
	mode := inspect.ModePoll
	for _, p := range r.masters {
		if p.up() && !p.pushing {
			return inspect.ModePoll
		}
		if p.up() {
			mode = inspect.ModePush
		}
	}
	return mode
}

// complete reports whether every known key was read on every master.
func (b *keyTable) complete() bool {
	return !each.Any(maps.Values(b.entries), (*entry).unread)
}

// blindness lists what a running master refuses to show, apart from its locks.
func (p *masterState) blindness(replica *inspect.Unseen) []inspect.Unseen {
	unseen := slices.Clone(p.unseen)
	if replica != nil {
		unseen = append(unseen, *replica)
	}
	if p.server.Cluster && !p.InCluster() {
		unseen = append(unseen, inspect.Unseen{
			Aspect: inspect.AspectLocks, Where: p.Address(), Read: "the keys of its Redis Cluster",
			Reason: "it is one node of a Redis Cluster, and has only the keys of its slots",
			Advice: "use redis+cluster://" + p.Address(),
		})
	}
	if p.unsought != nil {
		unseen = append(unseen, *p.unsought)
	}
	if p.refused != nil {
		unseen = append(unseen, *p.refused)
	}
	return unseen
}

// cannotLook explains in one line why a master's keys could not be scanned, and what would allow
// it.
func (p *masterState) cannotLook() string {
	right := p.unsought.Right
	if strings.HasPrefix(right, "+") {
		return fmt.Sprintf("master %s: user %q may not look for keys (allow it: ACL SETUSER %s %s)",
			p.Address(), p.User(), inspect.Escape(p.User()), right)
	}
	reason := strings.TrimSpace(inspect.Escape(p.unsought.Reason))
	text := fmt.Sprintf("master %s: cannot look for keys: %s", p.Address(), reason)
	if right != "" {
		text += " (needs " + inspect.Escape(right) + ")"
	}
	return text
}

// blind reports matching keys that may not be read, and whether there are too many keys.
func (b *keyTable) blind() (list []inspect.Unseen) {
	where := strings.Join(b.addrs, ", ")
	unseen := inspect.Unseen{Aspect: inspect.AspectLocks, Where: where, Read: "the keys that match"}
	if n, key := len(b.denied), b.deniedKey; n > 0 {
		u := unseen
		u.Reason, u.Right = fmt.Sprintf("%d keys match but may not be read, such as %s", n, key), "~"+key
		list = append(list, u)
	}
	if b.full {
		u := unseen
		u.Reason = fmt.Sprintf("more than %d keys match; the others are not read", b.most)
		u.Advice = "use match=PREFIX* in the target"
		list = append(list, u)
	}
	return list
}
