package zksource

import (
	"context"
	"math"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/internal/stall"
	"lockscope/inspect/zkadmin"
	"lockscope/internal/connect"
)

// clock knows how far the clocks of the servers are ahead of ours, foremost that of the leader, which dates all transactions
// (PrepRequestProcessor sets the time of each, and a follower sends it there).
type clock struct {
	// A node was created, by the leader's clock, before we heard of it, so the least of what our clock showed minus its creation
	// time is the closest bound. It is renewed from time to time, since clocks drift.
	least, older time.Duration
	known        bool
	since, heard time.Time // when least was renewed, and when a creation was last heard of

	servers  map[int]bounds // by their place in the target
	everyone bool           // these are all of the ensemble
	probedAt time.Time      // when a session was made for its sake; zero: never
	// oldest and newest are the first and the last transaction that were read of the newest election, and after stepped: the
	// last one from before a step of the leader's clock. last is the newest of all.
	oldest, newest transaction
	last, stepped  int64
	steppedAt      time.Time // what showed the leader's clock before is of the one from before its step
	fallen         bool      // by the last inquiry all follow an election before that of last
	// apart is the last transaction at which the servers' clocks are known to have differed, or one of them stepped.
	apart int64
	// The newest leader began to serve at began, at the latest, by its own clock; its number is the first of that election.
	began transaction
	// ahead is by how much the leader's clock is ahead of ours at least, by instants that lay in our future.
	ahead   time.Duration
	aheadAt time.Time
	// reach is by how much newest was ahead of our clock when it was read (below zero: behind).
	reach time.Duration
	read  time.Time
}

// transaction is one that was read, with its time by the leader's clock.
type transaction struct {
	zxid int64
	at   time.Time
}

// epoch is the number of the election that a transaction follows.
func epoch(zxid int64) int64 { return zxid >> 32 }

const (
	// window is the time after which a bound is replaced, since clocks drift; it serves for this window and the next.
	window = 10 * time.Minute
	// promptNews is the time within which a creation that was seen live was heard of: later news are known as late (connect.MaxLag),
	// and a list that took longer to come shows none.
	promptNews = connect.MaxLag + promptList
	promptList = time.Second / 2
	// drift of two clocks within two windows is far below this.
	drift = 7 * time.Second
	// agreed is the gap up to which the clocks of two servers pass for the same.
	agreed = 2 * time.Second
)

// establishedOn compares a server's clock with ours, which shows now, by our own connection, which it says when it took (est of cons:
// ServerCnxn's established, new Date() at its making, in 3.4 to 3.9). Nothing is known where the connection is to another server.
func establishedOn(l *link, conns []zkadmin.Connection, now time.Time) bounds {
	if l == nil {
		return bounds{}
	}
	id, _ := l.tap.Session()
	from, to, known := l.established()
	for _, c := range conns {
		if known && c.Session == id && !c.Established.IsZero() {
			return readBetween(c.Established, time.Millisecond, byClockOf(now, from), byClockOf(now, to))
		}
	}
	return bounds{}
}

