package finding

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestPersistentContender(t *testing.T) {
	t.Parallel()
	persistent := func(c *inspect.Contender) { c.Persistent, c.Owner.Session = true, 0 }
	check(t, "persistent-contender", []state{
		{
			name: "a holder", c: present(with(queue("kazoo", 3), holder(persistent))), fires: true, severity: inspect.Critical, confidence: recipe.Certain,
			has: []string{"holds the lock without a session"}, evidence: map[string]any{"state": "holding", "count": 1, "blocked_below": 2},
		},
		{
			name: "two waiters", fires: true, severity: inspect.Critical, confidence: recipe.Certain, has: []string{"2 contenders"},
			c: present(with(queue("sequential", 3), waiter(persistent), func(l *inspect.Lock) { persistent(&l.Waiters[1]) })),
		},
		{
			name: "another library's among ShedLock's", fires: true, severity: inspect.Critical, confidence: recipe.Certain,
			c: present(with(queue("shedlock", 2), waiter(func(w *inspect.Contender) {
				persistent(w)
				w.Special = inspect.Special{Recipe: "kazoo"}
			}))),
		},
		{name: "ephemeral contenders", c: present(queue("kazoo", 3))},
		{name: "ShedLock's are by design", c: present(with(queue("shedlock", 1), holder(persistent)))},
		{name: "Helix's are by design", c: present(with(queue("helix", 1), holder(persistent)))},
		{name: "kazoo's leases are by design, since they expire", c: present(with(queue("kazoo", 1), holder(func(h *inspect.Contender) { persistent(h); h.ExpiresAt = now.Add(time.Minute) })))},
		{name: "Hive's explicit ones are by design", c: present(with(queue("curator", 1), holder(func(h *inspect.Contender) {
			persistent(h)
			h.Special = inspect.Special{Recipe: "hive"}
		})))},
	})
}

