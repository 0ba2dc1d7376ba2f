package finding

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
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
	check(t, "missing-watch",
		fires("no server lists connections", of(nil, false)),
		fires("another right", of(nil, false, denied)),
		fires("it may be on a server that does not list connections", of(map[int64]inspect.Session{3: {ID: 3}}, false)),
		fires("it is on a server that does", of(listed, false)),
		silent("it is on no server", of(map[int64]inspect.Session{3: {ID: 3}}, true)),
	)
}

func TestMissingWatch(t *testing.T) {
	t.Parallel()
	check(t, "missing-watch",
		fires("the second waiter has no watch",
			watching("curator", recipe.Certain, inspect.Confirmed, inspect.Missing, inspect.Confirmed)),
		fires("plain nodes, some of which watch",
			watching("sequential", recipe.Likely, inspect.Confirmed, inspect.Missing)),
		silent("plain nodes, none of which watches: a registry",
			watching("sequential", recipe.Possible, inspect.Missing, inspect.Missing)),
		fires("the only waiter of Curator's mutex", watching("curator", recipe.Certain, inspect.Missing)),
		fires("the last waiter watches the holder", watchingTheHolder()),
		fires("entries that one session leaked", leaked()),
		silent("Hive never watches", watching("hive", recipe.Certain, inspect.Missing)),
		silent("all watch", watching("curator", recipe.Certain, inspect.Confirmed, inspect.Confirmed)),
		silent("watches unknown", watching("curator", recipe.Certain, inspect.Unconfirmed, inspect.Unconfirmed)),
		fires("watches read a while ago", read(inspect.TableOld, watching("kazoo", recipe.Certain, inspect.Missing))),
		silent("all may have reconnected since",
			read(inspect.TableVoid, watching("kazoo", recipe.Certain, inspect.Missing))),
	)
	many := slices.Repeat([]inspect.Confirmation{inspect.Missing}, 25)
	found := diagnose(t, "missing-watch", watching("kazoo", recipe.Certain, many...))
	must.Equal(t, len(found), 10, "findings about 25 waiters")
	must.Equal(t, found[9].Evidence["contender"], any(queuePrefix+"lock-0000000010"), "the last one is about")
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

// leaked has six entries that a session left behind a holder, and whose watches are gone.
func leaked() inspect.Case {
	c := watching("curator", recipe.Certain, slices.Repeat([]inspect.Confirmation{inspect.Missing}, 6)...)
	for i := range c.Lock.Waiters {
		c.Lock.Waiters[i].Owner.Session = 2
	}
	return c
}

func TestMissingWatchOnDeletedNode(t *testing.T) {
	t.Parallel()
	const left = queuePrefix + "lock-0000000000"
	gone := func(answer inspect.Confirmation, tableAfter time.Duration, changes ...func(*inspect.Case)) inspect.Case {
		c := watching("curator", recipe.Certain, answer)
		c.Lock.Waiters[0].WatchesGone = left
		c.Watches = &inspect.WatchTable{ReadAt: c.Lock.ReadAt.Add(tableAfter)}
		return present(c, changes...)
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
	check(t, "missing-watch",
		fires("it watches a node that is gone", gone(inspect.Unconfirmed, inspect.WatchSettle)),
		fires("and surely not the right one", gone(inspect.Missing, inspect.WatchSettle, connected(1, 2))),
		silent("the table may be older than the node's end", gone(inspect.Unconfirmed, -time.Second)),
		silent("it also watches the right one", gone(inspect.Confirmed, inspect.WatchSettle)),
		silent("its client was killed", gone(inspect.Missing, inspect.WatchSettle, connected(1))),
		fires("its client has not been heard from since it queued",
			gone(inspect.Missing, inspect.WatchSettle, heard(100*time.Millisecond))),
		fires("unknown whether its client has been heard from since",
			gone(inspect.Missing, inspect.WatchSettle, contact(15*time.Second))),
		fires("its session would have ended by now",
			gone(inspect.Missing, inspect.WatchSettle, contact(10*time.Second))),
		fires("queued at a time by a clock that could not be compared",
			gone(inspect.Missing, inspect.WatchSettle, heard(100*time.Millisecond), datedBy(inspect.LeaderClock{From: 1 << 40}))),
		fires("its client has been heard from since", gone(inspect.Missing, inspect.WatchSettle, heard(time.Second))),
		silent("its client may be reconnecting", gone(inspect.Missing, inspect.WatchSettle, reconnecting)),
	)
}

// connected says that only the clients of these sessions are; reconnecting, that they may be moving between servers.
func connected(ids ...int64) func(*inspect.Case) {
	return func(c *inspect.Case) {
		c.Sessions, c.AllSessions = map[int64]inspect.Session{}, true
		for _, id := range ids {
			c.Sessions[id] = inspect.Session{ID: id}
		}
	}
}

func reconnecting(c *inspect.Case) { c.Backend = &inspect.Backend{DisturbedAt: now.Add(-time.Second)} }

// read returns the same case with an earlier table of watches.
func read[T subject](age inspect.TableAge, about T) inspect.Case {
	return present(about, func(c *inspect.Case) { c.WatchesAre = age })
}

// ids are those from one on, before another.
func ids(from, to int64) (list []int64) {
	for id := from; id < to; id++ {
		list = append(list, id)
	}
	return list
}

func TestHerd(t *testing.T) {
	t.Parallel()
	on := func(l *inspect.Lock, node string, sessions []int64) inspect.Case {
		return present(l, func(c *inspect.Case) { c.Watches = &inspect.WatchTable{Sessions: map[string][]int64{node: sessions}} })
	}
	first := "/l/" + queue("sequential", 1).Holders[0].Name.Raw()
	readers := with(queue("kazoo", 13), func(l *inspect.Lock) {
		for i := range l.Waiters {
			l.Waiters[i].Mode, l.Waiters[i].Watches = recipe.Shared, l.Holders[0].Name
		}
	})
	permit := func(h *inspect.Contender) { h.Special = inspect.Special{Place: "leases"} }
	check(t, "herd",
		fires("ten watch the holder", on(queue("sequential", 12), first, ids(3, 13))),
		fires("ten watch the directory", on(queue("sequential", 12), "/l", ids(1, 11))),
		fires("ten watch a lock at the root",
			on(with(queue("sequential", 1), func(l *inspect.Lock) { l.ID.Path = "/" }), first[2:], ids(1, 11))),
		silent("nine watch the holder", on(queue("sequential", 12), first, ids(3, 12))),
		silent("the next waiter and nine more", on(queue("sequential", 12), first, ids(2, 12))),
		silent("readers wait for one writer", on(readers, first, ids(2, 14))),
		silent("one session watches ten times",
			on(queue("sequential", 12), first, []int64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3})),
		fires("ten watch a permit", on(with(queue("curator", 12), holder(permit)), "/l/leases/"+first[3:], ids(3, 13))),
		silent("ten watch a node that has no queue",
			on(with(queue("sequential", 1), func(l *inspect.Lock) { l.Recipe = "ephemeral" }), "/l", ids(3, 13))),
		silent("another node is watched", on(queue("sequential", 12), "/l/x", ids(3, 13))),
		silent("watches unknown", queue("sequential", 12)),
		fires("watches read a while ago", read(inspect.TableOld, on(queue("sequential", 12), first, ids(3, 13)))),
		silent("all may have reconnected since",
			read(inspect.TableVoid, on(queue("sequential", 12), first, ids(3, 13)))),
	)
}

func TestSelfWait(t *testing.T) {
	t.Parallel()
	twice := func(since time.Duration, changes ...func(*inspect.Lock)) *inspect.Lock {
		l := queue("go-zookeeper", 3)
		l.Waiters[1].Owner.Session, l.Waiters[1].Since = 1, now.Add(-since)
		return with(l, changes...)
	}
	watched := func(holds, waits time.Duration) inspect.Case { // how long it has held and waited
		l := twice(time.Minute)
		l.Holders[0].Seen, l.Waiters[1].Seen = now.Add(-holds), now.Add(-waits)
		return present(l, func(c *inspect.Case) { c.History = &inspect.History{Since: now.Add(-time.Hour)} })
	}
	thread := func(id, thread inspect.Untrusted) *inspect.Lock {
		l := fair()
		l.Holders[0].Owner = inspect.Owner{Process: inspect.Process{LibraryID: "u", Thread: "1"}}
		l.Waiters[0].Owner = inspect.Owner{Process: inspect.Process{LibraryID: id, Thread: thread}}
		return l
	}
	check(t, "self-wait",
		fires("for a while", twice(time.Minute)),
		fires("for too long", twice(11*time.Minute)),
		fires("by a clock that could not be compared", twice(time.Minute), datedBy(inspect.LeaderClock{From: 1 << 40})),
		fires("watched for a while", watched(6*time.Second, 6*time.Second)),
		fires("entries that it leaked", leaked()),
		silent("a registry without watches",
			twice(time.Hour, func(l *inspect.Lock) { l.Recipe, l.Confidence = "sequential", recipe.Possible })),
		silent("watched: threads that take turns", watched(time.Hour, 4*time.Second)),
		silent("watched: it was granted just now", watched(4*time.Second, time.Hour)),
		fires("it queued long ago, but has held only recently", twice(time.Hour, heldSince(time.Minute))),
		silent("a member node next to a candidate", twice(time.Hour, func(l *inspect.Lock) {
			l.Recipe, l.Waiters[1].Name = "sequential", "member-0000000002"
		})),
		silent("threads that share a session, by their labels", twice(time.Hour, func(l *inspect.Lock) {
			l.Holders[0].Owner.Label, l.Waiters[1].Owner.Label = "worker-1", "worker-2"
		})),
		fires("one thread of Redisson", thread("u", "1")),
		silent("another thread of Redisson", thread("u", "2")),
		silent("the same thread number elsewhere", thread("v", "1")),
		silent("different sessions", queue("go-zookeeper", 3)),
		silent("no sessions are known", with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Holders[0].Owner, l.Waiters[0].Owner, l.Waiters[1].Owner = inspect.Owner{}, inspect.Owner{}, inspect.Owner{}
		})),
		silent("it waits twice, and another holds",
			with(queue("go-zookeeper", 3), waiter(func(w *inspect.Contender) { w.Owner.Session = 3 }))),
		silent("a lease that is not granted yet",
			twice(time.Hour, func(l *inspect.Lock) { l.Waiters[1].State = inspect.Pending })),
		silent("it holds one of several leases", twice(time.Hour, func(l *inspect.Lock) {
			l.Kind, l.Limit = inspect.KindSemaphore, 2
			l.Holders = append(l.Holders, inspect.Contender{Name: "x", State: inspect.Holding, Owner: inspect.Owner{Session: 99}})
		})),
		silent("readers of one client",
			twice(time.Hour, func(l *inspect.Lock) { l.Holders[0].Mode, l.Waiters[1].Mode = recipe.Shared, recipe.Shared })),
	)
}

