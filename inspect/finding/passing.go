package finding

import (
	"time"

	"lockscope/inspect"
)

// passing are the rules whose findings one look may see halfway: an acquisition that asks one master after the other, a
// waiter between creating its node and watching another, a client that moves from one server to the next, two locks that
// were read one after the other. With each, when what it rests on was last read.
var passing = map[string]func(inspect.Case) time.Time{
	"thin-margin":       votesRead,
	"minority-leftover": votesRead,
	"split-quorum":      votesRead,
	"missing-watch":     watchesRead,
	"lost-wakeup":       watchesRead,
	"self-wait":         watchesRead,
	"ghost-owner":       sessionsRead,
	"deadlock":          known,
}

// Passing reports whether what a rule finds is to be believed only when a second look, [inspect.SettleFor] later, finds the same.
func Passing(rule string) bool { return passing[rule] != nil }

// known is the instant up to which what is known of the lock holds.
func known(c inspect.Case) time.Time { return c.Lock.AsOf(c.Backend, c.Now) }

// votesRead dates the votes. A source reads a key again on which the masters do not agree.
func votesRead(c inspect.Case) time.Time { return c.Lock.ReadAt }

// watchesRead dates the servers' tables of watches.
func watchesRead(c inspect.Case) time.Time {
	if c.Watches == nil {
		return known(c)
	}
	return c.Watches.ReadAt
}

// sessionsRead dates the servers' tables of sessions. Nothing but its keys reports a Redis client.
func sessionsRead(c inspect.Case) time.Time {
	if c.SessionsAt.IsZero() {
		return known(c)
	}
	return c.SessionsAt
}
