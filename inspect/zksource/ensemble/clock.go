package ensemble

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// clock relates the ensemble's clock to ours. The leader dates every transaction
// (PrepRequestProcessor). So the relation starts again with each election, and whenever the leader's
// clock is set.
type clock struct {
	election       int64         // the newest one read
	from           int64         // the first transaction after the clock was set; 0 if it was not
	oldest, newest transaction   // read in the newest election and since the clock was set
	ahead          time.Duration // of newest against our clock when it was read; negative if behind
	live           bounds        // from creations that were seen live
	since          time.Time     // when live was renewed
	everyone       bool          // all servers of the ensemble answered
}

// transaction is a transaction that was read, with its time by the leader's clock.
type transaction struct {
	zxid int64
	at   time.Time
}

// epoch returns the election number of a transaction.
func epoch(zxid int64) int64 { return zxid >> 32 }

const (
	// window is the time after which live is renewed, since clocks drift, but far less than drift
	// in this time.
	window, drift = 10 * time.Minute, 7 * time.Second
	// promptNews is the usual delay of news about a creation; later news is known to be late.
	promptNews = zkwire.MaxLag + time.Second/2
	// agreed is the gap up to which two servers' clocks count as equal.
	agreed = 2 * time.Second
)

// leader is the index of the server that dates all transactions, or -1 if unknown. A deposed leader
// that has not noticed claims an older election, or the same one as another.
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
			return -1 // one of them was deposed
		}
	}
	return at
}

func (a *answer) leads() bool { return a.status.Role == "leader" }

// epoch returns the server's election number; 0 if it does not report its newest transaction.
func (a *answer) epoch() int64 { return epoch(int64(a.status.Zxid)) }

// dated learns from the transaction of a node that was read.
func (c *clock) dated(t transaction, now time.Time) {
	switch {
	case epoch(t.zxid) > c.election:
		*c = clock{election: epoch(t.zxid), from: c.from, everyone: c.everyone} // another leader, another clock
	case epoch(t.zxid) < c.election, t.zxid < c.from:
		return
	case t.zxid > c.newest.zxid && c.newest.at.Sub(t.at) > agreed: // it was set back
		c.wasSet(t.zxid)
	}
	if t.zxid >= c.newest.zxid {
		c.newest, c.ahead = t, t.at.Sub(now.Round(0))
	}
	if c.oldest.zxid == 0 || t.zxid < c.oldest.zxid {
		c.oldest = t
	}
}

// wasSet starts again at a transaction: the clock was set after the previous ones.
func (c *clock) wasSet(zxid int64) {
	*c = clock{election: c.election, from: zxid, everyone: c.everyone}
}

// created learns from a creation that was seen live. It happened, by the leader's clock, before we
// heard of it, so the least difference between our clock and that time is the closest bound.
func (c *clock) created(seen, ctime time.Time, zxid int64) {
	if epoch(zxid) < c.election || zxid < c.from {
		return // by a former leader's clock, or before it was set
	}
	least := ctime.Sub(seen.Round(0))
	if c.live.known && (least-c.live.low).Abs() > promptNews+drift {
		c.wasSet(zxid)
	}
	if !c.live.known || least > c.live.low || seen.Sub(c.since) > window {
		c.live, c.since = bounds{low: least, high: least + promptNews, known: true, atLow: true}, seen
	}
	c.live.at = seen
}

// measure learns from the servers' answers, and the previous ones. An ensemble that was wiped
// counts its elections from the start again.
func (c *clock) measure(was, answers []answer, everyone bool) {
	c.everyone = everyone
	if i := leader(answers); i >= 0 {
		a := &answers[i]
		if !slices.ContainsFunc(answers, c.mayBeLater) {
			*c = clock{everyone: everyone}
		}
		if i < len(was) && was[i].clock.known && was[i].clock.apart(a.clock) > agreed {
			c.wasSet(max(c.newest.zxid, int64(a.status.Zxid)) + 1)
		}
	}
	for i := range min(len(was), len(answers)) {
		if answers[i].serves() {
			answers[i].clock = was[i].clock.with(answers[i].clock) // several dates in whole seconds give closer bounds
		}
	}
}

// mayBeLater reports whether a server may follow the newest known election, or a later one.
func (c *clock) mayBeLater(a answer) bool {
	return !a.serves() || a.status.Zxid == 0 || a.epoch() >= c.election
}

// liveSince returns the bounds of the leader's clock since an election, from nodes created under it
// and seen live.
func (c *clock) liveSince(election int64) bounds {
	if election > c.election {
		return bounds{}
	}
	return c.live
}

// ofServer returns the bounds of a server's clock: from its answer and, for the leader, from nodes
// seen live.
func (c *clock) ofServer(i int, answers []answer) bounds {
	a := &answers[i]
	if i == leader(answers) {
		return a.clock.with(c.liveSince(a.epoch()))
	}
	return a.clock
}

// ofLeader relates the clock that dates transactions to ours, from some transaction on. If the
// leader's clock is unknown, the other servers' clocks count if they agree.
func (c *clock) ofLeader(answers []answer) inspect.LeaderClock {
	election := c.election
	b, same := agree(answers)
	if i := leader(answers); i >= 0 {
		a := &answers[i]
		election = max(election, a.epoch())
		if a.clock.known {
			b = a.clock
		}
		if a.leads() && a.epoch() < election && !same {
			b = bounds{} // it may have lost the newest election
		}
	}
	b = b.with(c.liveSince(election))
	k := inspect.LeaderClock{From: c.from}
	if !same || !c.everyone {
		k.From = max(k.From, election<<32)
	}
	if election == c.election {
		k.Offset, k.Oldest, k.Newest = max(0, c.ahead), c.oldest.at, c.newest.at
	}
	switch {
	case b.known && election == c.election && c.ahead > b.high+agreed:
		// It was set ahead after the comparison. Earlier dates are not as old as they look.
		return inspect.LeaderClock{From: max(k.From, c.newest.zxid), Offset: c.ahead}
	case b.known:
		k.Offset, k.Within, k.Known = b.middle(), b.within(), true
	}
	return k
}

// agree bounds the known clocks if they agree. all reports whether every server's is known.
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
