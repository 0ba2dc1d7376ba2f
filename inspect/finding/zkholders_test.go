package finding

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

func TestPersistentContender(t *testing.T) {
	t.Parallel()
	persistent := func(c *inspect.Contender) { c.Persistent, c.Owner.Session = true, 0 }
	lease := func(c *inspect.Contender) { c.ExpiresAt = now.Add(time.Minute) }
	of := func(library string) func(*inspect.Contender) {
		return func(c *inspect.Contender) { c.Special = inspect.Special{Recipe: library} }
	}
	check(t, "persistent-contender",
		fires("a holder", with(queue("kazoo", 3), holder(persistent))),
		fires("two waiters",
			with(queue("sequential", 3), waiter(persistent), func(l *inspect.Lock) { persistent(&l.Waiters[1]) })),
		fires("another library's among ShedLock's",
			with(queue("shedlock", 2), waiter(persistent), waiter(of("kazoo")))),
		silent("ephemeral contenders", queue("kazoo", 3)),
		silent("ShedLock's are by design", with(queue("shedlock", 1), holder(persistent))),
		silent("Helix's are by design", with(queue("helix", 1), holder(persistent))),
		silent("kazoo's leases are by design, since they expire",
			with(queue("kazoo", 1), holder(persistent), holder(lease))),
		silent("Hive's explicit ones are by design", with(queue("curator", 1), holder(persistent), holder(of("hive")))),
	)
}

// held and came return a queue whose first contender was granted the lock, or joined, this long ago.
func held(d time.Duration) *inspect.Lock {
	return with(came(48*time.Hour), heldSince(d))
}

// and adds another reader.
func and(other *inspect.Lock) func(*inspect.Lock) {
	return func(l *inspect.Lock) { l.Kind, l.Holders = inspect.KindRW, append(l.Holders, other.Holders[0]) }
}

func came(d time.Duration) *inspect.Lock {
	return with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since = now.Add(-d) }))
}

