package finding

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

const (
	// arrived is the minimum age at which a contender's missing session counts: reading the tables
	// of several servers takes a while.
	arrived = 5 * time.Second
	// arrivedUntimed replaces arrived for a table of unknown age. It is longer than any source
	// waits between two tables.
	arrivedUntimed = time.Minute
)

// ghostOwner reports a contender whose owner is gone.
//
// ZooKeeper: all servers listed their connections and none has the session, or its server has not
// heard from it for longer than its timeout. The finding is only likely, since the client may be
// reconnecting. In a continuous watch the finding is info until the session must have timed out,
// and a warning afterwards. Without the tables of all servers the rule is silent. It is also silent
// about a listed session until its server is due to end it. The same holds while clients may be
// reconnecting after a server began to serve (Backend.DisturbedAt).
//
// Redis: a key that the library keeps alive next to the entry is gone, such as a Redisson reader's
// own key. A dead waiter in a fair queue is reported by stale-fair-queue instead.
//
// Cause in the wild: a client that was cut off or killed, and whose session has not timed out yet;
// dCache PR #5526 (stale leaders "may go undetected for a longer time"); CURATOR-604 (the znode of
// the previous session); in Redisson another reader renews the key that contains a dead reader's
// field.
func ghostOwner() rule {
	return rule{
		name: "ghost-owner", severity: inspect.Warning, sometimes: inspect.Info,
		means: "The owner is connected to no server, or the key or node that its library renews for it is gone. " +
			"The finding is info until the session times out.",
		sure:     "Look for the process on the host that `show` names.",
		do:       "Wait for the session to time out. If the entry stays, and the process is gone, release it.",
		not:      "Do not release it while its client may reconnect.",
		evidence: "contender, state, count, last_contact, session_timeout_ms, missing_since, ends_by",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectSessions}, asOf: sessionsRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		var first *inspect.Contender
		n := 0
		for one := range c.Lock.Contenders {
			if ghost(c, one) {
				first = cmp.Or(first, one)
				n++
			}
		}
		if first == nil {
			return nil
		}
		e := about(first)
		e["state"], e["count"] = first.State.String(), n
		f := inspect.Finding{Confidence: recipe.Likely, Evidence: e, Subject: first.Subject()}
		if first.Owner.Session == 0 {
			e["cause"] = "its client died; other clients keep alive the key that holds its entry"
			f.Message = fmt.Sprintf("%s %s, but nothing keeps its entry alive: its client is gone",
				describe.BriefOwner(first), verb(first))
			f.Steps = do(releaseOf(c, "if no process has this id any more", first))
		} else {
			f.Message, f.Steps = ghostSession(c, first, e)
			if by := endsBy(c, first, e); c.Now.Before(by) {
				f.Severity = inspect.Info
				f.Message = fmt.Sprintf("%s %s, but its session %s is connected to no server: "+
					"it ends by %s unless its client reconnects",
					owner(first), verb(first), inspect.SessionID(first.Owner.Session), utc(by, c.Now))
				f.Steps = do(wait("wait until then: its locks are freed when the session ends"))
			}
		}
		if n > 1 {
			f.Message += fmt.Sprintf("; and %d more", n-1)
		}
		return one(f)
	})
}

func ghost(c *inspect.Case, one *inspect.Contender) bool {
	if one.Owner.Session == 0 {
		return one.Dead && !inFairQueue(c.Lock, one)
	}
	s, ok := c.Sessions[one.Owner.Session]
	if ok {
		return overdue(c, s)
	}
	if c.Sessions == nil || !c.AllSessions || one.Since.IsZero() || returning(c, one) {
		return false
	}
	if !(c.Backend.ClockKnown() && c.Backend.Dates(one.Czxid)) && !readOnce(c) && !one.Seen.Before(c.SessionsAt) &&
		!c.SessionsAt.IsZero() {
		return false // the unknown clock may make it look too old
	}
	came := one.Since.Add(-c.Offset)
	if c.SessionsAt.IsZero() {
		return c.Now.Sub(came) > arrivedUntimed
	}
	return c.SessionsAt.Sub(came) > arrived
}

