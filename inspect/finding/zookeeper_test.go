package finding

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
)

func TestDeadlock(t *testing.T) {
	cycle := &inspect.Cycle{
		Locks: []inspect.ID{{Backend: "zk", Path: "/a"}, {Backend: "redis", Path: "b"}}, Owners: []string{"web-1", "web-2"},
		Cheapest: inspect.CycleHold{Owner: -1},
	}
	free := *cycle
	free.Cheapest = inspect.CycleHold{Owner: 0, Lock: cycle.Locks[1], Name: "token 1"}
	in := func(cy *inspect.Cycle) func(*inspect.Case) { return func(c *inspect.Case) { c.Cycle = cy } }
	check(t, "deadlock", []state{
		{
			name: "two locks in a circle", c: present(queue("kazoo", 2), in(cycle)), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"2 locks", "web-1 → web-2 → web-1"},
			evidence: map[string]any{"locks": []string{"zk:/a", "redis:b"}, "owners": []string{"web-1", "web-2"}},
		},
		{
			name: "the hold that costs the least is another lock's", fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			c: present(queue("kazoo", 2), in(&free), func(c *inspect.Case) {
				c.Reach = map[string]inspect.Reach{"zk": {Target: "zk://z:1"}, "redis": {Target: "redis://r:2"}}
			}),
			evidence: map[string]any{"cheapest": "redis:b"},
			advice:   "cheapest fix: stop web-1, or release its lock (it keeps running): lockscope release redis:b redis://r:2 --owner 'token 1'. Then have all clients take these locks in one order",
		},
		{name: "a chain that ends", c: present(queue("kazoo", 2))},
		{name: "an empty circle", c: present(queue("kazoo", 2), in(&inspect.Cycle{}))},
	})
}

func TestMixedRecipes(t *testing.T) {
	mix := func(first, second string) *inspect.Lock {
		return with(queue(first, 2), waiter(func(w *inspect.Contender) { w.Recipe = second }))
	}
	check(t, "mixed-recipes", []state{
		{
			name: "kazoo ignores Curator", c: present(mix("curator", "kazoo")), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"curator and kazoo"},
			evidence: map[string]any{"libraries": map[string]int{"curator": 1, "kazoo": 1}},
		},
		{name: "kazoo ignores go-zookeeper", c: present(mix("kazoo", "go-zookeeper")), fires: true, severity: inspect.Critical, confidence: recipe.Likely},
		{name: "a name that anybody may have written", c: present(mix("curator", "sequential")), fires: true, severity: inspect.Critical, confidence: recipe.Possible},
		{
			name: "go-zookeeper takes Curator's readers for writers", fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			c: present(with(mix("curator", "go-zookeeper"), holder(func(h *inspect.Contender) { h.Mode = recipe.Shared }))),
		},
		{name: "Curator and go-zookeeper order each other", c: present(mix("curator", "go-zookeeper"))},
		{name: "the lock's own library, named again", c: present(mix("kazoo", "kazoo"))},
		{name: "one library", c: present(queue("kazoo", 5))},
	})
}

func TestSemaphoreOvercommit(t *testing.T) {
	semaphore := func(held, limit int, changes ...func(*inspect.Lock)) inspect.Case {
		l := queue("kazoo", held+1)
		l.Kind, l.Limit, l.Holders, l.Waiters = inspect.KindSemaphore, limit, l.Waiters, nil
		return present(with(l, changes...))
	}
	check(t, "semaphore-overcommit", []state{
		{
			name: "three of two", c: semaphore(3, 2), fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			has: []string{"3 leases", "2 permits"}, evidence: map[string]any{"held": 3, "limit": 2},
		},
		{name: "two of two", c: semaphore(2, 2)},
		{name: "three, limit unknown", c: semaphore(3, 0)},
		{name: "three readers", c: semaphore(3, 2, func(l *inspect.Lock) { l.Kind = inspect.KindRW })},
		{name: "one of the three is dead", c: semaphore(3, 2, holder(func(h *inspect.Contender) { h.Dead = true }))},
		{name: "one of the three has expired", c: semaphore(3, 2, holder(func(h *inspect.Contender) { h.ExpiresAt = now.Add(-time.Second) }))},
	})
}

