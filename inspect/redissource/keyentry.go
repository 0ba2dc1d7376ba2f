package redissource

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// reportedAgain is the longest time until an unchanged polled lock is reported again, to show
// that it was read.
const reportedAgain = 2 * time.Second

// reportAgain returns when to report a polled lock again. A missing renewal must show before the
// key expires.
func reportAgain(l *inspect.Lock) time.Time {
	after := reportedAgain
	for i := range l.Holders {
		if at := l.Holders[i].ExpiresAt; !at.IsZero() {
			after = min(after, at.Sub(l.ReadAt)/4)
		}
	}
	return l.ReadAt.Add(after)
}

// unread is the error of a vote that has not been read yet.
const unread = "not read yet"

// entry is one key.
type entry struct {
	key   string
	votes []inspect.Vote
	// lock is the last emitted lock; nil if the key was never a lock.
	lock      *inspect.Lock
	read      bool // at least once
	readAt    time.Time
	freeSince time.Time
	confirmed int // how often disagreeing masters have repeated their votes
	// changedAfter is when the previous verdict was last known to hold. It is reported on polled
	// masters, at the first read after lost pushes (unreported), and at a late read (outOfSight).
	changedAfter time.Time
	unreported   bool
	// unwatched marks votes whose next read may show an unreported change. The master has just
	// begun to push, the key moved to another cluster node, or a pass found it. All changes until
	// watchedUntil were reported.
	unwatched    []bool
	watchedUntil time.Time
}

// cameUnreported notes that the key appeared after since, without a report; zero means unknown.
func (e *entry) cameUnreported(since time.Time) {
	for i := range e.votes {
		e.unwatch(i, time.Time{})
		e.votes[i].ReadAt = since
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// cameUnseen reports whether the key is unread and its creation may have gone unreported.
func (e *entry) cameUnseen() bool { return !e.read && slices.Contains(e.unwatched, true) }

func (e *entry) unwatch(at int, since time.Time) {
	if !slices.Contains(e.unwatched, true) || since.Before(e.watchedUntil) {
		e.watchedUntil = since
	}
	e.unwatched[at] = true
}

// ends returns the expiries of a vote's key and of its entries, without those that never expire.
func ends(v inspect.Vote) []time.Time {
	var at []time.Time
	if !v.ExpiresAt.IsZero() {
		at = append(at, v.ExpiresAt)
	}
	if v.Held != nil {
		for _, c := range v.Held.Claims {
			if !c.ExpiresAt.IsZero() && !c.Dead {
				at = append(at, c.ExpiresAt)
			}
		}
	}
	return at
}

func overdue(v inspect.Vote, now time.Time) bool {
	past := func(at time.Time) bool { return !at.Add(afterExpiry).After(now) }
	return doubtful(v) || slices.ContainsFunc(ends(v), past)
}

// ending reports whether something in a vote expires soon and has not been read for a while.
func ending(v inspect.Vote, now time.Time) bool {
	return slices.ContainsFunc(ends(v), func(at time.Time) bool {
		last := at.Add(-beforeExpiry)
		return !last.After(now.Add(jitter)) && at.After(now) && v.ReadAt.Before(last.Add(-jitter))
	})
}

// outOfSight reports whether an expired holder had not been read for a while, although changes
// are reported. The server or this process may have been paused.
func (e *entry) outOfSight(now time.Time) bool {
	return e.lock != nil && slices.ContainsFunc(e.lock.Holders, func(h inspect.Contender) bool {
		end := h.ExpiresAt
		return !end.IsZero() && !now.Add(grace).Before(end) && e.changedAfter.Before(end.Add(-inspect.MostUnseen))
	})
}

func doubtful(v inspect.Vote) bool { return v.Held != nil && v.Held.Doubtful }

// lastConfirmed returns when the verdict was last known to hold before a vote changes. That is when
// a quorum of agreeing masters had last been read. The time is kept while fewer remain. If no
// masters agreed, it is the vote's own last read.
func (e *entry) lastConfirmed(at int) time.Time {
	i := -1
	if e.lock != nil {
		i = slices.IndexFunc(e.lock.Masters, func(m inspect.Vote) bool { return m.Agrees })
	}
	if i < 0 {
		return e.votes[at].ReadAt
	}
	was := e.lock.Masters[i]
	var read []time.Time
	for _, v := range e.votes {
		if v.Up && v.Present && v.Value == was.Value && v.Digest == was.Digest {
			read = append(read, v.ReadAt)
		}
	}
	if len(read) < e.lock.Quorum {
		return e.changedAfter
	}
	slices.SortFunc(read, func(a, b time.Time) int { return b.Compare(a) })
	return read[e.lock.Quorum-1]
}

// lastPresent returns the newer vote, with the time at which the master last had the key.
func lastPresent(old, v inspect.Vote, now time.Time) inspect.Vote {
	switch {
	case v.Present:
	case old.Present:
		v.LastPresent = now
	default:
		v.LastPresent = old.LastPresent
	}
	return v
}

// steady keeps the old time if the new one only jittered. A time that has passed is replaced;
// otherwise nothing would be due.
func steady(old, at, now time.Time) time.Time {
	if !at.IsZero() && old.After(now) && at.Sub(old).Abs() < jitter {
		return old
	}
	return at
}

// unread reports whether some master has not been read yet. A master that does not answer soon
// counts as down.
func (e *entry) unread() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Error == unread })
}

// isLock reports whether at least one master holds a string, a structure that a recipe knows, or
// something unreadable.
func (e *entry) isLock() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool {
		return v.Present && !v.Foreign || v.Held != nil || hides(v) && !e.forbidden(v)
	})
}

// hides reports whether a master may have an unreadable lock under the key.
func hides(v inspect.Vote) bool {
	return v.Unknown(inspect.AspectHolders) || v.Unknown(inspect.AspectWaiters) || v.Unknown(inspect.AspectKind)
}

// forbidden reports whether our user may not read the key with any command. Then only its name is
// known.
func (e *entry) forbidden(v inspect.Vote) bool {
	return !v.Up && slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool { return u.Right == "~"+e.key })
}

// partOf returns the key of the lock that this one belongs to; empty if it is a separate lock.
func (e *entry) partOf() string {
	hidden := false
	for _, v := range e.votes {
		if v.Held != nil && v.Held.PartOf != "" {
			return v.Held.PartOf
		}
		hidden = hidden || v.Held == nil && v.Unknown(inspect.AspectHolders) && !e.forbidden(v)
	}
	if lock, ok := recipe.MayBelongTo(e.key); ok && hidden {
		return lock
	}
	return ""
}

// sameVotes compares everything except which masters agree, which follows from the rest.
func sameVotes(a, b []inspect.Vote) bool {
	return slices.EqualFunc(a, b, func(x, y inspect.Vote) bool {
		return x.LastPresent.Equal(y.LastPresent) && x.Up == y.Up && x.Addr == y.Addr && x.Error == y.Error &&
			x.Present == y.Present && x.Foreign == y.Foreign && x.Unsure == y.Unsure &&
			x.Value == y.Value && x.Digest == y.Digest && x.NoExpiry == y.NoExpiry && x.ExpiresAt.Equal(y.ExpiresAt) &&
			x.Held.Equal(y.Held) && slices.Equal(x.Unseen, y.Unseen)
	})
}
