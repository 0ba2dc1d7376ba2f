package finding

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

const (
	// defaultStuckAfter is the default of --stuck-after.
	defaultStuckAfter = 10 * time.Minute
	// enough is the number of complete spans needed for a useful percentile.
	enough = 20
	// timesUsual is the multiple of the 99th percentile above which a time is unusual. Nothing
	// below noticeable is reported.
	timesUsual = 10
	noticeable = 10 * time.Second
	// timesExpected is the multiple of the operator's expected hold above which a hold is too long.
	timesExpected = 2
	// watchedLong is how long a lock must be watched without a handoff before we assume that it
	// may never have one.
	watchedLong = time.Hour
)

func stuckAfter(c *inspect.Case) time.Duration {
	if c.StuckAfter > 0 {
		return c.StuckAfter
	}
	return defaultStuckAfter
}

// backendNow is the current time by the backend's clock.
func backendNow(c *inspect.Case) time.Time { return c.Now.Add(c.Offset) }

// usually is ten times the 99th percentile of a lock's own spans, at least noticeable; 0 if there are too few.
func usually(s inspect.Spans) time.Duration {
	if s.Count < enough {
		return 0
	}
	return max(timesUsual*s.P99, noticeable)
}

// knowledge says how well a span is known, from the weakest up.
type knowledge int

const (
	unknown   knowledge = iota
	unchecked           // by a server clock that could not be compared with ours
	atMost              // since it entered the queue, although the grant came later
	atLeast             // since it was first seen to hold
	exact
)

func (k knowledge) String() string {
	return [...]string{"unknown", "unchecked", "at-most", "at-least", "exact"}[k]
}

// confidence of a finding that depends on a span.
func (k knowledge) confidence() recipe.Confidence {
	switch k {
	case exact:
		return recipe.Certain
	case atLeast:
		return recipe.Likely
	default:
		return recipe.Possible
	}
}

// heldFor returns how long a contender has held. It prefers the surest knowledge that reaches
// limit.
func heldFor(c *inspect.Case, h *inspect.Contender, limit time.Duration) (time.Duration, knowledge) {
	from, how := h.Since, atMost
	if !h.HeldSince.IsZero() {
		from, how = h.HeldSince, exact
	}
	seenGranted := how == exact && !h.HeldSince.Equal(h.Since) // by our clock
	entered, checked := !from.IsZero(), seenGranted || c.Backend.Dates(h.Czxid)
	dated := entered && checked
	if dated && how == exact {
		return backendNow(c).Sub(from), exact
	}
	if c.History != nil && !h.Seen.IsZero() {
		seen := c.Now.Sub(h.Seen)
		if dated {
			seen = min(seen, backendNow(c).Sub(from)) // if seen before it entered, our clock has been set since
		}
		if seen > limit || !entered {
			return max(0, seen), atLeast
		}
	}
	switch {
	case !entered:
		return 0, unknown
	case checked:
		return backendNow(c).Sub(from), how
	}
	if least := c.Backend.AgeAtLeast(from, h.Czxid, c.Now); least > limit {
		return least, min(how, atLeast)
	}
	return backendNow(c).Sub(from), unchecked
}

// pastFor returns how long ago a contender came or was granted. If the clock that dated this is
// unknown, it returns the least possible time.
func pastFor(c *inspect.Case, one *inspect.Contender, at time.Time) time.Duration {
	if c.Backend.Dates(one.Czxid) || at.Equal(one.HeldSince) && !at.Equal(one.Since) {
		return backendNow(c).Sub(at)
	}
	least := c.Backend.AgeAtLeast(at, one.Czxid, c.Now)
	if c.History != nil && !one.Seen.IsZero() {
		least = max(least, c.Now.Sub(one.Seen))
	}
	return least
}

// waits reports whether the lock is known to have waiters.
func waits(l *inspect.Lock) bool {
	return l.Waiting() > 0 || l.State == inspect.StateContended && len(l.Waiters) == 0
}

// queued counts the waiters in words.
func queued(l *inspect.Lock) string {
	switch {
	case l.WaitersAtLeast > 0:
		return fmt.Sprintf("at least %d waiting", l.Waiting())
	case l.Waiting() > 0:
		return strconv.Itoa(l.Waiting()) + " waiting"
	default:
		return "others wait"
	}
}