func TestPersistentContender(t *testing.T) {
	persistent := func(c *inspect.Contender) { c.Persistent, c.Owner.Session = true, 0 }
	check(t, "persistent-contender", []state{
		{
			name: "a holder", c: present(with(queue("kazoo", 3), holder(persistent))), fires: true, severity: inspect.Critical, confidence: recipe.Certain,
			has: []string{"holds without a session"}, evidence: map[string]any{"state": "holding", "count": 1, "blocked_below": 2},
		},
		{
			name: "two waiters", fires: true, severity: inspect.Critical, confidence: recipe.Certain, has: []string{"2 contenders"},
			c: present(with(queue("sequential", 3), waiter(persistent), func(l *inspect.Lock) { persistent(&l.Waiters[1]) })),
		},
		{
			name: "another library's among ShedLock's", fires: true, severity: inspect.Critical, confidence: recipe.Certain,
			c: present(with(queue("shedlock", 2), waiter(func(w *inspect.Contender) { persistent(w); w.Recipe = "kazoo" }))),
		},
		{name: "ephemeral ones", c: present(queue("kazoo", 3))},
		{name: "ShedLock's are by design", c: present(with(queue("shedlock", 1), holder(persistent)))},
		{name: "Helix's are by design", c: present(with(queue("helix", 1), holder(persistent)))},
		{name: "kazoo's leases are, since they say when they end", c: present(with(queue("kazoo", 1), holder(func(h *inspect.Contender) { persistent(h); h.ExpiresAt = now.Add(time.Minute) })))},
		{name: "Hive's explicit ones are by design", c: present(with(queue("curator", 1), holder(func(h *inspect.Contender) { persistent(h); h.Recipe = "hive" })))},
	})
}