func TestStuckHolder(t *testing.T) {
	t.Parallel()
	held := func(d time.Duration) *inspect.Lock {
		return with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since, h.HeldSince = now.Add(-48*time.Hour), now.Add(-d) }))
	}
	came := func(d time.Duration) *inspect.Lock {
		return with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since = now.Add(-d) }))
	}
	leads := func(l *inspect.Lock, sure recipe.Confidence) *inspect.Lock {
		l.Kind, l.KindConfidence = inspect.KindElection, sure
		return l
	}
	expected := func(l *inspect.Lock, hold time.Duration) *inspect.Lock {
		l.ExpectedHold = hold
		return l
	}
	fewHolds := past(func(h *inspect.History) { h.Holds.Count = 19 })
	slow := past(func(h *inspect.History) { h.Holds.P99, h.Holds.Max = 30*time.Minute, time.Hour })
	watched := func(d time.Duration) *inspect.History {
		return past(func(h *inspect.History) { h.Since, h.Holds = now.Add(-d), inspect.Spans{} })
	}
	warning := func(name string, c inspect.Case, sure recipe.Confidence, has ...string) state {
		return state{name: name, c: c, fires: true, severity: inspect.Warning, confidence: sure, has: has}
	}
	check(t, "stuck-holder", []state{
		warning("over the limit", present(held(11*time.Minute)), recipe.Certain, " has held it past the limit of 10m; 2 waiting"),
		{name: "a lease, which is held until its end", c: present(with(held(time.Hour), holder(func(h *inspect.Contender) { h.Persistent, h.ExpiresAt = true, now.Add(time.Hour) })))},
		{name: "just under the limit", c: present(held(10*time.Minute - time.Second))},
		{name: "no waiters", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters, l.State = nil, inspect.StateHeld }))},
		{name: "all waiters are most likely gone", c: present(with(held(time.Hour), deadAt(0), deadAt(1)))},
		warning("one of the waiters is most likely gone", present(with(held(time.Hour), deadAt(0))), recipe.Certain, "past the limit of 10m; 1 waiting"),
		warning("waiters are known only by number", present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters, l.WaitersAtLeast = nil, 3 })), recipe.Certain, "at least 3 waiting"),
		warning("waiters are unknown", present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters = nil })), recipe.Certain, "others wait"),
		{
			name: "a deadlock is possibly the reason", fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			c: present(held(time.Hour), func(c *inspect.Case) {
				c.Cycle = &inspect.Cycle{Locks: []inspect.ID{c.Lock.ID}, Ties: []inspect.Tie{{Certainty: recipe.Possible}}}
			}),
		},
		{name: "a deadlock is the reason", c: present(held(time.Hour), func(c *inspect.Case) { c.Cycle = &inspect.Cycle{Locks: []inspect.ID{c.Lock.ID}} })},
		{name: "a leader", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Kind = inspect.KindElection }))},
		{name: "certainly a leader, by its nodes' names", c: present(leads(held(time.Hour), recipe.Certain))},
		{
			name: "perhaps a leader, by a word of the path", c: present(leads(held(time.Hour), recipe.Possible)), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"perhaps as a leader"}, evidence: map[string]any{"kind": "election"}, advice: "if it is an election, its leader is meant to hold: say so in the profile (expect: match, kind: election). If it is a lock, see what",
		},
		{
			name: "a configured time also counts for a possible election", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c:   present(expected(leads(held(3*time.Minute), recipe.Likely), time.Minute)),
			has: []string{"expected at most 1m", "perhaps as a leader"}, evidence: map[string]any{"kind": "election", "expected_ms": int64(60_000)},
		},
		{name: "perhaps a leader, without waiters", c: present(with(leads(held(time.Hour), recipe.Possible), func(l *inspect.Lock) { l.Waiters, l.State = nil, inspect.StateHeld }))},
		{
			name: "a holder that can be asked is asked first", fires: true, severity: inspect.Warning, confidence: recipe.Certain, advice: "lockscope ask zk:/l --owner ",
			c: present(with(held(time.Hour), holder(func(h *inspect.Contender) { h.Revocable = true }))),
		},
		{name: "perhaps a leader, for a short while", c: present(leads(held(time.Minute), recipe.Likely))},
		warning("a word of the path, but it was held again and again", present(leads(held(time.Hour), recipe.Possible), seen(history())), recipe.Certain, "usually at most"),
		{name: "held again and again, but an election for sure", c: present(leads(held(time.Hour), recipe.Certain), seen(history()))},
		{
			name: "no handoff was seen for hours", fires: true, severity: inspect.Warning, confidence: recipe.Possible, advice: "if it is an election",
			c: present(came(5*time.Hour), seen(past(func(h *inspect.History) { h.Since, h.Holds, h.Grants = now.Add(-4*time.Hour), inspect.Spans{}, 0 }))), evidence: map[string]any{"watched_since": stamp(now.Add(-4 * time.Hour))},
		},
		{
			name: "over twice the expected time", c: present(expected(held(21*time.Minute), 10*time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"for over 20m, expected at most 10m"}, evidence: map[string]any{"expected_ms": int64(600_000), "limit_ms": int64(1_200_000)},
		},
		{name: "within twice the expected time, over the general limit", c: present(expected(held(19*time.Minute), 10*time.Minute))},
		{name: "the expected time takes precedence over history", c: present(expected(held(time.Minute), time.Minute), seen(history()))},
		warning("expected to be short", present(expected(held(3*time.Second), time.Second)), recipe.Certain, "expected at most 1.0s"),
		{name: "a semaphore with a free permit", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Kind, l.Limit = inspect.KindSemaphore, 2 }))},
		warning("the operator's own limit", present(held(2*time.Second), func(c *inspect.Case) { c.StuckAfter = time.Second }), recipe.Certain, "past the limit of 1.0s"),
		{
			name: "one of two readers", fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			c: present(with(held(11*time.Minute), func(l *inspect.Lock) {
				l.Kind, l.Holders = inspect.KindRW, append(l.Holders, l.Holders[0])
			})),
			has:    []string{", one of 2 holders, has held it past the limit of 10m"},
			advice: "(its client keeps running, and the waiters wait until no holder is left)",
		},
		{name: "under a longer limit of the operator", c: present(held(time.Hour), func(c *inspect.Case) { c.StuckAfter = 2 * time.Hour })},
		{
			name: "earlier because of its own history", c: present(held(12*time.Second), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"for over 10s, usually at most 1.0s"}, evidence: map[string]any{"hold_p99_ms": int64(1000), "limit_ms": int64(10000), "known": "exact"},
		},
		{name: "under ten times its usual time", c: present(held(9*time.Second), seen(history()))},
		{name: "too few holds to know the usual time", c: present(held(12*time.Second), seen(fewHolds))},
		warning("never later than the operator's limit", present(held(11*time.Minute), seen(slow)), recipe.Possible),
		warning("longer than ever before", present(held(2*time.Hour), seen(slow)), recipe.Certain),
		warning("came long ago, granted at an unknown time", present(came(time.Hour)), recipe.Possible, "may have held it past the limit of 10m"),
		{name: "created recently", c: present(came(time.Minute))},
		warning("held at the first read", present(came(time.Hour), seen(watched(15*time.Minute))), recipe.Likely, " has held it past the limit of 10m"),
		warning("watched for too short a time", present(came(time.Hour), seen(watched(time.Minute))), recipe.Possible, "may have held it past the limit"),
		{name: "came after the first read", c: present(came(time.Minute), seen(watched(time.Hour)))},
		warning("granted during a gap", present(came(time.Hour), seen(watched(time.Hour)), func(c *inspect.Case) {
			c.Lock.Holders[0].Seen = now.Add(-time.Minute)
		}), recipe.Possible, "may have held it past the limit"),
		{name: "seen for longer than it has existed: our clock was set ahead", c: present(came(time.Hour), seen(watched(time.Hour)), func(c *inspect.Case) {
			c.Lock.Holders[0].Since, c.Lock.Holders[0].Seen = now.Add(-time.Hour-5*time.Minute), now.Add(-time.Hour-4*time.Minute)
			c.Offset, c.Backend = -time.Hour, &inspect.Backend{Clock: inspect.LeaderClock{Known: true, Offset: -time.Hour, From: 1}}
		})},
		{name: "listed only", c: present(with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since, h.Owner, h.Czxid = time.Time{}, inspect.Owner{}, 0 })), seen(watched(time.Minute)))},
		{name: "its times are unknown", c: present(with(queue("kazoo", 2), holder(func(h *inspect.Contender) { h.Since = time.Time{} })))},
		{name: "the backend's clock is behind", c: present(held(11*time.Minute), func(c *inspect.Case) { c.Offset = -2 * time.Minute })},
		warning("the backend's clock is ahead", present(held(9*time.Minute), func(c *inspect.Case) { c.Offset = 2 * time.Minute }), recipe.Certain),
		{name: "no holder", c: present(inspect.FreeDirectory(inspect.ID{Backend: "zk", Path: "/l"}, nil, now))},
	})
}

