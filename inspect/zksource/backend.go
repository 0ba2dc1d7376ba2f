package zksource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcekit"
	"lockscope/inspect/recipe"
)

// backendState is what was last told of the backend.
type backendState struct {
	sourcekit.Teller
	lookedAt time.Time
	stale    bool // something changed that has to be told at once
}

// changedBackend is the backend's state when it is worth telling again.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	if r.link != nil && !r.ready && r.linkErr == "" && !r.done {
		return nil // still connecting for the first time
	}
	if !r.backend.stale && !r.done && now.Sub(r.backend.lookedAt) < time.Second {
		return nil
	}
	r.backend.stale, r.backend.lookedAt = false, now
	return r.backend.Tell(now, r.describe(), r.done)
}

func (r *run) describe() *inspect.Backend {
	b := &inspect.Backend{
		Name: r.cfg.Backend, Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch, State: inspect.Connected,
		FirstPass: r.firstPass, Scanned: r.scanned, Findings: slices.Concat(r.deniedFinding(), r.hugeFindings(), r.blind),
	}
	if r.cfg.Once {
		b.Mode = inspect.ModeOnce
	}
	if denied := r.deniedRoot(); denied != "" {
		b.State, b.Error = inspect.Degraded, denied
	}
	if !r.ready {
		b.State = inspect.Down
		b.Error = fmt.Sprintf("zookeeper %s: %s", strings.Join(r.cfg.Servers, ","), r.linkErr)
	}
	for i := range r.cfg.Servers {
		b.Servers = append(b.Servers, r.server(i))
	}
	b.Lost = r.lostLinks
	b.Cost = inspect.Cost{Requests: r.spent, Watches: r.watches, Slowed: r.queue.pace.Slow}
	if !r.cfg.Once && !r.cfg.Budget.Unlimited {
		b.Cost.Limit, b.Cost.WatchLimit = r.cfg.Budget.Steady, r.cfg.Budget.Watches
		if !r.firstPass {
			b.Cost.Limit = r.cfg.Budget.Discovering
		}
	}
	for _, l := range append(slices.Concat(r.opening, r.readers), r.link) {
		if l != nil {
			b.Cost.Requests += l.tap.Requests()
		}
	}
	for _, a := range r.admins {
		b.Cost.Requests += a.Requests()
	}
	b.Cost.Trips = b.Cost.Requests
	return b
}

// server is what is known of one server: what it said of itself, and what our connection to it shows.
func (r *run) server(i int) inspect.Server {
	s := inspect.Server{Addr: r.cfg.Servers[i], State: inspect.ServerUnknown, Latency: -1}
	if a := r.answers[i]; a.asked {
		if a.err != "" {
			s.State, s.Error = inspect.ServerDown, a.err
		} else {
			s.State, s.Role, s.Version, s.Latency = inspect.ServerUp, a.status.Role, inspect.Escape(a.status.Version), a.took
			if a.status.Uptime > 0 {
				s.StartedAt = r.startedAt(i, a.status.Uptime)
			}
		}
	}
	if reason := r.reasons[s.Addr]; reason != "" {
		s.State, s.Error, s.Latency = inspect.ServerDown, reason, -1
	}
	if r.ready && r.link.tap.Server() == s.Addr {
		s.State, s.Error, s.Latency = inspect.ServerUp, "", r.link.tap.Latency()
		if r.clock.known && !r.cfg.Once {
			s.ClockOffset, s.ClockKnown = r.clock.offset(), true
		}
	}
	return s
}

// startedAt keeps the instant that was told before when it only jittered.
func (r *run) startedAt(i int, uptime time.Duration) time.Time {
	at := r.askedAt.Add(-uptime).Round(0)
	if told := r.backend.Told; told != nil && i < len(told.Servers) {
		if was := told.Servers[i].StartedAt; at.Sub(was).Abs() < 5*time.Second {
			return was
		}
	}
	return at
}

// deniedRoot is why a root cannot be looked at; empty when each can.
func (r *run) deniedRoot() string {
	for _, p := range r.cfg.Roots {
		if d := r.dirs[p]; d != nil && d.denied {
			server := strings.Join(r.cfg.Servers, ",")
			if r.link != nil {
				server = r.link.tap.Server()
			}
			return fmt.Sprintf("zookeeper %s: not allowed to read %s%s (%s)", server, inspect.Escape(p), r.asUser(), credentials)
		}
	}
	return ""
}

// credentials is what to do about what may not be read.
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

// blindness is why nothing is known of a directory; nil when it can be listed.
func (r *run) blindness(d *dir) *inspect.Finding {
	p := inspect.Escape(d.path)
	switch {
	case d.denied:
		return &inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
			Message:  fmt.Sprintf("not allowed to read %s%s: who holds it and who waits is not known", p, r.asUser()),
			Evidence: map[string]any{"path": p},
			Advice:   credentials,
		}
	case d.huge:
		f := r.hugeFinding(d.path, d.count)
		return &f
	}
	return nil
}

// deniedFinding says what may not be read.
func (r *run) deniedFinding() []inspect.Finding {
	if len(r.denied) == 0 {
		return nil
	}
	const most = 20
	paths := slices.Sorted(maps.Keys(r.denied))
	shown := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		shown = append(shown, inspect.Escape(p))
	}
	return []inspect.Finding{{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
		Message:  fmt.Sprintf("%d directories or nodes may not be read, the first is %s", len(paths), shown[0]),
		Evidence: map[string]any{"paths": shown, "count": len(paths)},
		Advice:   "give credentials with READ on them (LOCKSCOPE_ZK_AUTH=digest:USER:PASSWORD)",
	}}
}

// hugeFindings says which directories have too many children to list.
func (r *run) hugeFindings() []inspect.Finding {
	var findings []inspect.Finding
	for _, p := range slices.Sorted(maps.Keys(r.huge)) {
		findings = append(findings, r.hugeFinding(p, r.huge[p]))
	}
	return findings
}

func (r *run) hugeFinding(p string, children int32) inspect.Finding {
	return inspect.Finding{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
		Message:  fmt.Sprintf("%s has more than %d children: it is not listed", inspect.Escape(p), r.cfg.Budget.Children),
		Evidence: map[string]any{"path": inspect.Escape(p), "children": children},
		Advice:   "see which program fills it, and have it delete what it does not need: most likely contenders that were never deleted",
	}
}