func TestStuckHolder(t *testing.T) {
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
		warning("over the limit", present(held(11*time.Minute)), recipe.Certain, "for over 10m; 2 waiting"),
		{name: "a lease, which is held until its end", c: present(with(held(time.Hour), holder(func(h *inspect.Contender) { h.Persistent, h.ExpiresAt = true, now.Add(time.Hour) })))},
		{name: "just under the limit", c: present(held(10*time.Minute - time.Second))},
		{name: "nobody waits", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters, l.State = nil, inspect.StateHeld }))},
		warning("so many instances wait unseen", present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters, l.WaitersAtLeast = nil, 3 })), recipe.Certain, "at least 3 waiting"),
		warning("waiters are unknown", present(with(held(time.Hour), func(l *inspect.Lock) { l.Waiters = nil })), recipe.Certain, "others wait"),
		{name: "a deadlock is the reason", c: present(held(time.Hour), func(c *inspect.Case) { c.Cycle = &inspect.Cycle{Locks: []inspect.ID{c.Lock.ID}} })},
		{name: "a leader leads on", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Kind = inspect.KindElection }))},
		{name: "a leader that is one for sure, by its nodes' names", c: present(leads(held(time.Hour), recipe.Certain))},
		{
			name: "perhaps a leader, by a word of the path", c: present(leads(held(time.Hour), recipe.Possible)), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"perhaps as a leader"}, evidence: map[string]any{"kind": "election"}, advice: "if it is an election",
		},
		{
			name: "one that can be asked is to be asked first", fires: true, severity: inspect.Warning, confidence: recipe.Certain, advice: "lockscope ask zk:/l --owner ",
			c: present(with(held(time.Hour), holder(func(h *inspect.Contender) { h.Revocable = true }))),
		},
		{name: "perhaps a leader, for a short while", c: present(leads(held(time.Minute), recipe.Likely))},
		warning("a word of the path, but it was held again and again", present(leads(held(time.Hour), recipe.Possible), seen(history())), recipe.Certain, "usually at most"),
		{name: "held again and again, but an election for sure", c: present(leads(held(time.Hour), recipe.Certain), seen(history()))},
		{
			name: "no hand-over was seen for hours", fires: true, severity: inspect.Warning, confidence: recipe.Possible, advice: "if it is an election",
			c: present(came(5*time.Hour), seen(past(func(h *inspect.History) { h.Since, h.Holds, h.Grants = now.Add(-4*time.Hour), inspect.Spans{}, 0 }))), evidence: map[string]any{"watched_since": stamp(now.Add(-4 * time.Hour))},
		},
		{
			name: "over twice what is expected", c: present(expected(held(21*time.Minute), 10*time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"over 20m, expected at most 10m"}, evidence: map[string]any{"expected_ms": int64(600_000), "limit_ms": int64(1_200_000)},
		},
		{name: "within twice what is expected, over the general limit", c: present(expected(held(19*time.Minute), 10*time.Minute))},
		{name: "what is expected goes before what was seen", c: present(expected(held(time.Minute), time.Minute), seen(history()))},
		warning("expected to be short", present(expected(held(3*time.Second), time.Second)), recipe.Certain, "expected at most 1.0s"),
		{name: "a semaphore with a free permit", c: present(with(held(time.Hour), func(l *inspect.Lock) { l.Kind, l.Limit = inspect.KindSemaphore, 2 }))},
		warning("the operator's own limit", present(held(2*time.Second), func(c *inspect.Case) { c.StuckAfter = time.Second }), recipe.Certain, "over 2s"),
		{name: "under a longer limit of the operator", c: present(held(time.Hour), func(c *inspect.Case) { c.StuckAfter = 2 * time.Hour })},
		{
			name: "sooner by its own history", c: present(held(12*time.Second), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"over 10s, usually at most 1.0s"}, evidence: map[string]any{"hold_p99_ms": int64(1000), "limit_ms": int64(10000), "known": "exact"},
		},
		{name: "under ten times its usual", c: present(held(9*time.Second), seen(history()))},
		{name: "too few holds to know the usual", c: present(held(12*time.Second), seen(fewHolds))},
		warning("never later than the operator's limit", present(held(11*time.Minute), seen(slow)), recipe.Possible),
		warning("longer than ever", present(held(2*time.Hour), seen(slow)), recipe.Certain),
		warning("came long ago, granted at an unknown time", present(came(time.Hour)), recipe.Possible, "queued over 1h ago"),
		{name: "came lately", c: present(came(time.Minute))},
		warning("held at the first look", present(came(time.Hour), seen(watched(15*time.Minute))), recipe.Likely, "at least 10m"),
		warning("looked at for too short", present(came(time.Hour), seen(watched(time.Minute))), recipe.Possible, "queued over 1h ago"),
		{name: "came after the first look", c: present(came(time.Minute), seen(watched(time.Hour)))},
		warning("granted while we could not look", present(came(time.Hour), seen(watched(time.Hour)), func(c *inspect.Case) {
			c.Lock.Holders[0].Seen = inspect.InstantOf(now.Add(-time.Minute))
		}), recipe.Possible, "queued over 1h ago"),
		{name: "listed, and not read yet", c: present(with(queue("kazoo", 3), holder(func(h *inspect.Contender) { h.Since, h.Owner, h.Czxid = time.Time{}, inspect.Owner{}, 0 })), seen(watched(time.Minute)))},
		{name: "nothing is known of its time", c: present(with(queue("kazoo", 2), holder(func(h *inspect.Contender) { h.Since = time.Time{} })))},
		{name: "the backend's clock is behind", c: present(held(11*time.Minute), func(c *inspect.Case) { c.Offset = -2 * time.Minute })},
		warning("the backend's clock is ahead", present(held(9*time.Minute), func(c *inspect.Case) { c.Offset = 2 * time.Minute }), recipe.Certain),
		{name: "nobody holds", c: present(inspect.FreeDirectory(inspect.ID{Backend: "zk", Path: "/l"}, nil, now))},
	})
}