// leader is the place of the server that dates all transactions; -1 where it is not known, as where one has not noticed yet that it lost:
// the number of its election is lower, or two say that they lead the same.
func leader(answers []serverAnswer) int {
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
func (a *serverAnswer) leads() bool { return a.status.Role == "leader" }

// epoch is the number of the election that a server follows; 0 where it does not tell its newest transaction.
func (a *serverAnswer) epoch() int64 { return epoch(int64(a.status.Zxid)) }

// leader is the place of the one that dates transactions now: who led before the newest election that was heard of is not known to
// have won that, too.
func (c *clock) leader(answers []serverAnswer) int {
	i := leader(answers)
	if i >= 0 && answers[i].leads() && answers[i].epoch() < epoch(c.last) {
		return -1
	}
	return i
}

// wanted reports whether it is worth a session on the leader to know its clock: what was seen live does not show it, or shows no more than
// what it was before it was set, or that of who led before. What an earlier session shows does not count: it is made again before that is
// too old.
func (c *clock) wanted(answers []serverAnswer, now time.Time, once bool) bool {
	election := int64(0)
	if i := c.leader(answers); i >= 0 {
		election = answers[i].epoch()
	}
	return once || !(c.live(election).known && c.ofLeader(answers).Known) && (c.probedAt.IsZero() || now.Sub(c.probedAt) > window)
}

// probeLeader makes a session on the leader where nothing else relates its clock to ours, and ends it. What that cost is nil where
// none was made.
func (q *inquiry) probeLeader(ctx context.Context, answers []serverAnswer) *cost {
	i := leader(answers)
	if ctx.Err() != nil || q.probe == nil || q.link == nil || i < 0 || i >= len(q.admins) || answers[i].oldest.IsZero() || answers[i].clock.known && answers[i].at.Sub(answers[i].clock.at) <= window {
		return nil // it is known by what is not old, or the leader does not tell of its connections
	}
	l, err := q.probe([]string{q.admins[i].Addr()})
	if err != nil {
		return nil
	}
	defer l.close() // here: whoever asked may have ended meanwhile
	answers[i].clock = q.clockBy(ctx, l, i, answers[i].at)
	return l.cost()
}

// clockBy compares the clock of a server with ours, as of an instant, by a connection to it that is being made.
func (q *inquiry) clockBy(ctx context.Context, l *link, server int, asOf time.Time) bounds {
	ctx, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	for up := false; !up; {
		select {
		case <-ctx.Done():
			return bounds{}
		case <-l.inbox.ready:
		}
		for _, e := range l.inbox.take() {
			if up = e.kind == linkUp; e.kind == linkFailed || e.kind == linkLost {
				return bounds{}
			}
		}
	}
	conns, err := q.admins[server].Connections(ctx)
	if err != nil {
		return bounds{}
	}
	return establishedOn(l, conns, asOf)
}

// measure takes in what the servers' answers show of their clocks.
func (c *clock) measure(answers []serverAnswer, everyone bool, now time.Time) {
	c.everyone = everyone
	if c.servers == nil {
		c.servers = map[int]bounds{}
	}
	c.countedAnew(answers)
	dates, newest := c.leader(answers), c.last
	for i := range answers {
		newest = max(newest, int64(answers[i].status.Zxid))
	}
	for i := range answers {
		is, was := answers[i].clock, c.servers[i]
		if was.known && now.Sub(was.at) > 2*window { // it may have drifted, or stepped
			was, c.apart = bounds{}, newest
		}
		if now.Sub(is.at) > 2*window || is.at.Before(c.steppedAt) {
			is = bounds{} // an old connection of ours
		}
		if is.known && was.known && was.apart(is) > agreed {
			c.apart = newest
			if i == dates {
				c.steps(lastBefore(&answers[i], newest))
			}
		}
		c.servers[i] = was.with(is)
	}
	if c.differ(len(answers)) {
		c.apart = newest
	}
	if dates >= 0 && answers[dates].leads() && answers[dates].status.Uptime > 0 {
		c.leadsSince(&answers[dates], c.ofServer(dates, answers))
	}
}

// countedAnew takes in that the ensemble was wiped, or restored from a copy, and counts its elections from lower on: all follow one before
// what was read, and one leads. An inquiry during an election may look so once.
func (c *clock) countedAnew(answers []serverAnswer) {
	was, newest := c.fallen, int64(0)
	c.fallen = leader(answers) >= 0
	for i := range answers {
		a := &answers[i]
		newest = max(newest, int64(a.status.Zxid))
		c.fallen = c.fallen && a.serves() && a.status.Zxid != 0 && a.epoch() < epoch(c.last)
	}
	if !c.fallen || !was {
		return
	}
	stepped, apart := c.stepped, c.apart // numbers of before, which may be given anew: nothing that is there now is known to be later
	c.steps(newest)
	c.last, c.stepped, c.apart, c.fallen = newest, min(stepped, newest), min(apart, newest), false
}

// lastBefore is the last transaction that a leader may have dated before it gave an answer: any of its election where it does not say.
func lastBefore(a *serverAnswer, newest int64) int64 {
	if a.status.Zxid == 0 {
		return newest | math.MaxUint32
	}
	return newest
}

// leadsSince takes in for how long a server leads. It is kept by the leader's clock, as of the answer: ours may step, and the next
// answer may be of another election.
func (c *clock) leadsSince(a *serverAnswer, ahead bounds) {
	is := transaction{zxid: a.epoch() << 32, at: a.at.Round(0).Add(ahead.high - a.status.Uptime)}
	if ahead.known && (is.zxid > c.began.zxid || is.zxid == c.began.zxid && is.at.Before(c.began.at)) {
		c.began = is
	}
}

// steps takes in that the leader's clock was another one up to a transaction.
func (c *clock) steps(zxid int64) {
	c.stepped, c.apart = zxid, max(c.apart, zxid)
	c.oldest, c.newest, c.began, c.known, c.ahead = transaction{}, transaction{}, transaction{}, false, 0
	c.read = time.Time{}
}

// hasStepped takes in the same where it shows by what the leader dated. Which server that is may not be known, and what related its clock
// to ours before that instant no longer does.
func (c *clock) hasStepped(zxid int64, at time.Time) {
	c.steps(zxid)
	c.steppedAt = at
	clear(c.servers)
}

// forget drops what relates the servers' clocks to ours, which may have stepped.
func (c *clock) forget() {
	c.known, c.probedAt, c.ahead, c.read = false, time.Time{}, 0, time.Time{}
	clear(c.servers)
}

// shift takes in that our own clock was set ahead (below zero: back).
func (c *clock) shift(by time.Duration) {
	c.least, c.older, c.reach = c.least+by, c.older+by, c.reach-by
	if c.ahead > 0 { // else nothing is known of it
		c.ahead = max(0, c.ahead-by)
	}
	for i, b := range c.servers {
		c.servers[i] = b.shift(by)
	}
}

// byClockOf is an earlier instant as the wall clock of now would have shown it: that may have been set in between, and the
// monotonic one was not.
func byClockOf(now, t time.Time) time.Time { return now.Add(t.Sub(now)) }

// byPresentClock takes in that our own clock may have been set while the servers answered.
func byPresentClock(who *identity, now time.Time) {
	for _, at := range []*time.Time{&who.sessionsAt, &who.asked} {
		if !at.IsZero() {
			*at = byClockOf(now, *at)
		}
	}
	for i := range who.servers {
		a := &who.servers[i]
		if by := stall.SetAhead(a.at, now); by != 0 {
			a.clock, a.at, a.asOf = a.clock.shift(by), byClockOf(now, a.at), byClockOf(now, a.asOf)
		}
	}
}

// dated takes in the instants of a node that was read.
func (c *clock) dated(stat *zk.Stat, now time.Time) {
	if stat == nil {
		return
	}
	for _, t := range [2]transaction{{stat.Czxid, time.UnixMilli(stat.Ctime)}, {stat.Mzxid, time.UnixMilli(stat.Mtime)}} {
		if epoch(t.zxid) > epoch(c.last) {
			c.oldest, c.newest, c.known, c.ahead, c.read = transaction{}, transaction{}, false, 0, time.Time{} // another leader, another clock
		}
		c.last = max(c.last, t.zxid)
		if t.zxid <= c.stepped || epoch(t.zxid) < epoch(c.last) {
			continue
		}
		if t.zxid > c.newest.zxid && c.newest.at.Sub(t.at) > agreed { // time goes on, but for a clock that is set back
			c.hasStepped(t.zxid-1, now)
		}
		if t.zxid > c.newest.zxid {
			c.newest, c.reach, c.read = t, t.at.Sub(now.Round(0)), now
		}
		if c.oldest.zxid == 0 || t.zxid < c.oldest.zxid {
			c.oldest = t
		}
		if ahead := t.at.Sub(now.Round(0)); ahead > 0 && (ahead >= c.ahead || now.Sub(c.aheadAt) > window) {
			c.ahead, c.aheadAt = ahead, now
		}
	}
}

// created takes in a creation that was seen live.
func (c *clock) created(seen, ctime time.Time, zxid int64) {
	if epoch(zxid) < epoch(c.last) {
		return // by the clock of a former leader
	}
	age := seen.Round(0).Sub(ctime)
	if c.known && (age-min(c.least, c.older)).Abs() > promptNews+drift {
		c.hasStepped(zxid-1, seen)
	}
	c.heard = seen
	switch {
	case !c.known:
		c.least, c.older, c.known, c.since = age, age, true, seen
		if c.stepped == zxid|math.MaxUint32 { // nobody knew where in this election
			c.stepped = zxid - 1
		}
	case seen.Sub(c.since) > window:
		c.older, c.least, c.since = c.least, age, seen
	default:
		c.least = min(c.least, age)
	}
}

// offset is the leader's clock minus ours, by the creations that were seen live.
func (c *clock) offset() time.Duration { return -min(c.least, c.older) }

// live bounds the clock of who leads since an election by what was created under it and seen live.
func (c *clock) live(election int64) bounds {
	if !c.known || election > epoch(c.last) {
		return bounds{}
	}
	return bounds{low: c.offset(), high: c.offset() + promptNews, at: c.heard, known: true, atLow: true}
}

// ofServer bounds a server's clock, by what was measured and what was seen live.
func (c *clock) ofServer(i int, answers []serverAnswer) bounds {
	alone := len(answers) == 1 && answers[i].status.Role == "" // which of them it is does not show
	if alone || i == c.leader(answers) {
		return c.servers[i].with(c.live(answers[i].epoch()))
	}
	return c.servers[i]
}

// ofLeader relates the clock that dates transactions to ours, from the first one on that is known to be by it.
func (c *clock) ofLeader(answers []serverAnswer) inspect.LeaderClock {
	i, from := c.leader(answers), max(c.stepped+1, epoch(c.last)<<32)
	if i >= 0 && answers[i].leads() {
		from = max(from, answers[i].epoch()<<32)
	}
	b := c.servers[i]
	if c.agree(len(answers)) {
		if from = min(from, c.apart+1); !b.known {
			b = c.everybody(len(answers))
		}
	}
	b = b.with(c.live(epoch(from)))
	k := inspect.LeaderClock{From: from, Offset: c.ahead}
	set := c.newest.zxid >= from && c.outran(b)
	if set { // what was there before is as old as it was
		k.Offset, b = max(0, b.middle()), bounds{}
	}
	if c.newest.zxid >= from && !set { // else the time between two instants by it is none that has passed
		k.Oldest, k.Newest = c.oldest.at, c.newest.at
	}
	if c.began.zxid == from && (k.Oldest.IsZero() || c.began.at.Before(k.Oldest)) {
		k.Oldest = c.began.at
	}
	if b.known {
		k.Offset, k.Within, k.Known = b.middle(), b.within(), true
	}
	return k
}

// outran reports whether the leader's clock was set ahead since it was measured: it has dated something later than it could have shown.
func (c *clock) outran(b bounds) bool {
	outran := func(ahead time.Duration, at time.Time) bool { return ahead > b.high+agreed && at.After(b.at) }
	return b.known && (c.ahead > 0 && outran(c.ahead, c.aheadAt) || outran(c.reach, c.read))
}

// agree reports whether the clocks of all servers of the ensemble are known and the same, so that it does not matter who leads.
func (c *clock) agree(servers int) bool {
	for i := range servers {
		if b := c.servers[i]; !b.known || b.apart(c.servers[0]) > agreed {
			return false
		}
	}
	return servers > 0 && c.everyone
}

// differ reports whether the clocks of two servers are known to differ.
func (c *clock) differ(servers int) bool {
	for i := range servers {
		for j := range i {
			if a, b := c.servers[i], c.servers[j]; a.known && b.known && a.apart(b) > agreed {
				return true
			}
		}
	}
	return false
}

// everybody bounds the clocks of all servers.
func (c *clock) everybody(servers int) bounds {
	b := c.servers[0]
	for i := 1; i < servers; i++ {
		b = b.hull(c.servers[i])
	}
	return b
}