// twoTicks is two of the usual ticks of 2 s. At the first tick after a session's timeout, a server
// ends it and deletes its nodes.
const twoTicks = 4 * time.Second

// expiry is how long after the last contact a session and its nodes should be gone. No session
// times out in less than two ticks, unless the server is configured otherwise.
func expiry(timeout time.Duration) time.Duration { return timeout + min(timeout, twoTicks) }

// longestUsual is the longest timeout that a server grants by default: 20 ticks of 2 s. It
// is used unless a server reported the session's own timeout.
const longestUsual = 40 * time.Second

// returning reports whether a client may be reconnecting: servers that begin to serve again keep
// each session for its whole timeout. If the client created its entry later, it came back and has
// left again.
func returning(c *inspect.Case, one *inspect.Contender) bool {
	at := cmp.Or(c.SessionsAt, c.Now)
	timeout := cmp.Or(one.Owner.SessionTimeout, longestUsual)
	if c.Backend == nil {
		return false
	}
	disturbed := c.Backend.DisturbedAt
	cameSince := c.Backend.Dates(one.Czxid) && one.Since.Add(-c.Offset).After(disturbed)
	return !disturbed.IsZero() && at.Sub(disturbed) < expiry(timeout) && !cameSince
}

// readOnce reports whether the backend is read once: first its locks, then its clients.
func readOnce(c *inspect.Case) bool { return c.Backend != nil && c.Backend.Mode == inspect.ModeOnce }

// overdue reports whether a session has been silent for so long that its server should have ended
// it.
func overdue(c *inspect.Case, s inspect.Session) bool {
	return !c.SessionsAt.IsZero() && !s.LastContact.IsZero() && s.Timeout > 0 &&
		c.SessionsAt.Sub(s.LastContact) > expiry(s.Timeout)
}

func ghostSession(c *inspect.Case, one *inspect.Contender, e evidence) (message string, steps []inspect.Step) {
	timeout := one.Owner.SessionTimeout
	how := "is connected to no server"
	if s, ok := c.Sessions[one.Owner.Session]; ok {
		timeout, how = s.Timeout, "has been silent for longer than its timeout"
		e["last_contact"] = stamp(s.LastContact)
	}
	e["cause"] = "its client was killed or cut off, and the session has not timed out yet"
	message = fmt.Sprintf("%s %s, but its session %s %s", owner(one), verb(one), inspect.SessionID(one.Owner.Session),
		how)
	until := "wait for the session to time out"
	if timeout > 0 {
		e["session_timeout_ms"] = timeout.Milliseconds()
		until += " (" + describe.Limit(timeout) + ")"
	}
	return message, do(wait(until), releaseOf(c, "if it stays although its process is gone", one))
}

// endsBy is the time, by our clock, by which a session without a connection has timed out: a
// timeout after it was first missed. It is zero if unknown. The previous finding's evidence
// records when it was first missed.
func endsBy(c *inspect.Case, one *inspect.Contender, e evidence) time.Time {
	_, reported := c.Sessions[one.Owner.Session]
	if reported || c.Backend == nil || readOnce(c) {
		return time.Time{}
	}
	since := cmp.Or(c.SessionsAt, c.Now)
	for _, f := range c.Lock.Findings {
		if f.Rule != "ghost-owner" || !f.Subject.Is(one) {
			continue
		}
		if at, ok := f.Evidence["missing_since"].(time.Time); ok && at.Before(since) {
			since = at
		}
	}
	timeout := cmp.Or(one.Owner.SessionTimeout, longestUsual)
	by := since.Add(expiry(timeout)).Truncate(time.Second).Add(time.Second)
	e["missing_since"], e["ends_by"] = stamp(since), stamp(by)
	return by
}

// owner names a contender, but not by its session.
func owner(c *inspect.Contender) string {
	if w := c.Who(); w.Raw() == inspect.SessionID(c.Owner.Session) {
		return describe.BriefName(c.Name)
	}
	return describe.BriefOwner(c)
}