func TestStuckHolder(t *testing.T) {
	t.Parallel()
	leads := func(l *inspect.Lock, sure recipe.Confidence) *inspect.Lock {
		l.Kind, l.KindConfidence = inspect.KindElection, sure
		return l
	}
	expected := func(l *inspect.Lock, hold time.Duration) *inspect.Lock {
		l.ExpectedHold = hold
		return l
	}
	fewHolds := history(func(h *inspect.History) { h.Holds.Count = 19 })
	slow := history(func(h *inspect.History) { h.Holds.P99, h.Holds.Max = 30*time.Minute, time.Hour })
	watched := func(d time.Duration) *inspect.History {
		return history(func(h *inspect.History) { h.Since, h.Holds = now.Add(-d), inspect.Spans{} })
	}
	lease := func(h *inspect.Contender) { h.Persistent, h.ExpiresAt = true, now.Add(time.Hour) }
	noHandoff := history(func(h *inspect.History) { h.Since, h.Holds, h.Grants = now.Add(-4*time.Hour), inspect.Spans{}, 0 })
	inCycle := func(ties ...inspect.Tie) func(*inspect.Case) {
		return func(c *inspect.Case) { c.Cycle = &inspect.Cycle{Locks: []inspect.ID{c.Lock.ID}, Ties: ties} }
	}
	stuckAfter := func(d time.Duration) func(*inspect.Case) { return func(c *inspect.Case) { c.StuckAfter = d } }
	ahead := func(c *inspect.Case) { // our clock was set an hour ahead
		h, clock := &c.Lock.Holders[0], inspect.LeaderClock{Known: true, Offset: -time.Hour, From: 1}
		h.Since, h.Seen = now.Add(-time.Hour-5*time.Minute), now.Add(-time.Hour-4*time.Minute)
		c.Offset, c.Backend = -time.Hour, &inspect.Backend{Clock: clock}
	}
	listed := func(h *inspect.Contender) { h.Since, h.Owner, h.Czxid = time.Time{}, inspect.Owner{}, 0 }
	check(t, "stuck-holder",
		fires("over the limit", held(11*time.Minute)),
		silent("a lease, which is held until its end", with(held(time.Hour), holder(lease))),
		silent("just under the limit", held(10*time.Minute-time.Second)),
		silent("no waiters", with(held(time.Hour), noWaiters)),
		silent("all waiters are most likely gone", with(held(time.Hour), deadAt(0), deadAt(1))),
		fires("one of the waiters is most likely gone", with(held(time.Hour), deadAt(0))),
		fires("waiters are known only by number",
			with(held(time.Hour), func(l *inspect.Lock) { l.Waiters, l.WaitersAtLeast = nil, 3 })),
		fires("waiters are unknown", with(held(time.Hour), func(l *inspect.Lock) { l.Waiters = nil })),
		fires("a deadlock is possibly the reason", held(time.Hour), inCycle(inspect.Tie{Certainty: recipe.Possible})),
		silent("a deadlock is the reason", held(time.Hour), inCycle()),
		silent("a leader", with(held(time.Hour), asElection)),
		silent("certainly a leader, by its nodes' names", leads(held(time.Hour), recipe.Certain)),
		fires("perhaps a leader, by a word of the path", leads(held(time.Hour), recipe.Possible)),
		fires("a configured time also counts for a possible election",
			expected(leads(held(3*time.Minute), recipe.Likely), time.Minute)),
		silent("perhaps a leader, without waiters", with(leads(held(time.Hour), recipe.Possible), noWaiters)),
		fires("a holder that can be asked is asked first",
			with(held(time.Hour), holder(func(h *inspect.Contender) { h.Revocable = true }))),
		silent("perhaps a leader, for a short while", leads(held(time.Minute), recipe.Likely)),
		fires("a word of the path, but it was held again and again",
			leads(held(time.Hour), recipe.Possible), seen(history())),
		silent("held again and again, but an election for sure",
			leads(held(time.Hour), recipe.Certain), seen(history())),
		fires("no handoff was seen for hours", came(5*time.Hour), seen(noHandoff)),
		fires("over twice the expected time", expected(held(21*time.Minute), 10*time.Minute)),
		silent("within twice the expected time, over the general limit",
			expected(held(19*time.Minute), 10*time.Minute)),
		silent("the expected time takes precedence over history",
			expected(held(time.Minute), time.Minute), seen(history())),
		fires("expected to be short", expected(held(3*time.Second), time.Second)),
		silent("a semaphore with a free permit",
			with(held(time.Hour), func(l *inspect.Lock) { l.Kind, l.Limit = inspect.KindSemaphore, 2 })),
		fires("the operator's own limit", held(2*time.Second), stuckAfter(time.Second)),
		fires("one of two readers", with(held(11*time.Minute), and(held(11*time.Minute)))),
		fires("a value that is not shown", with(held(time.Hour), holder(func(h *inspect.Contender) { h.Digest = "d1" }))),
		silent("under a longer limit of the operator", held(time.Hour), stuckAfter(2*time.Hour)),
		fires("earlier because of its own history", held(12*time.Second), seen(history())),
		silent("under ten times its usual time", held(9*time.Second), seen(history())),
		silent("too few holds to know the usual time", held(12*time.Second), seen(fewHolds)),
		fires("never later than the operator's limit", held(11*time.Minute), seen(slow)),
		fires("longer than ever before", held(2*time.Hour), seen(slow)),
		fires("came long ago, granted at an unknown time", came(time.Hour)),
		silent("created recently", came(time.Minute)),
		fires("held at the first read", came(time.Hour), seen(watched(15*time.Minute))),
		fires("watched for too short a time", came(time.Hour), seen(watched(time.Minute))),
		silent("came after the first read", came(time.Minute), seen(watched(time.Hour))),
		fires("granted during a gap", came(time.Hour), seen(watched(time.Hour)), func(c *inspect.Case) {
			c.Lock.Holders[0].Seen = now.Add(-time.Minute)
		}),
		silent("seen for longer than it has existed: our clock was set ahead",
			came(time.Hour), seen(watched(time.Hour)), ahead),
		silent("listed only", with(queue("kazoo", 3), holder(listed)), seen(watched(time.Minute))),
		silent("its times are unknown",
			with(queue("kazoo", 2), holder(func(h *inspect.Contender) { h.Since = time.Time{} }))),
		silent("the backend's clock is behind", held(11*time.Minute), offset(-2*time.Minute)),
		fires("the backend's clock is ahead", held(9*time.Minute), offset(2*time.Minute)),
		silent("no holder", inspect.FreeDirectory(inspect.ID{Backend: "zk", Path: "/l"}, nil, now)),
	)
}