func TestGhostOwner(t *testing.T) {
	known := func(all bool, readAt time.Time, sessions ...inspect.Session) func(*inspect.Case) {
		return func(c *inspect.Case) {
			c.Sessions, c.AllSessions, c.SessionsAt = map[int64]inspect.Session{}, all, readAt
			for _, s := range sessions {
				c.Sessions[s.ID] = s
			}
		}
	}
	disturbed := func(ago time.Duration) func(*inspect.Case) {
		return func(c *inspect.Case) {
			c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce, DisturbedAt: now.Add(-ago)}
		}
	}
	heard := func(id int64, ago time.Duration) inspect.Session {
		return inspect.Session{ID: id, Client: "10.0.0.1:5", Timeout: 10 * time.Second, LastContact: now.Add(-ago)}
	}
	watched := func(c *inspect.Case) { c.Backend = &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeWatch} }
	missed := func(ago time.Duration) func(*inspect.Case) {
		return func(c *inspect.Case) {
			h := &c.Lock.Holders[0]
			h.Owner.SessionTimeout = 10 * time.Second
			c.Lock.Findings = []inspect.Finding{{Rule: "ghost-owner", Subject: h.Subject(), Evidence: evidence{"missing_since": stamp(now.Add(-ago))}}}
		}
	}
	old := func(age time.Duration) *inspect.Lock {
		return with(queue("curator", 2), func(l *inspect.Lock) { l.Holders[0].Since, l.Waiters[0].Since = now.Add(-age), now.Add(-age) })
	}
	reader := with(votes("a", time.Minute), func(l *inspect.Lock) {
		l.Kind, l.Recipe = inspect.KindRW, "redisson"
		l.Holders[0].Dead = true
	})
	check(t, "ghost-owner", []state{
		{
			name: "the holder is connected nowhere", c: present(old(time.Minute), known(true, now, heard(2, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"holds, but", "0x1", "connected to no server"}, evidence: map[string]any{"session": "0x1", "state": "holding", "count": 1},
		},
		{
			name: "a waiter is connected nowhere", c: present(old(time.Minute), known(true, now, heard(1, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"waits"}, evidence: map[string]any{"session": "0x2"},
		},
		{name: "all are connected", c: present(old(time.Minute), known(true, now, heard(1, 0), heard(2, 0)))},
		{name: "one server did not tell", c: present(old(time.Minute), known(false, now, heard(2, 0)))},
		{name: "a server began to serve 39 s ago: it may be on its way", c: present(old(time.Minute), known(true, now, heard(2, 0)), disturbed(39*time.Second))},
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
			name: "watched, and first missed now: it times out by itself", c: present(old(time.Minute), known(true, now, heard(2, 0)), watched), fires: true,
			severity: inspect.Info, confidence: recipe.Likely, has: []string{"connected to no server", "ends by 03:15:00 UTC"}, advice: "wait until then",
			evidence: map[string]any{"missing_since": stamp(now), "ends_by": stamp(now.Add(45 * time.Second))},
		},
		{
			name: "watched, and first missed 9 s ago, of 10 s and two ticks", c: present(old(time.Minute), known(true, now, heard(2, 0)), watched, missed(9*time.Second)), fires: true,
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
		{name: "no server told", c: present(old(time.Minute), func(c *inspect.Case) { c.AllSessions = true })},
		{name: "it came after the table was read", c: present(old(time.Minute), known(true, now.Add(-2*time.Minute)))},
		{name: "it came while the table was read", c: present(old(4*time.Second), known(true, now))},
		{name: "the backend's clock is behind: it came after the table", c: present(old(time.Minute), known(true, now.Add(-time.Minute)), func(c *inspect.Case) { c.Offset = -time.Minute })},
		{name: "the table's age is unknown, and it came lately", c: present(old(50*time.Second), known(true, time.Time{}))},
		{name: "the table's age is unknown, and it came long ago", c: present(old(2*time.Minute), known(true, time.Time{})), fires: true, severity: inspect.Warning, confidence: recipe.Likely, evidence: map[string]any{"count": 2}},
		{
			name: "it came after the table, by a clock that nobody knows", c: present(old(time.Minute), known(true, now.Add(-10*time.Second)), func(c *inspect.Case) {
				c.Lock.Holders[0].Seen, c.Lock.Waiters[0].Seen = inspect.InstantOf(now), inspect.InstantOf(now)
			}),
		},
		{name: "its age is unknown", c: present(with(old(0), func(l *inspect.Lock) { l.Holders[0].Since, l.Waiters[0].Since = time.Time{}, time.Time{} }), known(true, now))},
		{
			name: "not heard of for longer than its timeout and two ticks", c: present(old(time.Minute), known(true, now, heard(1, 15*time.Second), heard(2, 0))), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely, has: []string{"been silent for longer"}, evidence: map[string]any{"session_timeout_ms": int64(10000)},
		},
		{name: "the server ends its session at the next tick", c: present(old(time.Minute), known(true, now, heard(1, 13*time.Second), heard(2, 0)))},
		{name: "heard of within its timeout", c: present(old(time.Minute), known(true, now, heard(1, 9*time.Second), heard(2, 0)))},
		{name: "the table is old, not the contact", c: present(old(time.Minute), known(true, now.Add(-20*time.Second), heard(1, 25*time.Second), heard(2, 25*time.Second)))},
		{name: "the last contact is unknown", c: present(old(time.Minute), known(true, now, inspect.Session{ID: 1, Timeout: time.Second}, heard(2, 0)))},
		{name: "a dead Redisson reader", c: present(reader), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"its client is gone"}},
		{name: "a living Redisson reader", c: present(votes("a", time.Minute))},
		{name: "a dead waiter in a fair queue is another rule's", c: present(fair(deadAt(0)))},
	})
}

func TestMissingWatch(t *testing.T) {
	watching := func(library string, sure recipe.Confidence, answers ...inspect.Confirmation) inspect.Case {
		l := queue(library, len(answers)+1)
		l.Confidence = sure
		for i, a := range answers {
			l.Waiters[i].Watch = a
		}
		return present(l)
	}
	check(t, "missing-watch", []state{
		{
			name: "the second waiter watches nobody", c: watching("curator", recipe.Certain, inspect.Confirmed, inspect.Missing, inspect.Confirmed), fires: true,
			severity: inspect.Warning, confidence: recipe.Certain, has: []string{"does not watch", "1 behind it"},
			evidence: map[string]any{"contender": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000002", "expected": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000001", "session": "0x3"},
		},
		{name: "plain nodes, some of which watch", c: watching("sequential", recipe.Likely, inspect.Confirmed, inspect.Missing), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "plain nodes, none of which watches: a registry", c: watching("sequential", recipe.Possible, inspect.Missing, inspect.Missing)},
		{
			name: "Curator's mutex, or two permits of its old semaphore", c: watching("curator", recipe.Certain, inspect.Missing), fires: true,
			severity: inspect.Info, confidence: recipe.Possible, has: []string{"InterProcessSemaphore", "nothing will wake it up"}, advice: "find out",
		},
		{name: "kazoo has no such semaphore", c: watching("kazoo", recipe.Certain, inspect.Missing), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "all watch", c: watching("curator", recipe.Certain, inspect.Confirmed, inspect.Confirmed)},
		{name: "nobody could look", c: watching("curator", recipe.Certain, inspect.Unconfirmed, inspect.Unconfirmed)},
	})
	const left = "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000"
	gone := func(answer inspect.Confirmation, tableAfter time.Duration, changes ...func(*inspect.Case)) inspect.Case {
		c := watching("curator", recipe.Certain, answer)
		c.Lock.Waiters[0].WatchesGone = left
		c.Watches = &inspect.WatchTable{ReadAt: c.Lock.ReadAt.Add(tableAfter)}
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	sessions := func(ids ...int64) func(*inspect.Case) {
		return func(c *inspect.Case) {
			c.Sessions, c.AllSessions = map[int64]inspect.Session{}, true
			for _, id := range ids {
				c.Sessions[id] = inspect.Session{ID: id}
			}
		}
	}
	disturbed := func(c *inspect.Case) { c.Backend = &inspect.Backend{DisturbedAt: now.Add(-time.Second)} }
	check(t, "missing-watch", []state{
		{
			name: "it watches a node that is gone", c: gone(inspect.Unconfirmed, inspect.WatchSettle), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"which is gone", "nothing will wake it up"}, evidence: map[string]any{"watches_gone": left},
		},
		{name: "and surely not the right one", c: gone(inspect.Missing, inspect.WatchSettle, sessions(1, 2)), fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"watches_gone": left}},
		{name: "the table may be older than its end", c: gone(inspect.Unconfirmed, -time.Second)},
		{name: "it watches the right one beside", c: gone(inspect.Confirmed, inspect.WatchSettle)},
		{name: "its client was killed", c: gone(inspect.Missing, inspect.WatchSettle, sessions(1))},
		{name: "its client may be on its way back", c: gone(inspect.Missing, inspect.WatchSettle, disturbed)},
	})
	many := make([]inspect.Confirmation, 25)
	for i := range many {
		many[i] = inspect.Missing
	}
	found := ask(t, "missing-watch", watching("kazoo", recipe.Certain, many...))
	if len(found) != 10 || found[9].Evidence["contender"] != "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000010" {
		t.Errorf("%d findings, want one for each of the first 10 waiters", len(found))
	}
}

func TestHerd(t *testing.T) {
	ids := func(from, to int64) (list []int64) {
		for id := from; id < to; id++ {
			list = append(list, id)
		}
		return list
	}
	on := func(l *inspect.Lock, node string, sessions []int64) inspect.Case {
		return present(l, func(c *inspect.Case) { c.Watches = &inspect.WatchTable{Sessions: map[string][]int64{node: sessions}} })
	}
	first := "/l/" + queue("sequential", 1).Holders[0].Name.Raw()
	readers := with(queue("kazoo", 13), func(l *inspect.Lock) {
		for i := range l.Waiters {
			l.Waiters[i].Mode, l.Waiters[i].Watches = recipe.Shared, l.Holders[0].Name
		}
	})
	check(t, "herd", []state{
		{
			name: "ten watch the holder", c: on(queue("sequential", 12), first, ids(3, 13)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"10 sessions watch"}, evidence: map[string]any{"node": first, "watchers": 10},
		},
		{name: "ten watch the directory", c: on(queue("sequential", 12), "/l", ids(1, 11)), fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"node": "/l"}},
		{name: "ten watch a lock at the root", c: on(with(queue("sequential", 1), func(l *inspect.Lock) { l.ID.Path = "/" }), first[2:], ids(1, 11)), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "nine watch the holder", c: on(queue("sequential", 12), first, ids(3, 12))},
		{name: "the next in turn and nine more", c: on(queue("sequential", 12), first, ids(2, 12))},
		{name: "readers wait for one writer", c: on(readers, first, ids(2, 14))},
		{name: "one session watches ten times", c: on(queue("sequential", 12), first, []int64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3})},
		{
			name: "ten watch a permit", c: on(with(queue("curator", 12), func(l *inspect.Lock) { l.Holders[0].Place = "leases" }), "/l/leases/"+first[3:], ids(3, 13)),
			fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"node": "/l/leases/" + first[3:]},
		},
		{name: "ten watch a node that has no queue", c: on(with(queue("sequential", 1), func(l *inspect.Lock) { l.Recipe = "ephemeral" }), "/l", ids(3, 13))},
		{name: "another node is watched", c: on(queue("sequential", 12), "/l/x", ids(3, 13))},
		{name: "nobody could look", c: present(queue("sequential", 12))},
	})
}