// The server's clock is or may be an hour off, so only the known bounds of the hold count.
func TestStuckHolderByTheServersClock(t *testing.T) {
	t.Parallel()
	came := func(d time.Duration) *inspect.Lock {
		return with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since = now.Add(-d) }))
	}
	held := func(d time.Duration) *inspect.Lock {
		return with(came(48*time.Hour), holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-d) }))
	}
	watched := past(func(h *inspect.History) { h.Since, h.Holds = now.Add(-15*time.Minute), inspect.Spans{} })
	warning := func(name string, c inspect.Case, sure recipe.Confidence, has ...string) state {
		return state{name: name, c: c, fires: true, severity: inspect.Warning, confidence: sure, has: has}
	}
	check(t, "stuck-holder", []state{
		{
			name: "a holder that may still wait for its turn", fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			advice: "restart it if it is waiting or hangs",
			c: present(with(held(time.Hour), holder(func(h *inspect.Contender) { h.Owner.Session = 7 })), func(c *inspect.Case) {
				c.Watches = &inspect.WatchTable{Sessions: map[string][]int64{c.Lock.Node(&c.Lock.Waiters[0]): {7}}}
			}),
		},
		{
			name: "by a clock that could not be compared", c: present(came(time.Hour), datedBy(inspect.LeaderClock{From: 1, Newest: now.Add(-58 * time.Minute)})),
			fires: true, severity: inspect.Warning, confidence: recipe.Possible, has: []string{"may have held it past the limit of 10m, if the server's clock"},
			evidence: map[string]any{"known": "unchecked", "held_at_least_ms": (2 * time.Minute).Milliseconds()}, advice: "compare the output of date",
		},
		warning("the servers' own clock dated something much later", present(came(time.Hour), datedBy(inspect.LeaderClock{From: 1, Newest: now.Add(-20 * time.Minute)})), recipe.Possible, "may have held it past the limit"),
		{
			name: "granted at its creation, by a clock that could not be compared", fires: true, severity: inspect.Warning, confidence: recipe.Possible,
			c: present(with(came(time.Hour), holder(func(h *inspect.Contender) { h.HeldSince = h.Since })), datedBy(inspect.LeaderClock{From: 1})),
		},
		warning("seen to hold for that long, whatever the clock", present(came(time.Hour), seen(watched), datedBy(inspect.LeaderClock{From: 1})), recipe.Likely, " has held it past the limit of 10m"),
		warning("its grant was seen, whatever the clock", present(held(11*time.Minute), datedBy(inspect.LeaderClock{From: 1})), recipe.Certain, " has held it past the limit of 10m"),
		{name: "the leader's clock is an hour behind", c: present(came(time.Hour+time.Minute), datedBy(inspect.LeaderClock{From: 1, Known: true, Offset: -time.Hour}))},
		{
			name: "dated by a former leader, whose clock is unknown", c: present(came(time.Hour), datedBy(inspect.LeaderClock{From: 5 << 32, Known: true, Oldest: now.Add(-time.Minute)})),
			fires: true, severity: inspect.Warning, confidence: recipe.Possible, advice: "older than the current leader",
		},
		warning("dated by a former leader, but the current one has led for a long time", present(came(time.Hour), datedBy(inspect.LeaderClock{From: 5 << 32, Known: true, Oldest: now.Add(-20 * time.Minute)})), recipe.Possible, "may have held it past the limit"),
	})
}

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
		c.Lock.Findings = []inspect.Finding{{Rule: "ghost-owner", Subject: h.Subject(), Evidence: evidence{"missing_since": stamp(now.Add(-ago))}}}
	}
}

