package finding

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// watching returns a queue whose waiters have these watches according to the servers.
func watching(library string, sure recipe.Confidence, answers ...inspect.Confirmation) inspect.Case {
	l := queue(library, len(answers)+1)
	l.Confidence = sure
	sessions := map[int64]inspect.Session{}
	for i, a := range answers {
		w := &l.Waiters[i]
		w.Watch = a
		sessions[w.Owner.Session] = inspect.Session{ID: w.Owner.Session}
	}
	return present(l, func(c *inspect.Case) { c.Sessions = sessions })
}

// A disconnected client has no watches. If the servers do not list connections, it looks the same
// as a client with a lost wake-up.
func TestMissingWatchMayMeanDisconnection(t *testing.T) {
	t.Parallel()
	of := func(sessions map[int64]inspect.Session, all bool, unseen ...inspect.Unseen) inspect.Case {
		c := watching("kazoo", recipe.Certain, inspect.Missing, inspect.Confirmed)
		c.Sessions, c.AllSessions, c.Backend = sessions, all, &inspect.Backend{Unseen: unseen}
		return c
	}
	denied := inspect.Unseen{Aspect: inspect.AspectSessions, Read: "connections", Right: "AdminServer credentials"}
	listed := map[int64]inspect.Session{2: {ID: 2}}
	check(t, "missing-watch", []state{
		{
			name: "no server lists connections", c: of(nil, false), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"or is not connected"}, advice: "cons in 4lw.commands.whitelist", evidence: map[string]any{"right": "cons in 4lw.commands.whitelist, or the AdminServer in the target"},
		},
		{name: "another right", c: of(nil, false, denied), fires: true, severity: inspect.Info, confidence: recipe.Possible, advice: "AdminServer credentials"},
		{name: "it may be on a server that does not list connections", c: of(map[int64]inspect.Session{3: {ID: 3}}, false), fires: true, severity: inspect.Info, confidence: recipe.Possible},
		{name: "it is on a server that does", c: of(listed, false), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "it is on no server", c: of(map[int64]inspect.Session{3: {ID: 3}}, true)},
	})
}

func TestMissingWatch(t *testing.T) {
	t.Parallel()
	check(t, "missing-watch", []state{
		{
			name: "the second waiter has no watch", c: watching("curator", recipe.Certain, inspect.Confirmed, inspect.Missing, inspect.Confirmed), fires: true,
			severity: inspect.Warning, confidence: recipe.Certain, has: []string{"does not watch", "1 behind it"},
			evidence: map[string]any{"contender": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000002", "expected": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000001", "session": "0x3"},
		},
		{name: "plain nodes, some of which watch", c: watching("sequential", recipe.Likely, inspect.Confirmed, inspect.Missing), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "plain nodes, none of which watches: a registry", c: watching("sequential", recipe.Possible, inspect.Missing, inspect.Missing)},
		{
			name: "the only waiter of Curator's mutex", c: watching("curator", recipe.Certain, inspect.Missing), fires: true,
			severity: inspect.Warning, confidence: recipe.Certain, has: []string{"nothing will wake it up"}, advice: "restart",
		},
		{
			name: "the last waiter watches the holder", c: watchingTheHolder(), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has:      []string{"will not learn when that one leaves"},
			evidence: map[string]any{"instead": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000", "expected": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000002"},
		},
		{name: "Hive never watches", c: watching("hive", recipe.Certain, inspect.Missing)},
		{name: "all watch", c: watching("curator", recipe.Certain, inspect.Confirmed, inspect.Confirmed)},
		{name: "watches unknown", c: watching("curator", recipe.Certain, inspect.Unconfirmed, inspect.Unconfirmed)},
		{
			name: "watches read a while ago", c: read(inspect.TableOld, watching("kazoo", recipe.Certain, inspect.Missing)), fires: true,
			severity: inspect.Warning, confidence: recipe.Possible, advice: "look at the lock",
		},
		{name: "all may have reconnected since", c: read(inspect.TableVoid, watching("kazoo", recipe.Certain, inspect.Missing))},
	})
	many := make([]inspect.Confirmation, 25)
	for i := range many {
		many[i] = inspect.Missing
	}
	found := diagnose(t, "missing-watch", watching("kazoo", recipe.Certain, many...))
	if len(found) != 10 || found[9].Evidence["contender"] != "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000010" {
		t.Errorf("%d findings, want one for each of the first 10 waiters", len(found))
	}
}

