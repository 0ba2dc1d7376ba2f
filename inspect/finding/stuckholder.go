package finding

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// stuckHolder reports a holder that has held for too long while others wait. The limit is
// StuckAfter, which the operator sets. The lock's own history can lower it to ten times the 99th
// percentile of at least 20 holds, but not below 10 s. If a longer hold was seen before, the
// finding is only possible. If the operator configured the usual time of such a lock, the limit is
// twice that time. The rule is silent about a likely deadlock, which has its own finding.
//
// A leader of an election holds for as long as it lives and is never stuck. If the lock is only
// likely or possibly an election, a long hold is info, unless many holds of it were seen. If a lock
// was watched for an hour without any handoff, it may be an election: the finding is only possible,
// and says so.
//
// If the servers' clock could not be compared with ours, only the time from the entry to the newest
// instant of that clock is certain. If that is within the limit, the finding is only possible and
// advises no release.
//
// If the grant was not seen, a holder that held at our first look has held at least since then
// (likely). One that had queued for longer than the limit may have been granted just now
// (possible).
//
// Cause in the wild, by library as in evidence.cause: Curator CURATOR-79 (an interrupt leaves the
// znode) and CURATOR-678 (a release that fails on a lost connection forgets it); kazoo #732 and PR
// #760 (a failed acquire(blocking=False) leaves its znode); samuel/go-zookeeper #229 (a lost reply
// to create leaves an orphan); Redisson #1626 (a watchdog that never stops).
func stuckHolder() rule {
	return rule{
		name: "stuck-holder", severity: inspect.Warning, sometimes: inspect.Info,
		means: "A holder has held the lock for too long while others wait: over `--stuck-after`, ten times the " +
			"usual hold, or twice the expected one. The finding is info if it may be an election. No release is " +
			"advised if the servers' clock is unchecked.",
		sure: "Look at the holder's process: is it working, waiting, or gone?",
		do: "Let it finish, fix what it is waiting for, or stop it. Release the lock only if it hangs for good. If " +
			"long holds are normal, configure `expect`.",
		not: "Do not release it while the holder is working: a release does not stop it, and two may work at once.",
		evidence: "contender with held_since, known (exact, at-least, at-most, unchecked), held_at_least_ms, " +
			"held_over, limit_ms, hold_p99_ms or expected_ms, waiters, kind if it may be an election, " +
			"watched_since if no handoff has been seen since",
		restsOn: []inspect.Aspect{inspect.AspectHolders}, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if !mayBeStuck(c) {
			return nil
		}
		limit, byHistory := holdLimit(c)
		h, held, how := longest(c, limit)
		if held <= limit || h.Persistent && hasExpiry(h) {
			return nil // a lease is held until its end, and renewed, by design
		}
		e := about(h)
		f := inspect.Finding{
			Severity: inspect.Warning, Confidence: how.confidence(), Subject: h.Subject(), Evidence: e,
			Message: stuckMessage(c, h, limit, how, byHistory), Steps: stuckSteps(c, "", h),
		}
		mayElect := elects(c) != ""
		if mayElect {
			f.Severity, f.Confidence = inspect.Info, recipe.Possible
		}
		if c.History != nil && c.History.Holds.Count >= enough && held <= c.History.Holds.Max {
			f.Confidence = recipe.Possible // it happened before, and ended
		}
		e["known"] = how.String()
		e["held_over"], e["limit_ms"], e["waiters"] = describe.Over(held), limit.Milliseconds(), l.Waiting()
		if byHistory {
			e["hold_p99_ms"] = c.History.Holds.P99.Milliseconds()
		}
		if l.ExpectedHold > 0 {
			e["expected_ms"] = l.ExpectedHold.Milliseconds()
		}
		if cause := stuckCause(libraryOf(l, h)); cause != "" {
			e["cause"] = cause
		}
		switch {
		case how == unchecked:
			e["held_at_least_ms"] = c.Backend.AgeAtLeast(cmp.Or(h.HeldSince, h.Since), h.Czxid, c.Now).Milliseconds()
			f.Steps = do(configure(uncheckedAdvice(c)))
		case mayElect:
			e["kind"] = string(l.Kind)
			f.Steps = append(do(configure("if it is an election, its leader is meant to hold: "+
				"say so in the profile (expect: match, kind: election)")),
				stuckSteps(c, "if it is a lock, ", h)...)
		case neverHandedOver(c):
			f.Confidence = recipe.Possible
			e["watched_since"] = stamp(c.History.Since)
			f.Steps = append(do(configure("no handoff was seen for over an hour: if it is an election, say so in the profile (expect: match, kind: election)")),
				stuckSteps(c, "else ", h)...)
		}
		return one(f)
	})
}

// mayBeStuck reports whether others wait for a holder of the lock to let go.
func mayBeStuck(c *inspect.Case) bool {
	holders := len(c.Lock.Holders)
	if holders == 0 || holders < c.Lock.Limit || !waits(c.Lock) {
		return false
	}
	inDeadlock := c.Cycle != nil && c.Cycle.Certainty() != recipe.Possible
	return !inDeadlock && elects(c) != recipe.Certain
}

