package ensemble

import (
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/internal/connect"
)

// clock relates the clock that dates what is in the ensemble to ours. That is its leader's
// (PrepRequestProcessor sets the time of each transaction), so that it starts again with each election. A
// node was created, by that clock, before we heard of it: the least of what our clock showed minus its
// creation time, over the creations that were seen live, is the closest bound.
type clock struct {
	least, older time.Duration // the bound of this window, and of the one before, since clocks drift
	known        bool
	since, heard time.Time // when least was renewed, and when a creation was last heard of

	election       int64         // the newest one of which something was read
	stepped        int64         // the first transaction after the clock jumped; 0: it did not
	oldest, newest transaction   // that were read, of the newest election and after a jump
	ahead          time.Duration // of newest to our clock when it was read; below zero: behind
	read           time.Time     // when that was
	everyone       bool          // the servers that answer are all of the ensemble
}

// transaction is one that was read, with its time by the leader's clock.
type transaction struct {
	zxid int64
	at   time.Time
}

// epoch is the number of the election that a transaction follows.
func epoch(zxid int64) int64 { return zxid >> 32 }

const (
	// window is the time after which a bound is replaced; it serves for this window and the next.
	window = 10 * time.Minute
	// promptNews is the time within which a creation that was seen live was heard of: later news are known as
	// late (connect.MaxLag), and a list that took longer to come shows none.
	promptNews = connect.MaxLag + PromptList
	// PromptList is the time within which the list came that shows a creation.
	PromptList = time.Second / 2
	// drift of two clocks within two windows is far below this.
	drift = 7 * time.Second
	// agreed is the gap up to which the clocks of two servers pass for the same.
	agreed = 2 * time.Second
)

// leader is the place of the server that dates all transactions; -1 where it is not known, as where one has
// not noticed yet that it lost: the number of its election is lower, or two say that they lead the same.
func leader(answers []answer) int {
	newest := int64(0)
	for i := range answers {
		if answers[i].serves() {
			newest = max(newest, answers[i].epoch())
		}
	}
	at := -1
	for i := range answers {
		a := &answers[i]
		if !a.serves() || a.status.Role != "standalone" && (!a.leads() || a.status.Zxid != 0 && a.epoch() < newest) {
			continue
		}
		switch {
		case at < 0:
			at = i
		case a.leads() && answers[at].leads():
			return -1 // one of them does not any more
		}
	}
	return at
}

// leads reports whether a server says that it leads others.
func (a *answer) leads() bool { return a.status.Role == "leader" }

// epoch is the number of the election that a server follows; 0 where it does not tell its newest transaction.
func (a *answer) epoch() int64 { return epoch(int64(a.status.Zxid)) }

// dated learns from a transaction of a node that was read.
func (c *clock) dated(t transaction, now time.Time) {
	switch {
	case epoch(t.zxid) > c.election:
		*c = clock{election: epoch(t.zxid), stepped: c.stepped, everyone: c.everyone} // another leader, another clock
	case epoch(t.zxid) < c.election, t.zxid < c.stepped:
		return
	case t.zxid > c.newest.zxid && c.newest.at.Sub(t.at) > agreed: // it was set back
		c.jumps(t.zxid)
	}
	if t.zxid >= c.newest.zxid {
		c.newest, c.ahead, c.read = t, t.at.Sub(now.Round(0)), now
	}
	if c.oldest.zxid == 0 || t.zxid < c.oldest.zxid {
		c.oldest = t
	}
}

// jumps starts again at a transaction: those before it were dated by a clock that was set since.
func (c *clock) jumps(zxid int64) {
	*c = clock{election: c.election, stepped: zxid, everyone: c.everyone}
}

// created learns from a creation that was seen live.
func (c *clock) created(seen, ctime time.Time, zxid int64) {
	if epoch(zxid) < c.election || zxid < c.stepped {
		return // by the clock of a former leader, or before it was set
	}
	age := seen.Round(0).Sub(ctime)
	if c.known && (age-min(c.least, c.older)).Abs() > promptNews+drift {
		c.jumps(zxid)
	}
	c.heard = seen
	switch {
	case !c.known:
		c.least, c.older, c.known, c.since = age, age, true, seen
	case seen.Sub(c.since) > window:
		c.older, c.least, c.since = c.least, age, seen
	default:
		c.least = min(c.least, age)
	}
}

