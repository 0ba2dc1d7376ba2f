package zksource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// backendState is what was last told of the backend.
type backendState struct {
	told             *inspect.Backend
	toldAt, lookedAt time.Time
	stale            bool // something changed that has to be told at once
	rates            rateMeter
}

// rateMeter turns a growing count into a rate over the last seconds.
type rateMeter struct {
	times  [6]time.Time
	counts [6]uint64
	n      int
}

// add takes a sample when the last is a second old.
func (r *rateMeter) add(now time.Time, count uint64) {
	if r.n > 0 && now.Sub(r.times[(r.n-1)%len(r.times)]) < time.Second {
		return
	}
	r.times[r.n%len(r.times)], r.counts[r.n%len(r.counts)] = now, count
	r.n++
}

func (r *rateMeter) perSecond() float64 {
	if r.n < 2 {
		return 0
	}
	newest, oldest := (r.n-1)%len(r.times), max(0, r.n-len(r.times))%len(r.times)
	return float64(r.counts[newest]-r.counts[oldest]) / r.times[newest].Sub(r.times[oldest]).Seconds()
}

// changedBackend is the backend's state when it is worth telling again: at once when the connection or a server came
// or went, at most once a second when figures changed noticeably, and otherwise at the slow beat.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	if r.link != nil && !r.ready && r.linkErr == "" && !r.done {
		return nil // still connecting for the first time
	}
	if !r.backend.stale && !r.done && now.Sub(r.backend.lookedAt) < time.Second {
		return nil
	}
	r.backend.stale, r.backend.lookedAt = false, now
	b := r.describe()
	r.backend.rates.add(now, b.Cost.Requests)
	b.Cost.PerSecond = r.backend.rates.perSecond()
	told := r.backend.told
	if told != nil && !r.done && sameBackend(told, b) {
		age := now.Sub(r.backend.toldAt)
		if age < time.Second || age < identityEvery && !noticeable(told, b) {
			return nil
		}
	}
	r.backend.told, r.backend.toldAt = b, now
	clone := *b
	clone.Servers = slices.Clone(b.Servers)
	clone.Findings = slices.Clone(b.Findings)
	return &clone
}

func (r *run) describe() *inspect.Backend {
	b := &inspect.Backend{
		Name: r.cfg.Backend, Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch, State: inspect.Connected,
		FirstPass: r.firstPass, Scanned: r.scanned, Findings: slices.Concat(r.deniedFinding(), r.hugeFindings(), r.blind),
	}
	if r.cfg.Once {
		b.Mode = inspect.ModeOnce
	}
	if !r.ready {
		b.State = inspect.Down
		b.Error = fmt.Sprintf("zksource: %s: %s", strings.Join(r.cfg.Servers, ","), r.linkErr)
	}
	for i := range r.cfg.Servers {
		b.Servers = append(b.Servers, r.server(i))
	}
	b.Cost = inspect.Cost{Requests: r.spent, Watches: r.watches}
	if r.link != nil {
		b.Cost.Requests += r.link.tap.Requests()
	}
	for _, a := range r.admins {
		b.Cost.Requests += a.Requests()
	}
	return b
}

// server is what is known of one server: what it said of itself, and what our connection to it shows.
func (r *run) server(i int) inspect.Server {
	s := inspect.Server{Addr: r.cfg.Servers[i], State: inspect.ServerUnknown, Latency: -1}
	if a := r.answers[i]; a.asked {
		if a.err != "" {
			s.State, s.Error = inspect.ServerDown, a.err
		} else {
			s.State, s.Role, s.Latency = inspect.ServerUp, a.status.Role, a.took
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
	if told := r.backend.told; told != nil && i < len(told.Servers) {
		if was := told.Servers[i].StartedAt; at.Sub(was).Abs() < 5*time.Second {
			return was
		}
	}
	return at
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
		findings = append(findings, inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
			Message:  fmt.Sprintf("%s has more than %d children: it is not listed", inspect.Escape(p), r.cfg.Budget.Children),
			Evidence: map[string]any{"path": inspect.Escape(p), "children": r.huge[p]},
			Advice:   "see what fills it; contenders that were never deleted, most likely",
		})
	}
	return findings
}

// sameBackend compares what has to be told at once.
func sameBackend(a, b *inspect.Backend) bool {
	return a.State == b.State && a.Error == b.Error && a.FirstPass == b.FirstPass &&
		slices.EqualFunc(a.Findings, b.Findings, func(x, y inspect.Finding) bool { return x.Message == y.Message }) &&
		slices.EqualFunc(a.Servers, b.Servers, func(x, y inspect.Server) bool {
			return x.Addr == y.Addr && x.State == y.State && x.Role == y.Role && x.Error == y.Error &&
				x.ClockKnown == y.ClockKnown && (x.ClockOffset-y.ClockOffset).Abs() < 5*time.Millisecond && x.StartedAt.Equal(y.StartedAt)
		})
}

// noticeable says that a figure changed so much that somebody who looks at it should see it.
func noticeable(a, b *inspect.Backend) bool {
	if differs(a.Cost.PerSecond, b.Cost.PerSecond, 1) || differs(float64(a.Scanned), float64(b.Scanned), 0) ||
		differs(float64(a.Cost.Watches), float64(b.Cost.Watches), 0) {
		return true
	}
	for i := range a.Servers {
		if differs(a.Servers[i].Latency.Seconds(), b.Servers[i].Latency.Seconds(), 0.005) {
			return true
		}
	}
	return false
}

// differs says that two figures are more than a quarter, and more than least, apart.
func differs(a, b, least float64) bool {
	apart := a - b
	if apart < 0 {
		apart = -apart
	}
	return apart > least && apart > max(a, b)/4
}