func TestAlienChild(t *testing.T) {
	aliens := func(library string, names ...inspect.Untrusted) inspect.Case {
		return present(with(queue(library, 2), func(l *inspect.Lock) { l.Aliens = names }))
	}
	check(t, "alien-child", []state{
		{
			name: "go-zookeeper fails on it", c: aliens("go-zookeeper", "README"), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"README stands", "every time"}, evidence: map[string]any{"children": []string{"README"}},
		},
		{name: "Curator may wait for it", c: aliens("curator", "README", "config"), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"README and others stand"}},
		{name: "kazoo ignores it", c: aliens("kazoo", "README"), fires: true, severity: inspect.Warning, confidence: recipe.Possible, has: []string{"would fail"}},
		{name: "contenders only", c: aliens("go-zookeeper")},
	})
	for name, node := range map[inspect.Untrusted]string{"leases/README": "stat /l/leases/README)", "../l-__lock__/README": "stat /l-__lock__/README)"} {
		if found := ask(t, "alien-child", aliens("curator", name)); len(found) != 1 || !strings.Contains(found[0].Advice, node) {
			t.Errorf("%s in a part: %+v", name, found)
		}
	}
}

func TestSequenceWrap(t *testing.T) {
	at := func(numbers ...int32) inspect.Case {
		l := queue("kazoo", len(numbers))
		for i, n := range numbers {
			if i == 0 {
				l.Holders[0].Sequence = n
			} else {
				l.Waiters[i-1].Sequence = n
			}
		}
		return present(l)
	}
	check(t, "sequence-wrap", []state{
		{name: "a million before the end", c: at(math.MaxInt32 - 1_000_000 + 1), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"only 999999 numbers"}, evidence: map[string]any{"left": 999999}},
		{name: "the newest is negative", c: at(math.MaxInt32, math.MinInt32), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"have wrapped"}, evidence: map[string]any{"sequence": int32(math.MinInt32), "left": 0}},
		{name: "one number more than a million", c: at(math.MaxInt32 - 1_000_000)},
		{name: "a new directory", c: at(0, 1)},
		{name: "names without numbers", c: present(with(queue("ephemeral", 1), holder(func(h *inspect.Contender) { h.Sequential, h.Sequence = false, -1 })))},
	})
}

