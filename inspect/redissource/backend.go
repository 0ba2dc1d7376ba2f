package redissource

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
	told   *inspect.Backend
	toldAt time.Time
	rates  rateMeter
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

// changedBackend is the backend's state when it is worth telling again: at once when a server came or went, at most
// once a second when figures changed noticeably, and otherwise at the slow beat.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	b := r.describe(inspect.ModePoll)
	r.backend.rates.add(now, b.Cost.Requests)
	b.Cost.PerSecond = r.backend.rates.perSecond()
	told := r.backend.told
	if told != nil && sameBackend(told, b) {
		age := now.Sub(r.backend.toldAt)
		if age < time.Second || age < statusEvery && !noticeable(told, b) {
			return nil
		}
	}
	r.backend.told, r.backend.toldAt = b, now
	clone := *b
	clone.Servers = slices.Clone(b.Servers)
	return &clone
}

// describe builds the backend's state.
func (r *run) describe(mode inspect.Mode) *inspect.Backend {
	b := &inspect.Backend{Name: r.cfg.Backend, Kind: inspect.Redis, Mode: mode, FirstPass: true, Scanned: len(r.board.entries)}
	up := 0
	var errors []string
	for _, p := range r.masters {
		server := p.server
		server.Addr = p.addr
		switch server.State {
		case inspect.ServerUp:
			up++
			b.FirstPass = b.FirstPass && p.passed
			b.Findings = append(b.Findings, p.blind()...)
		case inspect.ServerDown:
			errors = append(errors, server.Error)
		default:
			server.State, server.Latency = inspect.ServerUnknown, -1
			b.FirstPass = false
		}
		b.Servers = append(b.Servers, server)
		b.Cost.Requests += p.sent.Load()
	}
	if r.backend.told != nil && r.backend.told.FirstPass {
		b.FirstPass = true
	} else {
		for _, e := range r.board.entries {
			b.FirstPass = b.FirstPass && (up == 0 || !e.unread())
		}
	}
	b.Findings = append(b.Findings, r.board.blind()...)
	b.Error = strings.Join(errors, "; ")
	switch {
	case up == len(r.masters):
		b.State = inspect.Connected
	case up > 0:
		b.State = inspect.Degraded
	default:
		b.State = inspect.Down
	}
	return b
}

// blind says which keys our user may not read.
func (b *board) blind() []inspect.Finding {
	if len(b.denied) == 0 {
		return nil
	}
	first := inspect.Escape(slices.Min(slices.Collect(maps.Keys(b.denied))))
	return []inspect.Finding{{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
		Message:  fmt.Sprintf("%d keys match but may not be read, the first is %s", len(b.denied), first),
		Evidence: map[string]any{"count": len(b.denied), "first": first},
		Advice:   "allow reading them (ACL SETUSER NAME %R~PATTERN), or narrow the target with match=",
	}}
}

// blind says what a master would not let us see.
func (p *peer) blind() []inspect.Finding {
	denied := p.denied
	if isDenied(p.scanErr) {
		denied = append(slices.Clone(denied), "SCAN")
	}
	var findings []inspect.Finding
	for _, command := range denied {
		findings = append(findings, inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
			Message:  fmt.Sprintf("master %s does not let our user run %s", p.addr, command),
			Evidence: map[string]any{"master": p.addr, "command": command},
			Advice:   fmt.Sprintf("allow it: ACL SETUSER NAME +%s", strings.ToLower(command)),
		})
	}
	return findings
}

// sameBackend compares what has to be told at once.
func sameBackend(a, b *inspect.Backend) bool {
	return a.State == b.State && a.Error == b.Error && a.FirstPass == b.FirstPass && len(a.Findings) == len(b.Findings) &&
		slices.EqualFunc(a.Servers, b.Servers, func(x, y inspect.Server) bool {
			x.Latency, y.Latency = 0, 0
			return x == y
		})
}

// noticeable says that a figure changed so much that somebody who looks at it should see it.
func noticeable(a, b *inspect.Backend) bool {
	if differs(a.Cost.PerSecond, b.Cost.PerSecond, 1) || differs(float64(a.Scanned), float64(b.Scanned), 0) {
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
