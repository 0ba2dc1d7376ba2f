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

// changedBackend is the backend's state when it is worth telling again. Before any master has answered or failed there is
// none: it is not known to be down.
func (r *run) changedBackend(now time.Time) *inspect.Backend {
	if !slices.ContainsFunc(r.masters, func(p *peer) bool { return p.server.State == inspect.ServerUp || p.server.State == inspect.ServerDown }) {
		return nil
	}
	return r.backend.Tell(now, r.describe(), false)
}

// describe builds the backend's state.
func (r *run) describe() *inspect.Backend {
	b := &inspect.Backend{Name: r.cfg.Backend, Kind: inspect.Redis, Mode: r.mode(), FirstPass: true, Scanned: len(r.board.entries)}
	up, down, unsought := 0, 0, 0
	var errors []string
	for _, p := range r.masters {
		server := p.server
		server.Addr = p.addr
		switch server.State {
		case inspect.ServerUp:
			up++
			b.FirstPass = b.FirstPass && p.passed
			b.Findings = append(b.Findings, p.blind()...)
			b.Findings = append(b.Findings, p.unpushed()...)
			if isDenied(p.scanErr) {
				unsought++
				errors = append(errors, fmt.Sprintf("master %s: user %q may not look for keys (allow it: ACL SETUSER %s +scan)", p.addr, p.user(), inspect.Escape(p.user())))
			}
		case inspect.ServerDown:
			down++
			errors = append(errors, server.Error)
		default:
			server.State, server.Latency = inspect.ServerUnknown, -1
			b.FirstPass = false
		}
		b.Servers = append(b.Servers, server)
		b.Cost.Requests += p.sent.commands.Load()
		b.Cost.Trips += p.sent.trips.Load()
		b.Lost += p.lost
		b.Cost.Slowed = b.Cost.Slowed || p.pace.Slow
	}
	if !r.cfg.Once {
		b.Cost.Limit, b.Cost.Duty = float64(len(r.masters)*r.cfg.Budget.Reads), r.cfg.Budget.Duty
	}
	if r.backend.Told != nil && r.backend.Told.FirstPass {
		b.FirstPass = true
	} else if b.FirstPass && up > 0 {
		b.FirstPass = r.board.complete()
	}
	b.Findings = append(b.Findings, r.board.blind()...)
	b.Error = strings.Join(errors, "; ")
	switch {
	case up > 0 && down == 0 && unsought == 0: // those that have not answered yet may still do so
		b.State = inspect.Connected
	case up > 0:
		b.State = inspect.Degraded
	default:
		b.State = inspect.Down
	}
	return b
}

// mode is how changes reach us: push only when no master that answers has to be polled.
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

// complete says that every known key was read on every master.
func (b *board) complete() bool {
	for _, e := range b.entries {
		if e.unread() {
			return false
		}
	}
	return true
}

// unpushed says why a master is polled.
func (p *peer) unpushed() []inspect.Finding {
	if p.refused == (refusal{}) {
		return nil
	}
	evidence := map[string]any{"master": p.addr, "reason": p.refused.why}
	if p.refused.said != "" {
		evidence["answer"] = p.refused.said
	}
	return []inspect.Finding{{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
		Message:  fmt.Sprintf("master %s is polled, changes in between are not seen: %s", p.addr, p.refused.why),
		Evidence: evidence,
		Advice:   p.refused.advice,
	}}
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
			Advice:   fmt.Sprintf("allow it: ACL SETUSER %s +%s", inspect.Escape(p.user()), strings.ToLower(command)),
		})
	}
	return findings
}