func TestSelfWait(t *testing.T) {
	twice := func(since time.Duration, changes ...func(*inspect.Lock)) inspect.Case {
		l := with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Waiters[1].Owner.Session, l.Waiters[1].Since = 1, now.Add(-since)
		})
		return present(with(l, changes...))
	}
	thread := func(id, thread inspect.Untrusted) inspect.Case {
		l := fair()
		l.Holders[0].Owner = inspect.Owner{LibraryID: "u", Thread: "1"}
		l.Waiters[0].Owner = inspect.Owner{LibraryID: id, Thread: thread}
		return present(l)
	}
	lost := func(change func(*inspect.Lock)) inspect.Case { // 1 holds, 2 waits twice, and 3 between
		return present(with(queue("go-zookeeper", 4), func(l *inspect.Lock) {
			l.Waiters[2].Owner.Session = l.Waiters[0].Owner.Session
			l.Waiters[0].Watch, l.Waiters[1].Watch, l.Waiters[2].Watch = inspect.Missing, inspect.Confirmed, inspect.Confirmed
			if change != nil {
				change(l)
			}
		}))
	}
	if found := ask(t, "missing-watch", lost(nil)); len(found) != 0 {
		t.Errorf("told by two rules: %v", found)
	}
	check(t, "self-wait", []state{
		{
			name: "for a while", c: twice(time.Minute), fires: true, severity: inspect.Info, confidence: recipe.Possible, has: []string{"waits for itself"},
			evidence: map[string]any{"holder": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000", "session": "0x1"},
		},
		{name: "for too long", c: twice(11 * time.Minute), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"over 10m"}},
		{
			name: "it queued long ago, but holds since lately", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: twice(time.Hour, holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-time.Minute) })),
		},
		{name: "one thread of Redisson", c: thread("u", "1"), fires: true, severity: inspect.Info, confidence: recipe.Possible},
		{name: "another thread of Redisson", c: thread("u", "2")},
		{name: "the same thread number elsewhere", c: thread("v", "1")},
		{name: "different sessions", c: present(queue("go-zookeeper", 3))},
		{name: "no sessions are known", c: present(with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Holders[0].Owner, l.Waiters[0].Owner, l.Waiters[1].Owner = inspect.Owner{}, inspect.Owner{}, inspect.Owner{}
		}))},
		{name: "it waits twice, and another holds", c: present(with(queue("go-zookeeper", 3), waiter(func(w *inspect.Contender) { w.Owner.Session = 3 })))},
		{
			name: "behind an entry that it has lost", c: lost(nil), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"behind its own"},
			evidence: map[string]any{"behind": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000001", "contender": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000003"}, advice: "restart",
		},
		{name: "behind one that another thread of it waits with", c: lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Confirmed })},
		{name: "nobody could look", c: lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Unconfirmed })},
		{name: "neither watches: its client is away", c: lost(func(l *inspect.Lock) { l.Waiters[2].Watch = inspect.Missing })},
		{name: "another's has lost its watch", c: lost(func(l *inspect.Lock) { l.Waiters[2].Owner.Session = 4 })},
		{name: "the one in front is a reader's", c: lost(func(l *inspect.Lock) { l.Waiters[0].Mode = recipe.Shared })},
		{name: "a lease that is not granted yet", c: twice(time.Hour, func(l *inspect.Lock) { l.Waiters[1].State = inspect.Pending })},
		{name: "one of several leases is its own", c: twice(time.Hour, func(l *inspect.Lock) {
			l.Kind, l.Limit = inspect.KindSemaphore, 2
			l.Holders = append(l.Holders, inspect.Contender{Name: "x", State: inspect.Holding, Owner: inspect.Owner{Session: 99}})
		})},
		{name: "readers of one client", c: twice(time.Hour, func(l *inspect.Lock) { l.Holders[0].Mode, l.Waiters[1].Mode = recipe.Shared, recipe.Shared })},
	})
}