// holdLimit is the time after which a hold is too long. byHistory is true if it was learnt from the
// lock's own history.
func holdLimit(c *inspect.Case) (limit time.Duration, byHistory bool) {
	if d := c.Lock.ExpectedHold; d > 0 {
		return timesExpected * d, false
	}
	limit = stuckAfter(c)
	if c.History != nil {
		if u := usually(c.History.Holds); u > 0 && u < limit {
			return u, true
		}
	}
	return limit, false
}

// elects returns how likely it is that the lock's holder is a leader; empty if the lock is not an
// election. After many holds it is not one, unless its kind is certain.
func elects(c *inspect.Case) recipe.Confidence {
	l := c.Lock
	switch {
	case l.Kind != inspect.KindElection:
		return ""
	case l.KindConfidence == "" || l.KindConfidence == recipe.Certain:
		return recipe.Certain
	case c.History != nil && c.History.Holds.Count >= enough:
		return ""
	}
	return l.KindConfidence
}

// neverHandedOver reports whether the lock was watched long enough to see a handoff, and had none.
func neverHandedOver(c *inspect.Case) bool {
	h := c.History
	return h != nil && h.Grants == 0 && h.Holds.Count == 0 && !h.Since.IsZero() && c.Now.Sub(h.Since) > watchedLong
}

// surer reports whether a hold of d is more worth reporting than another of held. A hold by an
// unchecked clock ranks behind all others over the limit.
func surer(k knowledge, d time.Duration, how knowledge, held, limit time.Duration) bool {
	if (k == unchecked) != (how == unchecked) {
		return how == unchecked && d > limit || k == unchecked && held <= limit
	}
	return d > held
}

// longest is the holder that has held longest.
func longest(c *inspect.Case, limit time.Duration) (h *inspect.Contender, held time.Duration, how knowledge) {
	for i := range c.Lock.Holders {
		d, k := heldFor(c, &c.Lock.Holders[i], limit)
		if k != unknown && (how == unknown || surer(k, d, how, held, limit)) {
			h, held, how = &c.Lock.Holders[i], d, k
		}
	}
	return h, held, how
}

// stuckMessage names the limit, not the age, which screens show next to the lock.
func stuckMessage(c *inspect.Case, h *inspect.Contender, limit time.Duration, how knowledge, byHistory bool) string {
	text := describe.BriefOwner(h)
	if n := len(c.Lock.Holders); n > 1 {
		text += fmt.Sprintf(", one of %d holders,", n)
	}
	if how < atLeast { // it was queued for that long
		text += " may have held it"
	} else {
		text += " has held it"
	}
	switch expected := c.Lock.ExpectedHold; {
	case expected > 0:
		text += " for over " + describe.Limit(limit) + ", expected at most " + describe.Limit(expected)
	case byHistory: // the limit is ours, not the operator's
		text += " for over " + describe.Limit(limit) + ", usually at most " + describe.Limit(c.History.Holds.P99)
	default:
		text += " past the limit of " + describe.Limit(limit)
	}
	if how == unchecked {
		text += ", if the server's clock, which could not be compared, is right"
	}
	if elects(c) != "" {
		text += ", perhaps as a leader"
	}
	return text + "; " + queued(c.Lock)
}

// uncheckedAdvice names no action on the lock: the operator must first check the servers' clock.
func uncheckedAdvice(c *inspect.Case) string {
	advice := "compare the output of date on the ZooKeeper leader with this machine's before you act"
	if c.Backend.ClockKnown() {
		return advice + ": the entry is older than the current leader, or was made before its clock was set"
	}
	return advice + ". To have it compared, allow cons in 4lw.commands.whitelist, or give the AdminServer in the target (admin=)"
}

// stuckSteps returns the advice. Its first step begins with the condition.
func stuckSteps(c *inspect.Case, condition string, h *inspect.Contender) []inspect.Step {
	if mayNotKnow(c, h) { // as lost-wakeup advises
		return do(restart(condition + restartWaiting))
	}
	look := "see what its client is doing"
	if h.Owner.Client != "" || h.Owner.Host != "" {
		look = "see what its process does (jstack, py-spy)"
	}
	steps := do(wait(condition + look))
	if h.Revocable {
		steps = append(steps, act(c, inspect.Step{
			Verb: inspect.VerbAsk, Lock: c.Lock.ID, Owner: h.Name,
			Why: "its client can be asked to release it, and may do so",
		}, ""))
	}
	after := "its client keeps running"
	if len(c.Lock.Holders) > 1 && c.Lock.Kind != inspect.KindSemaphore {
		after += ", and the waiters wait until no holder is left"
	}
	return append(steps, releaseOf(c, "if it hangs, release it ("+after+")", h))
}

func stuckCause(library string) string {
	return map[string]string{
		"curator": "work that hangs, or a znode left behind by an interrupt (CURATOR-79) or a failed " +
			"release (CURATOR-678)",
		"kazoo": "work that hangs, or a znode left behind by a failed acquire(blocking=False) (kazoo #732, " +
			"PR #760)",
		"go-zookeeper": "work that hangs, or a znode left behind by a lost reply to create (samuel/go-zookeeper #229)",
		"redisson":     "work that hangs, or a watchdog that renews forever (Redisson #1626)",
	}[library]
}