// watchingTheHolder returns a queue of four in which the last contender watches the first.
func watchingTheHolder() inspect.Case {
	c := watching("curator", recipe.Certain, inspect.Confirmed, inspect.Confirmed, inspect.Missing)
	l := c.Lock
	c.Watches = &inspect.WatchTable{ReadAt: l.ReadAt, Sessions: map[string][]int64{
		l.Node(&l.Holders[0]): {l.Waiters[0].Owner.Session, l.Waiters[2].Owner.Session},
		l.Node(&l.Waiters[0]): {l.Waiters[1].Owner.Session},
	}}
	return c
}

// A session left six entries behind a holder and watches nothing. Each entry is reported, and so is
// the session.
func TestEntriesThatOneSessionLeaked(t *testing.T) {
	t.Parallel()
	leaked := watching("curator", recipe.Certain, slices.Repeat([]inspect.Confirmation{inspect.Missing}, 6)...)
	for i := range leaked.Lock.Waiters {
		leaked.Lock.Waiters[i].Owner.Session = 2
	}
	if found := diagnose(t, "missing-watch", leaked); len(found) != 6 {
		t.Errorf("missing-watch: %v", found)
	}
	if found := diagnose(t, "self-wait", leaked); len(found) != 1 || found[0].Severity != inspect.Warning {
		t.Errorf("self-wait: %v", found)
	}
}

func TestMissingWatchOnDeletedNode(t *testing.T) {
	t.Parallel()
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
	heard := func(after time.Duration) func(*inspect.Case) { // after it queued, with the leader's clock 3 s ahead
		return func(c *inspect.Case) {
			c.Offset = 3 * time.Second
			w := &c.Lock.Waiters[0]
			w.Since = now.Add(-10 * time.Second).Add(c.Offset)
			c.Sessions, c.AllSessions = map[int64]inspect.Session{w.Owner.Session: {ID: w.Owner.Session, LastContact: now.Add(-10*time.Second + after)}}, true
		}
	}
	contact := func(timeout time.Duration) func(*inspect.Case) { // unknown contact, with this session timeout
		return func(c *inspect.Case) {
			heard(0)(c)
			id := c.Lock.Waiters[0].Owner.Session
			c.Sessions[id] = inspect.Session{ID: id, Timeout: timeout}
		}
	}
	disturbed := func(c *inspect.Case) { c.Backend = &inspect.Backend{DisturbedAt: now.Add(-time.Second)} }
	check(t, "missing-watch", []state{
		{
			name: "it watches a node that is gone", c: gone(inspect.Unconfirmed, inspect.WatchSettle), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"which is gone", "nothing will wake it up"}, evidence: map[string]any{"watches_gone": left},
		},
		{name: "and surely not the right one", c: gone(inspect.Missing, inspect.WatchSettle, sessions(1, 2)), fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"watches_gone": left}},
		{name: "the table may be older than the node's end", c: gone(inspect.Unconfirmed, -time.Second)},
		{name: "it also watches the right one", c: gone(inspect.Confirmed, inspect.WatchSettle)},
		{name: "its client was killed", c: gone(inspect.Missing, inspect.WatchSettle, sessions(1))},
		{name: "its client has not been heard from since it queued", c: gone(inspect.Missing, inspect.WatchSettle, heard(100*time.Millisecond)), fires: true, severity: inspect.Info, confidence: recipe.Possible, has: []string{"it may still set the watch"}},
		{
			name: "unknown whether its client has been heard from since", c: gone(inspect.Missing, inspect.WatchSettle, contact(15*time.Second)),
			fires: true, severity: inspect.Info, confidence: recipe.Possible, has: []string{"it may still set the watch"},
		},
		{
			name: "its session would have ended by now", c: gone(inspect.Missing, inspect.WatchSettle, contact(10*time.Second)),
			fires: true, severity: inspect.Warning, confidence: recipe.Certain,
		},
		{name: "its client has been heard from since", c: gone(inspect.Missing, inspect.WatchSettle, heard(time.Second)), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "its client may be reconnecting", c: gone(inspect.Missing, inspect.WatchSettle, disturbed)},
	})
}

// read returns the same case with an earlier table of watches.
func read(age inspect.TableAge, c inspect.Case) inspect.Case {
	c.WatchesAre = age
	return c
}

func TestHerd(t *testing.T) {
	t.Parallel()
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
		{name: "the next waiter and nine more", c: on(queue("sequential", 12), first, ids(2, 12))},
		{name: "readers wait for one writer", c: on(readers, first, ids(2, 14))},
		{name: "one session watches ten times", c: on(queue("sequential", 12), first, []int64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3})},
		{
			name: "ten watch a permit", c: on(with(queue("curator", 12), func(l *inspect.Lock) { l.Holders[0].Special = inspect.Special{Place: "leases"} }), "/l/leases/"+first[3:], ids(3, 13)),
			fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"node": "/l/leases/" + first[3:]},
		},
		{name: "ten watch a node that has no queue", c: on(with(queue("sequential", 1), func(l *inspect.Lock) { l.Recipe = "ephemeral" }), "/l", ids(3, 13))},
		{name: "another node is watched", c: on(queue("sequential", 12), "/l/x", ids(3, 13))},
		{name: "watches unknown", c: present(queue("sequential", 12))},
		{
			name: "watches read a while ago", c: read(inspect.TableOld, on(queue("sequential", 12), first, ids(3, 13))), fires: true,
			severity: inspect.Warning, confidence: recipe.Possible, advice: "look at the lock",
		},
		{name: "all may have reconnected since", c: read(inspect.TableVoid, on(queue("sequential", 12), first, ids(3, 13)))},
	})
}

