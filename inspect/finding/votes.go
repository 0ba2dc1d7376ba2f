package finding

import (
	"iter"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// eachVote yields the votes that name a holder.
func eachVote(l *inspect.Lock) iter.Seq[*inspect.Vote] {
	return func(yield func(*inspect.Vote) bool) {
		for i := range l.Masters {
			if m := &l.Masters[i]; m.Up && m.Present && !m.Foreign && !hidden(m) && !yield(m) {
				return
			}
		}
	}
}

// hidden reports whether the master's holder could not be read.
func hidden(m *inspect.Vote) bool { return m.Held == nil && m.Unknown(inspect.AspectHolders) }

// settling reports whether all votes on a key were set a moment ago, so that others may follow, or
// these may be withdrawn. It needs a history, for the longest TTL seen.
func settling(c *inspect.Case) bool {
	if c.History == nil || c.History.LongestTTL <= 0 {
		return false
	}
	ttl := c.History.LongestTTL
	moment := min(time.Second, ttl/4)
	return !each.Any(eachVote(c.Lock), func(m *inspect.Vote) bool {
		return m.NoExpiry || m.ExpiresAt.IsZero() || c.Now.Sub(m.ExpiresAt.Add(-ttl)) >= moment
	})
}

// ending returns when the last vote expires, by our clock. never is true if one does not expire.
func ending(l *inspect.Lock) (at time.Time, never bool) {
	for m := range eachVote(l) {
		never = never || endless(m)
		if m.ExpiresAt.After(at) {
			at = m.ExpiresAt
		}
	}
	return at, never
}

// endless reports whether a plain key never expires. Keys of structures may lack an expiry while
// the lock is free; their holders have their own expiries.
func endless(m *inspect.Vote) bool { return m.NoExpiry && m.Held == nil }

// part returns a value that holds only some of its lock's keys, and its vote; empty if none.
func part(l *inspect.Lock) (m *inspect.Vote, value inspect.Untrusted) {
	for i := range l.Masters {
		if h := l.Masters[i].Held; l.Masters[i].Up && h != nil && len(h.Partial) > 0 {
			return &l.Masters[i], inspect.Untrusted(h.Partial[0])
		}
	}
	return nil, ""
}

// ballots returns every master's vote as evidence: addr and says. says is the value, "absent", "no
// answer" or, if the key is not a lock, its type.
func ballots(l *inspect.Lock) []evidence {
	list := make([]evidence, 0, len(l.Masters))
	for i := range l.Masters {
		list = append(list, evidence{"addr": inspect.Escape(l.Masters[i].Addr), "says": says(&l.Masters[i])})
	}
	return list
}

func says(m *inspect.Vote) string {
	switch {
	case !m.Up:
		return "no answer"
	case hidden(m):
		return "not seen"
	case m.Held != nil && len(m.Held.Partial) > 0:
		return "a part: " + inspect.Escape(m.Held.Partial[0])
	case !m.Present:
		return "absent"
	case m.Foreign:
		return "type " + m.Value.String()
	case m.Digest != "":
		return m.Digest
	default:
		return m.Value.String()
	}
}