// The server's clock is or may be an hour off, so only the known bounds of the hold count.
func TestStuckHolderByTheServersClock(t *testing.T) {
	t.Parallel()
	watched := history(func(h *inspect.History) { h.Since, h.Holds = now.Add(-15*time.Minute), inspect.Spans{} })
	atOnce := func(h *inspect.Contender) { h.HeldSince = h.Since }
	leader := func(led time.Duration) inspect.LeaderClock {
		return inspect.LeaderClock{From: 5 << 32, Known: true, Oldest: now.Add(-led)}
	}
	waits := func(c *inspect.Case) { // the holder watches the next node
		c.Lock.Holders[0].Owner.Session = 7
		c.Watches = &inspect.WatchTable{Sessions: map[string][]int64{c.Lock.Node(&c.Lock.Waiters[0]): {7}}}
	}
	check(t, "stuck-holder",
		fires("a holder that may still wait for its turn", held(time.Hour), waits),
		fires("by a clock that could not be compared",
			came(time.Hour), datedBy(inspect.LeaderClock{From: 1, Newest: now.Add(-58 * time.Minute)})),
		fires("the servers' own clock dated something much later",
			came(time.Hour), datedBy(inspect.LeaderClock{From: 1, Newest: now.Add(-20 * time.Minute)})),
		fires("granted at its creation, by a clock that could not be compared",
			with(came(time.Hour), holder(atOnce)), datedBy(inspect.LeaderClock{From: 1})),
		fires("seen to hold for that long, whatever the clock",
			came(time.Hour), seen(watched), datedBy(inspect.LeaderClock{From: 1})),
		fires("its grant was seen, whatever the clock", held(11*time.Minute), datedBy(inspect.LeaderClock{From: 1})),
		fires("the longer of two reads is by a clock that could not be compared",
			with(held(11*time.Minute), and(came(time.Hour))), datedBy(inspect.LeaderClock{From: 1})),
		fires("the first of two reads is by such a clock",
			with(came(time.Hour), and(held(11*time.Minute))), datedBy(inspect.LeaderClock{From: 1})),
		fires("only the read by such a clock is long",
			with(held(9*time.Minute), and(came(time.Hour))), datedBy(inspect.LeaderClock{From: 1})),
		silent("the leader's clock is an hour behind",
			came(time.Hour+time.Minute), datedBy(inspect.LeaderClock{From: 1, Known: true, Offset: -time.Hour})),
		fires("dated by a former leader, whose clock is unknown", came(time.Hour), datedBy(leader(time.Minute))),
		fires("dated by a former leader, but the current one has led for a long time",
			came(time.Hour), datedBy(leader(20*time.Minute))),
	)
}

func offset(d time.Duration) func(*inspect.Case) { return func(c *inspect.Case) { c.Offset = d } }

// datedBy sets the leader's clock that dates the contenders.
func datedBy(clock inspect.LeaderClock) func(*inspect.Case) {
	return func(c *inspect.Case) {
		c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce, Clock: clock}
		c.Offset = c.Backend.ClockOffset()
	}
}

// sessionsKnown gives the case these sessions from a table read at readAt. all reports whether the
// table is complete.
func sessionsKnown(all bool, readAt time.Time, sessions ...inspect.Session) func(*inspect.Case) {
	return func(c *inspect.Case) {
		c.Sessions, c.AllSessions, c.SessionsAt = map[int64]inspect.Session{}, all, readAt
		for _, s := range sessions {
			c.Sessions[s.ID] = s
		}
	}
}

// serving sets how long ago a server started serving.
func serving(ago time.Duration) func(*inspect.Case) {
	return func(c *inspect.Case) {
		c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce, DisturbedAt: now.Add(-ago)}
	}
}

// heard returns a session with a timeout of 10 s that a server heard from this long ago.
func heard(id int64, ago time.Duration) inspect.Session {
	return inspect.Session{ID: id, Client: "10.0.0.1:5", Timeout: 10 * time.Second, LastContact: now.Add(-ago)}
}

// missed sets how long the holder's session, with a timeout of 10 s, has been missing.
func missed(ago time.Duration) func(*inspect.Case) {
	return func(c *inspect.Case) {
		h := &c.Lock.Holders[0]
		h.Owner.SessionTimeout = 10 * time.Second
		long, since := evidence{"missing_since": stamp(now.Add(-time.Hour))}, evidence{"missing_since": stamp(now.Add(-ago))}
		c.Lock.Findings = []inspect.Finding{ // the first two do not count
			{Rule: "herd", Subject: h.Subject(), Evidence: long},
			{Rule: "ghost-owner", Subject: c.Lock.Waiters[0].Subject(), Evidence: long},
			{Rule: "ghost-owner", Subject: h.Subject(), Evidence: since},
		}
	}
}