// measure learns from the servers' answers, and those before. An ensemble that was wiped counts its elections
// from lower on.
func (c *clock) measure(was, answers []answer, everyone bool) {
	c.everyone = everyone
	if i := leader(answers); i >= 0 {
		a := &answers[i]
		if !slices.ContainsFunc(answers, c.mayBeLater) {
			*c = clock{everyone: everyone}
		}
		if i < len(was) && was[i].clock.known && was[i].clock.apart(a.clock) > agreed {
			c.jumps(max(c.newest.zxid, int64(a.status.Zxid)) + 1)
		}
	}
	for i := range min(len(was), len(answers)) {
		if answers[i].serves() {
			answers[i].clock = was[i].clock.with(answers[i].clock) // a date has whole seconds: several are closer
		}
	}
}

// mayBeLater reports whether a server may follow the newest election that something was read of, or a later one.
func (c *clock) mayBeLater(a answer) bool {
	return !a.serves() || a.status.Zxid == 0 || a.epoch() >= c.election
}

// live bounds the clock of who leads since an election by what was created under it and seen live.
func (c *clock) live(election int64) bounds {
	if !c.known || election > c.election {
		return bounds{}
	}
	least := -min(c.least, c.older)
	return bounds{low: least, high: least + promptNews, at: c.heard, known: true, atLow: true}
}

// ofServer bounds a server's clock, by its answer and by what was seen live.
func (c *clock) ofServer(i int, answers []answer) bounds {
	a := &answers[i]
	alone := len(answers) == 1 && a.status.Role == "" // which of them it is does not show
	if alone || i == leader(answers) {
		return a.clock.with(c.live(a.epoch()))
	}
	return a.clock
}

// ofLeader relates the clock that dates transactions to ours, from the first one on that is known to be by
// it. Where the leader's is not known it passes for what the others agree on.
func (c *clock) ofLeader(answers []answer) inspect.LeaderClock {
	i, election := leader(answers), c.election
	all, same := agree(answers)
	b := all
	if i >= 0 {
		election = max(election, answers[i].epoch())
		if own := answers[i].clock; own.known {
			b = own
		}
		if answers[i].leads() && answers[i].epoch() < election && !same {
			b = bounds{} // it is not known to have won the newest election, too
		}
	}
	b = b.with(c.live(election))
	k := inspect.LeaderClock{From: c.stepped, Offset: max(0, c.ahead), Oldest: c.oldest.at, Newest: c.newest.at}
	switch {
	case election > c.election:
		k.Offset, k.Oldest, k.Newest = 0, time.Time{}, time.Time{}
	case b.known && c.read.After(b.at) && c.ahead > b.high+agreed: // it was set ahead since: what it dated before is not as old
		b, k.Oldest, k.Newest, k.From = bounds{}, time.Time{}, time.Time{}, max(k.From, c.newest.zxid)
	}
	if !same || !c.everyone {
		k.From = max(k.From, election<<32)
	}
	if !b.known {
		return k
	}
	k.Offset, k.Within, k.Known = b.middle(), b.within(), true
	if i >= 0 && answers[i].leads() && answers[i].epoch() == election {
		k.Oldest = answers[i].began(b, k.Oldest)
	}
	return k
}

// began is the earlier of an instant, zero for none, and the one at which a server of that clock began to
// serve, if it tells.
func (a *answer) began(b bounds, at time.Time) time.Time {
	began := a.at.Round(0).Add(b.high - a.status.Uptime)
	if a.status.Uptime == 0 || !at.IsZero() && at.Before(began) {
		return at
	}
	return began
}

// agree bounds the clocks of the servers that are known, as long as they agree. all: that is each of them.
func agree(answers []answer) (b bounds, all bool) {
	all = len(answers) > 0
	for i := range answers {
		is := answers[i].clock
		switch {
		case !is.known:
			all = false
		case !b.known:
			b = is
		case b.apart(is) > agreed:
			return bounds{}, false
		default:
			b = bounds{low: min(b.low, is.low), high: max(b.high, is.high), at: is.at, known: true}
		}
	}
	return b, all
}