func TestSelfWait(t *testing.T) {
	t.Parallel()
	twice := func(since time.Duration, changes ...func(*inspect.Lock)) inspect.Case {
		l := with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Waiters[1].Owner.Session, l.Waiters[1].Since = 1, now.Add(-since)
		})
		return present(with(l, changes...))
	}
	watched := func(holds, waits time.Duration) inspect.Case { // how long it has held and waited
		c := twice(time.Minute)
		c.History = &inspect.History{Since: now.Add(-time.Hour)}
		c.Lock.Holders[0].Seen, c.Lock.Waiters[1].Seen = now.Add(-holds), now.Add(-waits)
		return c
	}
	thread := func(id, thread inspect.Untrusted) inspect.Case {
		l := fair()
		l.Holders[0].Owner = inspect.Owner{Process: inspect.Process{LibraryID: "u", Thread: "1"}}
		l.Waiters[0].Owner = inspect.Owner{Process: inspect.Process{LibraryID: id, Thread: thread}}
		return present(l)
	}
	check(t, "self-wait", []state{
		{
			name: "for a while", c: twice(time.Minute), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"waits for itself: it holds as ", " and waits as "}, advice: "wait: threads of one client share its session",
			evidence: map[string]any{"holder": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000", "session": "0x1"},
		},
		{
			name: "for too long", c: twice(11 * time.Minute), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"has waited for itself for over 10m: it holds as "}, advice: "restart that client. If none of its threads is working under the lock: lockscope release zk:/l --owner _c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000",
		},
		{
			name: "watched for a while", c: watched(6*time.Second, 6*time.Second), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			advice: "If it lasts, see what that client's threads do",
		},
		{name: "a registry without watches", c: twice(time.Hour, func(l *inspect.Lock) { l.Recipe, l.Confidence = "sequential", recipe.Possible })},
		{name: "watched: threads that take turns", c: watched(time.Hour, 4*time.Second)},
		{name: "watched: it was granted just now", c: watched(4*time.Second, time.Hour)},
		{
			name: "it queued long ago, but has held only recently", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: twice(time.Hour, holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-time.Minute) })),
		},
		{name: "a member node next to a candidate", c: twice(time.Hour, func(l *inspect.Lock) {
			l.Recipe, l.Waiters[1].Name = "sequential", "member-0000000002"
		})},
		{name: "threads that share a session, by their labels", c: twice(time.Hour, func(l *inspect.Lock) {
			l.Holders[0].Owner.Label, l.Waiters[1].Owner.Label = "worker-1", "worker-2"
		})},
		{name: "one thread of Redisson", c: thread("u", "1"), fires: true, severity: inspect.Info, confidence: recipe.Possible},
		{name: "another thread of Redisson", c: thread("u", "2")},
		{name: "the same thread number elsewhere", c: thread("v", "1")},
		{name: "different sessions", c: present(queue("go-zookeeper", 3))},
		{name: "no sessions are known", c: present(with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Holders[0].Owner, l.Waiters[0].Owner, l.Waiters[1].Owner = inspect.Owner{}, inspect.Owner{}, inspect.Owner{}
		}))},
		{name: "it waits twice, and another holds", c: present(with(queue("go-zookeeper", 3), waiter(func(w *inspect.Contender) { w.Owner.Session = 3 })))},
		{name: "a lease that is not granted yet", c: twice(time.Hour, func(l *inspect.Lock) { l.Waiters[1].State = inspect.Pending })},
		{name: "it holds one of several leases", c: twice(time.Hour, func(l *inspect.Lock) {
			l.Kind, l.Limit = inspect.KindSemaphore, 2
			l.Holders = append(l.Holders, inspect.Contender{Name: "x", State: inspect.Holding, Owner: inspect.Owner{Session: 99}})
		})},
		{name: "readers of one client", c: twice(time.Hour, func(l *inspect.Lock) { l.Holders[0].Mode, l.Waiters[1].Mode = recipe.Shared, recipe.Shared })},
	})
}