// Names are long and begin alike: a message has to show the part in which they differ.
func TestShortNamesDiffer(t *testing.T) {
	shown := map[string]bool{}
	for i := range 3 {
		shown[describe.BriefName(inspect.Untrusted(fmt.Sprintf("_c_e3b0c442-98fc-1c14-9afb-f4c8996fb924-lock-%010d", i)))] = true
	}
	if len(shown) != 3 {
		t.Errorf("names look alike: %v", shown)
	}
	for name := range shown {
		if len([]rune(name)) > 33 {
			t.Errorf("%q is not short", name)
		}
	}
}

func TestOver(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 99 * time.Millisecond: "0s", 100 * time.Millisecond: "0.1s", 1999 * time.Millisecond: "1s", 10*time.Minute + 59*time.Second: "10m",
		47 * time.Hour: "1d", 400 * 24 * time.Hour: "1y",
	} {
		if got := describe.Over(d); got != want {
			t.Errorf("describe.Over(%v) is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h", 65 * time.Second: "1m05s", 0: "0ms", 30 * time.Second: "30s"} {
		if got := describe.Limit(d); got != want {
			t.Errorf("describe.Limit(%v) is %q, want %q", d, got, want)
		}
	}
}

func TestLostWakeUp(t *testing.T) {
	const left = "x-72057675180539904-0000000003"
	first := func(library string, sure recipe.Confidence, changes ...func(*inspect.Case)) inspect.Case {
		l := queue(library, 2)
		l.Confidence = sure
		for i, c := range []*inspect.Contender{&l.Holders[0], &l.Waiters[0]} {
			c.Sequence = int32(4 + i)
		}
		l.Holders[0].WatchesGone = left
		c := present(l, func(c *inspect.Case) { c.Watches = &inspect.WatchTable{} })
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	lock := func(change func(*inspect.Lock)) func(*inspect.Case) { return func(c *inspect.Case) { change(c.Lock) } }
	check(t, "lost-wakeup", []state{
		{
			name: "ZooKeeper's own WriteLock", c: first("zookeeper-recipes", recipe.Certain), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"first in line", "its turn has come", "1 behind it"}, evidence: map[string]any{"watches_gone": left, "blocked_below": 1},
		},
		{
			name: "nobody else waits", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Waiters, l.Holders[0].BlockedBelow = nil, 0 })), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely,
		},
		{name: "plain nodes: it may have looked at the answer", c: first("sequential", recipe.Likely), fires: true, severity: inspect.Info, confidence: recipe.Possible},
		{name: "the watches were not read", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Watches = nil })},
		{name: "it watches none", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Holders[0].WatchesGone = "" }))},
		{name: "one that stood behind it", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Holders[0].WatchesGone = "x-72057675180539904-0000000005" }))},
		{name: "another thread of it waits, and may have left it", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Waiters[0].Owner = l.Holders[0].Owner }))},
		{name: "its client was killed", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Sessions, c.AllSessions = map[int64]inspect.Session{}, true })},
		{name: "its client may be on its way back", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Backend = &inspect.Backend{DisturbedAt: now.Add(-time.Second)} })},
	})
}
