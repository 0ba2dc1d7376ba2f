package finding

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// maxSkew is the tolerated gap between two clocks, beyond half the round trip of their readings.
const maxSkew = time.Second

// clockSkew reports servers whose clocks differ from each other or from ours. It concerns the
// backend. Redis counts TTLs by the wall clock: a step ahead frees locks at once, a step back keeps
// them longer by as much. ZooKeeper's locks do not depend on clocks, but ages computed from its
// timestamps do.
//
// Cause in the wild: NTP that is off, or steps instead of slewing; Kleppmann 2016 (a clock that
// jumps gives a second Redlock); measured: +60 s on a Redis host frees a lock of 30 s, -600 s
// keeps it for 630.
func clockSkew() rule {
	return rule{
		name: "clock-skew", severity: inspect.Warning,
		means:    "Servers' clocks are more than 1 s apart, or that far from ours.",
		sure:     "Run `chronyc tracking` on these hosts and here.",
		do:       "Fix NTP, and let it slew the clock.",
		not:      "Do not step a Redis server's clock: locks would end early or late.",
		evidence: "servers (addr, offset_ms from us, latency_ms), between and apart_ms of the widest gap",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		servers := []evidence{}
		us := &inspect.Server{ClockKnown: true}
		behind, ahead := us, us
		for i := range b.Servers {
			s := &b.Servers[i]
			if !s.ClockKnown {
				continue
			}
			offset := s.ClockOffset.Round(100 * time.Millisecond).Milliseconds()
			servers = append(servers, evidence{"addr": inspect.Escape(s.Addr), "offset_ms": offset})
			if s.ClockOffset < behind.ClockOffset {
				behind = s
			}
			if s.ClockOffset > ahead.ClockOffset {
				ahead = s
			}
		}
		apart := ahead.ClockOffset - behind.ClockOffset
		if apart-doubt(ahead)-doubt(behind) <= maxSkew {
			return nil
		}
		return one(skewed(b, servers, apart, behind.Addr, ahead.Addr))
	})
}

// doubt is the tolerance of a clock reading: half its round trip.
func doubt(s *inspect.Server) time.Duration { return max(s.ClockWithin, s.Latency/2, 0) }

// spread returns the widest gap between the servers' clocks.
func spread(b *inspect.Backend) time.Duration {
	first := true
	var least, most time.Duration
	for i := range b.Servers {
		if s := &b.Servers[i]; s.ClockKnown {
			if first {
				least, most, first = s.ClockOffset, s.ClockOffset, false
			}
			least, most = min(least, s.ClockOffset), max(most, s.ClockOffset)
		}
	}
	return most - least
}

func skewed(b *inspect.Backend, servers []evidence, apart time.Duration, behind, ahead string) inspect.Finding {
	apart = apart.Round(100 * time.Millisecond)
	between, short := make([]string, 0, 2), make([]string, 0, 2)
	for _, addr := range []string{behind, ahead} {
		if addr != "" {
			between, short = append(between, inspect.Escape(addr)), append(short, at(addr))
		}
	}
	ours := len(between) == 1 && len(servers) > 1 && apart-spread(b) > maxSkew
	harm, confidence := "if it steps, locks end early or late", recipe.Certain
	switch {
	case b.Kind == inspect.ZooKeeper:
		harm, confidence = "locks do not depend on it, but timestamps in logs do", recipe.Likely
	case ours:
		harm = "ages here are corrected for it, but timestamps in client logs are not"
	}
	return inspect.Finding{
		Confidence: confidence,
		Message:    skew(short, len(servers), apart, behind, ours) + ": " + harm,
		Evidence: evidence{
			"servers": servers, "between": between, "apart_ms": apart.Milliseconds(),
			"cause": "NTP is off, or it steps the clock",
		},
		Steps: do(configure("run chronyc tracking on these hosts and here, and let the clock slew: " +
			"a stepped clock frees locks early or keeps them too long")),
	}
}

// skew describes the gap. between names its servers, only one if the other clock is ours.
func skew(between []string, servers int, apart time.Duration, behind string, ours bool) string {
	by := fmt.Sprintf("%gs", apart.Seconds())
	if apart >= time.Minute {
		by = describe.Span(apart)
	}
	switch {
	case ours && behind == "":
		return fmt.Sprintf("our own clock is about %s behind all %d servers", by, servers)
	case ours:
		return fmt.Sprintf("our own clock is about %s ahead of all %d servers", by, servers)
	case len(between) == 2:
		return "the clocks of " + strings.Join(between, " and ") + " are " + by + " apart"
	case behind == "":
		return between[0] + "'s clock is " + by + " ahead of ours"
	default:
		return between[0] + "'s clock is " + by + " behind ours"
	}
}