// A client has two waiting entries, and the first one has no watch.
func TestSelfWaitBehindItsLostEntry(t *testing.T) {
	t.Parallel()
	lost := func(change func(*inspect.Lock)) inspect.Case { // session 1 holds, 2 waits twice, with 3 in between
		return present(with(queue("go-zookeeper", 4), func(l *inspect.Lock) {
			l.Waiters[2].Owner.Session = l.Waiters[0].Owner.Session
			l.Waiters[0].Watch, l.Waiters[1].Watch, l.Waiters[2].Watch = inspect.Missing, inspect.Confirmed, inspect.Confirmed
			if change != nil {
				change(l)
			}
		}))
	}
	if found := diagnose(t, "missing-watch", lost(nil)); len(found) != 0 {
		t.Errorf("reported by two rules: %v", found)
	}
	check(t, "self-wait", []state{
		{
			name: "behind its own lost entry", c: lost(nil), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"behind its own"},
			evidence: map[string]any{"behind": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000001", "contender": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000003"}, advice: "restart",
		},
		{name: "behind an entry of its other thread", c: lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Confirmed })},
		{name: "watches unknown", c: lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Unconfirmed })},
		{name: "neither watches: its client may be away", c: lost(func(l *inspect.Lock) { l.Waiters[2].Watch = inspect.Missing })},
		{name: "another session's entry has lost its watch", c: lost(func(l *inspect.Lock) { l.Waiters[2].Owner.Session = 4 })},
		{name: "the entry in front is a reader", c: lost(func(l *inspect.Lock) { l.Waiters[0].Mode = recipe.Shared })},
	})
}

func TestLostWakeUp(t *testing.T) {
	t.Parallel()
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
	waiting := func(answer inspect.Confirmation, changes ...func(*inspect.Case)) inspect.Case { // the second in line watches a deleted node
		c := first("sequential", recipe.Likely)
		h, w := &c.Lock.Holders[0], &c.Lock.Waiters[0]
		h.Special, w.Special, w.Watch = w.Special, h.Special, answer
		c.Watches.ReadAt = c.Lock.ReadAt.Add(inspect.WatchSettle)
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	facing := func(c *inspect.Case) {
		l := c.Lock
		l.Holders[0].WatchesGone = ""
		c.Watches.Sessions = map[string][]int64{l.Node(&l.Waiters[0]): {l.Holders[0].Owner.Session}}
	}
	check(t, "lost-wakeup", []state{
		{
			name: "ZooKeeper's own WriteLock", c: first("zookeeper-recipes", recipe.Certain), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"may not know that it holds the lock", "1 behind it"}, evidence: map[string]any{"watches_gone": left, "blocked_below": 1},
		},
		{
			name: "no other waiters", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Waiters, l.Holders[0].BlockedBelow = nil, 0 })), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely,
		},
		{name: "plain nodes: its client may check the reply of exists", c: first("sequential", recipe.Likely), fires: true, severity: inspect.Info, confidence: recipe.Possible},
		{
			name: "a waiter that does not watch its predecessor", c: waiting(inspect.Missing), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"will not know when its turn comes"}, evidence: map[string]any{"watches_gone": left}, advice: "restart",
		},
		{name: "a waiter that also watches the right one", c: waiting(inspect.Confirmed)},
		{
			name: "a waiter of a lock that has been read again since", c: waiting(inspect.Missing, func(c *inspect.Case) { c.Watches.ReadAt = c.Lock.ReadAt.Add(-time.Second) }), fires: true,
			severity: inspect.Warning, confidence: recipe.Likely,
		},
		{name: "a waiter, but the table may be older than what it saw", c: waiting(inspect.Unconfirmed, func(c *inspect.Case) { c.Watches.ReadAt = c.Lock.ReadAt })},
		{name: "the watches were not read", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Watches = nil })},
		{name: "it has no watch on a deleted node", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Holders[0].WatchesGone = "" }))},
		{name: "the deleted node was behind it", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) {
			l.Holders[0].WatchesGone = "x-72057675180539904-0000000005"
		}))},
		{
			name: "the first in line watches a waiter behind it", c: first("kazoo", recipe.Certain, facing), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"it still watches", "behind it"},
		},
		{name: "a leader watches a follower", c: first("kazoo", recipe.Certain, facing, lock(func(l *inspect.Lock) { l.Kind = inspect.KindElection }))},
		{name: "its other thread waits, and may have left the watch", c: first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Waiters[0].Owner = l.Holders[0].Owner }))},
		{name: "its client was killed", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Sessions, c.AllSessions = map[int64]inspect.Session{}, true })},
		{name: "its client may be reconnecting", c: first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Backend = &inspect.Backend{DisturbedAt: now.Add(-time.Second)} })},
	})
}
