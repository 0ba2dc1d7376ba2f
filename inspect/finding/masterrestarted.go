package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// masterRestarted reports a master that lacks the key while others have it, and that has been up
// for less than the longest TTL seen. It probably forgot the key, and gives its vote to the next
// client. The rule is silent if the holder is known to have come after the restart. For keys that
// never expire it is also silent unless the holder is known to have come before. If the holder's
// arrival is unknown, the finding is only possible: the key may never have been there.
//
// Cause in the wild: masters without persistence, or with appendfsync everysec, that rejoin at
// once; the Redlock page asks for a delayed restart. See redsync PR #149 and #186.
func masterRestarted() rule {
	return rule{
		name: "master-restarted", severity: inspect.Warning,
		means:    "A master lost the key in a restart, so a second client can get its vote.",
		sure:     "Compare `started_at` with the beginning of the hold. `persistence` says what survives a restart.",
		do:       "Wait until the holder is done. Set `appendfsync always`, or delay each restart by the longest TTL.",
		not:      "Do not restart another master until then.",
		evidence: "master, started_at, persistence where known, longest_ttl_ms if watched, votes, quorum",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Masters) < 2 || c.Backend == nil || len(l.Holders) == 0 || settling(c) || c.Spread.Suspect() {
			return nil // if just taken, the other masters may be about to follow
		}
		var found []inspect.Finding
		ttl, computed := time.Duration(0), false
		for i := range l.Masters {
			m := &l.Masters[i]
			if !m.Up || m.Present {
				continue
			}
			s := server(c.Backend, m.Addr)
			if s == nil || s.StartedAt.IsZero() {
				continue
			}
			if !computed {
				ttl, computed = longestTTL(c), true
			}
			if forgot(c, m, s, ttl) {
				found = append(found, forgetful(c, m, s, ttl))
			}
		}
		return found
	})
}

func server(b *inspect.Backend, addr string) *inspect.Server {
	if i := slices.IndexFunc(b.Servers, func(s inspect.Server) bool { return s.Addr == addr }); i >= 0 {
		return &b.Servers[i]
	}
	return nil
}

// startSlack is the tolerance of a start time, since servers report it in seconds.
const startSlack = 2 * time.Second

const forEver = time.Duration(1<<63 - 1)

// longestTTL returns the longest TTL seen on the key, or 0 if there was none.
func longestTTL(c *inspect.Case) time.Duration {
	var ttl time.Duration
	voted := false
	for m := range eachVote(c.Lock) {
		voted = true
		if m.NoExpiry {
			ttl = forEver
		} else if !m.ExpiresAt.IsZero() {
			ttl = max(ttl, m.ExpiresAt.Sub(c.Now))
		}
	}
	if voted && c.History != nil {
		ttl = max(ttl, c.History.LongestTTL)
	}
	return ttl
}

// knownSince reports whether we know when the lock was granted.
func knownSince(l *inspect.Lock) bool { return len(l.Holders) > 0 && !l.Holders[0].HeldSince.IsZero() }

// forgot reports whether a master that lacks the key lost it in its restart. A holder that came
// after the restart has lost nothing. Otherwise an earlier sighting of the key on the master
// decides, then the time of the grant, and finally the lock's age by its TTL.
func forgot(c *inspect.Case, m *inspect.Vote, s *inspect.Server, ttl time.Duration) bool {
	switch {
	case c.Now.Sub(s.StartedAt) >= ttl:
		return false
	case knownSince(c.Lock) && !c.Lock.Holders[0].HeldSince.Add(-c.Offset).Before(s.StartedAt):
		return false // StartedAt is at most a second late, and never early: servers round their uptime down
	case !m.LastPresent.IsZero():
		return m.LastPresent.Before(s.StartedAt.Add(startSlack))
	case c.History != nil && c.History.Since.Before(s.StartedAt):
		return false // it was watched before, and did not have the key
	}
	if knownSince(c.Lock) {
		return true
	}
	h := &c.Lock.Holders[0]
	return ttl != forEver && (h.Since.IsZero() || h.Since.Add(-c.Offset).Before(s.StartedAt))
}

func forgetful(c *inspect.Case, m *inspect.Vote, s *inspect.Server, ttl time.Duration) inspect.Finding {
	addr, started := inspect.Escape(s.Addr), utc(s.StartedAt, c.Now)
	e := evidence{
		"master": addr, "started_at": stamp(s.StartedAt), "votes": c.Lock.Votes(), "quorum": c.Lock.Quorum,
		"cause": "a restart that lost the key: no persistence, or less than appendfsync always",
	}
	if s.Persistence != "" {
		e["persistence"] = inspect.Escape(s.Persistence)
	}
	advice := "do not restart another master until the holder is done; if that cannot wait, " +
		"stop the holder and release the lock"
	if ttl != forEver {
		until, _ := ending(c.Lock)
		if c.History != nil {
			e["longest_ttl_ms"] = c.History.LongestTTL.Milliseconds()
			if delayed := s.StartedAt.Add(c.History.LongestTTL); delayed.After(until) {
				until = delayed
			}
		}
		advice = fmt.Sprintf("keep clients away from %s until %s (delayed restart), or let the holder finish first",
			addr, utc(until, c.Now))
	}
	f := inspect.Finding{
		Subject:    inspect.Subject{Server: inspect.Untrusted(s.Addr)},
		Confidence: recipe.Likely,
		Message: fmt.Sprintf("%s restarted at %s and lost this key: a second client can get its vote while the "+
			"first still holds", at(s.Addr), started),
		Evidence: e,
		Steps:    do(wait(advice), configure("appendfsync always keeps keys across a restart")),
	}
	// the lock may have been taken after the server started
	if h := &c.Lock.Holders[0]; m.LastPresent.IsZero() && h.HeldSince.IsZero() && h.Since.IsZero() {
		f.Confidence = recipe.Possible
		f.Message = fmt.Sprintf("%s has been up since %s and does not have this key: it may have lost it in a restart",
			at(s.Addr), started)
	}
	return f
}