func TestGhostOwner(t *testing.T) {
	t.Parallel()
	known, disturbed := sessionsKnown, serving
	watched := func(c *inspect.Case) { c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch} }
	old := func(age time.Duration) *inspect.Lock {
		return with(queue("curator", 2), func(l *inspect.Lock) { l.Holders[0].Since, l.Waiters[0].Since = now.Add(-age), now.Add(-age) })
	}
	reader := with(votes("a"), func(l *inspect.Lock) { l.Kind, l.Recipe, l.Holders[0].Dead = inspect.KindRW, "redisson", true })
	ageless := func(c *inspect.Contender) { c.Since = time.Time{} }
	seenNow := func(c *inspect.Contender) { c.Seen = now }
	impatient := func(c *inspect.Contender) { c.Owner.SessionTimeout = time.Second }
	silentFor := func(id int64) inspect.Session { return heard(id, 25*time.Second) }
	check(t, "ghost-owner",
		fires("the holder is connected nowhere", old(time.Minute), known(true, now, heard(2, 0))),
		fires("a waiter is connected nowhere", old(time.Minute), known(true, now, heard(1, 0))),
		silent("all are connected", old(time.Minute), known(true, now, heard(1, 0), heard(2, 0))),
		silent("one server did not report", old(time.Minute), known(false, now, heard(2, 0))),
		silent("a server began to serve 39 s ago: the client may be reconnecting",
			old(time.Minute), known(true, now, heard(2, 0)), disturbed(39*time.Second)),
		silent("a server began to serve 43 s ago: it is due within two ticks",
			old(time.Minute), known(true, now, heard(2, 0)), disturbed(43*time.Second)),
		fires("a server began to serve 45 s ago",
			old(time.Minute), known(true, now, heard(2, 0)), disturbed(45*time.Second)),
		fires("a server began to serve 3 s ago, and its timeout is 1 s",
			with(old(time.Minute), holder(impatient)), known(true, now, heard(2, 0)), disturbed(3*time.Second)),
		fires("it came after the server began to serve",
			old(20*time.Second), known(true, now, heard(2, 0)), disturbed(30*time.Second)),
		fires("watched, and first missed now: it will time out",
			old(time.Minute), known(true, now, heard(2, 0)), watched),
		fires("watched, and first missed 9 s ago: it has 10 s and two ticks",
			old(time.Minute), known(true, now, heard(2, 0)), watched, missed(9*time.Second)),
		fires("watched, and first missed 15 s ago: it should have ended",
			old(time.Minute), known(true, now, heard(2, 0)), watched, missed(15*time.Second)),
		fires("watched, and silent beyond its timeout: nothing to wait for",
			old(time.Minute), known(true, now, heard(1, 15*time.Second), heard(2, 0)), watched),
		silent("no server reported", old(time.Minute), func(c *inspect.Case) { c.AllSessions = true }),
		silent("it came after the table was read", old(time.Minute), known(true, now.Add(-2*time.Minute))),
		silent("it came while the table was read", old(4*time.Second), known(true, now)),
		silent("the backend's clock is behind: it came after the table",
			old(time.Minute), known(true, now.Add(-time.Minute)), offset(-time.Minute)),
		silent("the table's age is unknown, and it came recently", old(50*time.Second), known(true, time.Time{})),
		fires("the table's age is unknown, and it came long ago", old(2*time.Minute), known(true, time.Time{})),
		silent("it came after the table, by an unknown clock",
			with(old(time.Minute), holder(seenNow), waiter(seenNow)), known(true, now.Add(-10*time.Second))),
		silent("its age is unknown", with(old(0), holder(ageless), waiter(ageless)), known(true, now)),
		fires("not heard from for longer than its timeout and two ticks",
			old(time.Minute), known(true, now, heard(1, 15*time.Second), heard(2, 0))),
		silent("the server ends its session at the next tick",
			old(time.Minute), known(true, now, heard(1, 13*time.Second), heard(2, 0))),
		silent("heard from within its timeout",
			old(time.Minute), known(true, now, heard(1, 9*time.Second), heard(2, 0))),
		silent("the table is old, not the contact",
			old(time.Minute), known(true, now.Add(-20*time.Second), silentFor(1), silentFor(2))),
		silent("the last contact is unknown",
			old(time.Minute), known(true, now, inspect.Session{ID: 1, Timeout: time.Second}, heard(2, 0))),
		fires("a dead Redisson reader", reader),
		silent("a living Redisson reader", votes("a")),
		silent("another rule reports dead waiters of fair queues", fair(deadAt(0))),
	)
}