// A client has two waiting entries, and the first one has no watch.
func TestSelfWaitBehindItsLostEntry(t *testing.T) {
	t.Parallel()
	lost := func(changes ...func(*inspect.Lock)) *inspect.Lock { // session 1 holds, 2 waits twice, with 3 in between
		l := queue("go-zookeeper", 4)
		l.Waiters[2].Owner.Session = l.Waiters[0].Owner.Session
		l.Waiters[0].Watch, l.Waiters[1].Watch, l.Waiters[2].Watch = inspect.Missing, inspect.Confirmed, inspect.Confirmed
		return with(l, changes...)
	}
	must.Equal(t, len(diagnose(t, "missing-watch", lost())), 0, "findings of another rule")
	check(t, "self-wait",
		fires("behind its own lost entry", lost()),
		silent("behind an entry of its other thread",
			lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Confirmed })),
		silent("watches unknown", lost(func(l *inspect.Lock) { l.Waiters[0].Watch = inspect.Unconfirmed })),
		silent("neither watches: its client may be away",
			lost(func(l *inspect.Lock) { l.Waiters[2].Watch = inspect.Missing })),
		silent("another session's entry has lost its watch",
			lost(func(l *inspect.Lock) { l.Waiters[2].Owner.Session = 4 })),
		silent("the entry in front is a reader", lost(func(l *inspect.Lock) { l.Waiters[0].Mode = recipe.Shared })),
	)
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
		return present(present(l, func(c *inspect.Case) { c.Watches = &inspect.WatchTable{} }), changes...)
	}
	lock := func(change func(*inspect.Lock)) func(*inspect.Case) { return func(c *inspect.Case) { change(c.Lock) } }
	waiting := func(answer inspect.Confirmation, changes ...func(*inspect.Case)) inspect.Case { // the second in line watches a deleted node
		c := first("sequential", recipe.Likely)
		h, w := &c.Lock.Holders[0], &c.Lock.Waiters[0]
		h.Special, w.Special, w.Watch = w.Special, h.Special, answer
		c.Watches.ReadAt = c.Lock.ReadAt.Add(inspect.WatchSettle)
		return present(c, changes...)
	}
	facing := func(c *inspect.Case) {
		l := c.Lock
		l.Holders[0].WatchesGone = ""
		c.Watches.Sessions = map[string][]int64{l.Node(&l.Waiters[0]): {l.Holders[0].Owner.Session}}
	}
	blocksNone := func(h *inspect.Contender) { h.BlockedBelow = 0 }
	check(t, "lost-wakeup",
		fires("ZooKeeper's own WriteLock", first("zookeeper-recipes", recipe.Certain)),
		fires("no other waiters",
			first("zookeeper-recipes", recipe.Certain, lock(noWaiters), lock(holder(blocksNone)))),
		fires("plain nodes: its client may check the reply of exists", first("sequential", recipe.Likely)),
		fires("a waiter that does not watch its predecessor", waiting(inspect.Missing)),
		silent("a waiter that also watches the right one", waiting(inspect.Confirmed)),
		fires("a waiter of a lock that has been read again since",
			waiting(inspect.Missing, func(c *inspect.Case) { c.Watches.ReadAt = c.Lock.ReadAt.Add(-time.Second) })),
		silent("a waiter, but the table may be older than what it saw",
			waiting(inspect.Unconfirmed, func(c *inspect.Case) { c.Watches.ReadAt = c.Lock.ReadAt })),
		silent("the watches were not read",
			first("zookeeper-recipes", recipe.Certain, func(c *inspect.Case) { c.Watches = nil })),
		silent("it has no watch on a deleted node",
			first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Holders[0].WatchesGone = "" }))),
		silent("the deleted node was behind it", first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) {
			l.Holders[0].WatchesGone = "x-72057675180539904-0000000005"
		}))),
		fires("the first in line watches a waiter behind it", first("kazoo", recipe.Certain, facing)),
		silent("a leader watches a follower",
			first("kazoo", recipe.Certain, facing, lock(func(l *inspect.Lock) { l.Kind = inspect.KindElection }))),
		silent("its other thread waits, and may have left the watch",
			first("zookeeper-recipes", recipe.Certain, lock(func(l *inspect.Lock) { l.Waiters[0].Owner = l.Holders[0].Owner }))),
		silent("its client was killed", first("zookeeper-recipes", recipe.Certain, connected())),
		silent("its client may be reconnecting", first("zookeeper-recipes", recipe.Certain, reconnecting)),
	)
}