func TestGhostOwner(t *testing.T) {
	t.Parallel()
	known, disturbed := sessionsKnown, serving
	watched := func(c *inspect.Case) { c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch} }
	old := func(age time.Duration) *inspect.Lock {
		return with(queue("curator", 2), func(l *inspect.Lock) { l.Holders[0].Since, l.Waiters[0].Since = now.Add(-age), now.Add(-age) })
	}
	reader := with(votes("a", time.Minute), func(l *inspect.Lock) { l.Kind, l.Recipe, l.Holders[0].Dead = inspect.KindRW, "redisson", true })
	check(t, "ghost-owner", []state{
		{
			name: "the holder is connected nowhere", c: present(old(time.Minute), known(true, now, heard(2, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"holds the lock, but", "0x1", "connected to no server"}, evidence: map[string]any{"session": "0x1", "state": "holding", "count": 1},
		},
		{
			name: "a waiter is connected nowhere", c: present(old(time.Minute), known(true, now, heard(1, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"waits"}, evidence: map[string]any{"session": "0x2"},
		},
		{name: "all are connected", c: present(old(time.Minute), known(true, now, heard(1, 0), heard(2, 0)))},
		{name: "one server did not report", c: present(old(time.Minute), known(false, now, heard(2, 0)))},
		{name: "a server began to serve 39 s ago: the client may be reconnecting", c: present(old(time.Minute), known(true, now, heard(2, 0)), disturbed(39*time.Second))},
		{name: "a server began to serve 43 s ago: it is due within two ticks", c: present(old(time.Minute), known(true, now, heard(2, 0)), disturbed(43*time.Second))},
		{
			name: "a server began to serve 45 s ago", c: present(old(time.Minute), known(true, now, heard(2, 0)), disturbed(45*time.Second)), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, evidence: map[string]any{"session": "0x1"},
		},
		{
			name: "a server began to serve 3 s ago, and its timeout is 1 s", fires: true, c: present(old(time.Minute), known(true, now, heard(2, 0)), disturbed(3*time.Second), func(c *inspect.Case) {
				c.Lock.Holders[0].Owner.SessionTimeout = time.Second
			}), severity: inspect.Warning, confidence: recipe.Likely, evidence: map[string]any{"session": "0x1"},
		},
		{
			name: "it came after the server began to serve", c: present(old(20*time.Second), known(true, now, heard(2, 0)), disturbed(30*time.Second)), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, evidence: map[string]any{"session": "0x1"},
		},
		{
			name: "watched, and first missed now: it will time out", c: present(old(time.Minute), known(true, now, heard(2, 0)), watched), fires: true,
			severity: inspect.Info, confidence: recipe.Likely, has: []string{"connected to no server", "ends by 03:15:00 UTC"}, advice: "wait until then",
			evidence: map[string]any{"missing_since": stamp(now), "ends_by": stamp(now.Add(45 * time.Second))},
		},
		{
			name: "watched, and first missed 9 s ago: it has 10 s and two ticks", c: present(old(time.Minute), known(true, now, heard(2, 0)), watched, missed(9*time.Second)), fires: true,
			severity: inspect.Info, confidence: recipe.Likely, evidence: map[string]any{"missing_since": stamp(now.Add(-9 * time.Second)), "ends_by": stamp(now.Add(6 * time.Second))},
		},
		{
			name: "watched, and first missed 15 s ago: it should have ended", c: present(old(time.Minute), known(true, now, heard(2, 0)), watched, missed(15*time.Second)), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"connected to no server"}, advice: "lockscope release",
		},
		{
			name: "watched, and silent beyond its timeout: nothing to wait for", c: present(old(time.Minute), known(true, now, heard(1, 15*time.Second), heard(2, 0)), watched), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"been silent for longer"},
		},
		{name: "no server reported", c: present(old(time.Minute), func(c *inspect.Case) { c.AllSessions = true })},
		{name: "it came after the table was read", c: present(old(time.Minute), known(true, now.Add(-2*time.Minute)))},
		{name: "it came while the table was read", c: present(old(4*time.Second), known(true, now))},
		{name: "the backend's clock is behind: it came after the table", c: present(old(time.Minute), known(true, now.Add(-time.Minute)), func(c *inspect.Case) { c.Offset = -time.Minute })},
		{name: "the table's age is unknown, and it came recently", c: present(old(50*time.Second), known(true, time.Time{}))},
		{name: "the table's age is unknown, and it came long ago", c: present(old(2*time.Minute), known(true, time.Time{})), fires: true, severity: inspect.Warning, confidence: recipe.Likely, evidence: map[string]any{"count": 2}},
		{
			name: "it came after the table, by an unknown clock", c: present(old(time.Minute), known(true, now.Add(-10*time.Second)), func(c *inspect.Case) {
				c.Lock.Holders[0].Seen, c.Lock.Waiters[0].Seen = now, now
			}),
		},
		{name: "its age is unknown", c: present(with(old(0), func(l *inspect.Lock) { l.Holders[0].Since, l.Waiters[0].Since = time.Time{}, time.Time{} }), known(true, now))},
		{
			name: "not heard from for longer than its timeout and two ticks", c: present(old(time.Minute), known(true, now, heard(1, 15*time.Second), heard(2, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"been silent for longer"}, evidence: map[string]any{"session_timeout_ms": int64(10000)},
		},
		{name: "the server ends its session at the next tick", c: present(old(time.Minute), known(true, now, heard(1, 13*time.Second), heard(2, 0)))},
		{name: "heard from within its timeout", c: present(old(time.Minute), known(true, now, heard(1, 9*time.Second), heard(2, 0)))},
		{name: "the table is old, not the contact", c: present(old(time.Minute), known(true, now.Add(-20*time.Second), heard(1, 25*time.Second), heard(2, 25*time.Second)))},
		{name: "the last contact is unknown", c: present(old(time.Minute), known(true, now, inspect.Session{ID: 1, Timeout: time.Second}, heard(2, 0)))},
		{name: "a dead Redisson reader", c: present(reader), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"its client is gone"}},
		{name: "a living Redisson reader", c: present(votes("a", time.Minute))},
		{name: "another rule reports dead waiters of fair queues", c: present(fair(deadAt(0)))},
	})
}

func TestLimitsInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 99 * time.Millisecond: "0s", 100 * time.Millisecond: "0.1s", 1999 * time.Millisecond: "1s", 10*time.Minute + 59*time.Second: "10m",
		47 * time.Hour: "1d", 400 * 24 * time.Hour: "1y",
	} {
		must.Equal(t, describe.Over(d), want, "over", d)
	}
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h", 65 * time.Second: "1m05s", 0: "0ms", 30 * time.Second: "30s"} {
		must.Equal(t, describe.Limit(d), want, "limit", d)
	}
}
