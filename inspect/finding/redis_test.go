package finding

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// fair returns a Redisson fair lock on one master with three waiters.
func fair(changes ...func(*inspect.Lock)) *inspect.Lock {
	l := votes("a")
	l.Recipe, l.State = "redisson", inspect.StateContended
	for _, name := range []inspect.Untrusted{"u:1", "u:2", "u:3"} {
		l.Waiters = append(l.Waiters, inspect.Contender{Name: name, State: inspect.Waiting, ExpiresAt: now.Add(time.Minute)})
	}
	return with(l, changes...)
}

// deadAt makes a waiter dead.
func deadAt(i int) func(*inspect.Lock) { return func(l *inspect.Lock) { l.Waiters[i].Dead = true } }

// The history says that keys live for a minute, so a key with a minute left was just set.
func TestSplitQuorum(t *testing.T) {
	t.Parallel()
	never := votes("ab-")
	never.Masters[1].NoExpiry, never.Masters[1].ExpiresAt = true, time.Time{}
	check(t, "split-quorum",
		fires("two, two and one", votes("aabbc")),
		fires("a vote never expires", never),
		fires("a value that is not shown", with(votes("ab-"), func(l *inspect.Lock) { l.Masters[0].Digest = "d1" })),
		fires("unknown when they expire", with(votes("ab-"), func(l *inspect.Lock) {
			l.Masters[0].ExpiresAt, l.Masters[1].ExpiresAt = time.Time{}, time.Time{}
		})),
		fires("it lasts", votesFor("ab-", 30*time.Second), seen(history())),
		silent("just set: still being decided", votes("ab-"), seen(history())),
		silent("a quorum", votes("aaabb")),
		silent("one value short of a quorum", votes("aa---")),
		silent("the silent master could decide", votes("aabb!")),
		silent("free", votes("---")),
	)
}

func TestMinorityLeftover(t *testing.T) {
	t.Parallel()
	check(t, "minority-leftover",
		fires("one of three", votes("a--")),
		fires("it lasts", votesFor("-a-", 30*time.Second), seen(history())),
		fires("one of rueidislock's three keys", record("rueidislock:0:a", inspect.Vote{
			Addr: "r1", Up: true, Held: &recipe.Record{Recipe: "rueidislock", Kind: "mutex", Partial: []string{"v"}},
		})),
		silent("just set: its client asks the others", votes("a--"), seen(history())),
		silent("a quorum", votes("aa-")),
		silent("the silent masters could hold it too", votes("a!-")),
		silent("two values", votes("ab-")),
	)
}

func TestThinMargin(t *testing.T) {
	t.Parallel()
	check(t, "thin-margin",
		fires("three of five", votes("aaa-b")),
		fires("two of three", votes("aab")),
		fires("something else on one", votes("aaf")),
		fires("five of nine", votes("aaaaa----")),
		silent("just set: the others may follow", votes("aa-"), seen(history())),
		fires("it lasts", votesFor("aa-", 30*time.Second), seen(history())),
		silent("four of five", votes("aaaa-")),
		silent("a silent one may hold it: perhaps only we are cut off", votes("aaa-!")),
		silent("two silent ones, whose votes were seen before", votes("aaa!!"), seen(history())),
		silent("a single master", votes("a")),
		silent("two masters", votes("aa")),
		silent("no quorum at all", votes("a--")),
		silent("ZooKeeper has no masters", queue("kazoo", 1)),
	)
}

func TestNoTTL(t *testing.T) {
	t.Parallel()
	endless := func(masters, library string, never ...int) *inspect.Lock {
		list := votes(masters).Masters
		for _, i := range never {
			list[i].NoExpiry, list[i].ExpiresAt = true, time.Time{}
		}
		l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:a"}, list, now)
		l.Recipe, l.Confidence = library, recipe.Likely
		return l
	}
	guess := func(l *inspect.Lock) { l.Confidence = recipe.Possible }
	ended := func(l *inspect.Lock) { l.Masters[0].Value = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:1479560000123" }
	named := func(key string) func(*inspect.Lock) { return func(l *inspect.Lock) { l.ID.Path = key } }
	check(t, "no-ttl",
		silent("a counter, a flag or a cache", with(endless("a", "token", 0), guess, named("cache:a"))),
		silent("a block, a clock", with(endless("a", "token", 0), guess, named("block:clock:7"))),
		fires("a key whose name alone says that it is a lock",
			with(endless("a", "token", 0), guess, named("resque:resque_scheduler_master_lock"))),
		fires("a counter that the operator names", with(endless("a", "token", 0), named("cache:a"))),
		fires("a value like a library's", with(endless("a", "node-redlock", 0), guess)),
		fires("a key without expiry", endless("a", "custom", 0)),
		fires("redis-py writes none by default", endless("a", "redis-py", 0)),
		fires("on one of three masters", endless("aaa", "redsync", 1)),
		fires("a leftover", endless("a--", "redsync", 0)),
		fires("on a suspect target", endless("aaa", "redsync", 1), func(c *inspect.Case) {
			c.Spread = inspect.Spread{Masters: 3, Locks: 4, OnOne: 4, Used: 3}
		}),
		fires("the end in its value has passed", with(endless("a", "jedis-lock", 0), ended)),
		silent("keys with expiry", endless("aaa", "redsync")),
		silent("a foreign value", endless("f", "", 0)),
		silent("the permits of a Redisson semaphore", record("s", inspect.Vote{
			Addr: "r1", Up: true, Present: true, NoExpiry: true,
			Held: &recipe.Record{Recipe: "redisson", Kind: "semaphore", Opaque: true},
		})),
		silent("znodes have none",
			with(queue("shedlock", 1), holder(func(h *inspect.Contender) { h.NoExpiry = true }))),
	)
}

// renewing returns the history of a key renewed every ten seconds, most recently this long ago.
func renewing(ago time.Duration, changes ...func(*inspect.History)) *inspect.History {
	return history(append([]func(*inspect.History){func(h *inspect.History) {
		h.LongestTTL = 30 * time.Second
		h.Renewal = inspect.Renewal{Count: 9, Every: 10 * time.Second, Last: now.Add(-ago), TTL: 30 * time.Second}
	}}, changes...)...)
}

func TestRenewalStopped(t *testing.T) {
	t.Parallel()
	late := seen(renewing(26 * time.Second))
	unread := func(l *inspect.Lock) { l.ReadAt = now.Add(-2 * time.Second) }
	down := func(l *inspect.Lock) { l.Masters[0].Up = false }
	rare := func(h *inspect.History) { h.Renewal.Count = 2 }
	irregular := func(h *inspect.History) { h.Renewal.Every = 0 }
	check(t, "renewal-stopped",
		fires("two renewals were missed", votesFor("a", 4*time.Second), late),
		silent("late by two and a half intervals", votesFor("a", 5*time.Second), seen(renewing(25*time.Second))),
		silent("not read when it was due", with(votesFor("a", 4*time.Second), unread), late),
		silent("too few renewals for a rhythm", votesFor("a", 4*time.Second), seen(renewing(26*time.Second, rare))),
		silent("renewed without a rhythm", votesFor("a", 4*time.Second), seen(renewing(26*time.Second, irregular))),
		silent("never renewed", votesFor("a", 4*time.Second), seen(history())),
		silent("its TTL shows a renewal", votesFor("a", 28*time.Second), late),
		silent("the master is silent", with(votesFor("a", 4*time.Second), down), late),
		silent("it has expired", votesFor("a", -time.Second), seen(renewing(31*time.Second))),
		silent("it was released", votesFor("-", 0), late),
		silent("no history", votesFor("a", 4*time.Second)),
	)
}

func TestZombieRenewal(t *testing.T) {
	t.Parallel()
	held := func(d time.Duration, changes ...func(*inspect.Lock)) *inspect.Lock {
		return with(votesFor("a", 25*time.Second), append(changes, heldSince(d))...)
	}
	noHolds := func(h *inspect.History) { h.Holds = inspect.Spans{} }
	longHolds := func(h *inspect.History) { h.Holds.P99 = 10 * time.Minute }
	watchedForLong := func(h *inspect.History) { h.Since = now.Add(-time.Hour) }
	waiting := func(l *inspect.Lock) { l.State = inspect.StateContended }
	deadWaiter := func(l *inspect.Lock) { l.Waiters = fair(deadAt(0)).Waiters[:1] }
	perhaps := func(l *inspect.Lock) { l.KindConfidence = recipe.Possible }
	long := func(l *inspect.Lock) { l.ExpectedHold = 40 * time.Minute }
	check(t, "zombie-renewal",
		fires("renewed far longer than its holds last", held(time.Hour), seen(renewing(time.Second))),
		fires("others wait", held(time.Hour, waiting), seen(renewing(time.Second, noHolds))),
		silent("the waiter is most likely gone", held(time.Hour, deadWaiter), seen(renewing(time.Second, noHolds))),
		fires("held at the first read", votesFor("a", 25*time.Second), seen(renewing(time.Second, watchedForLong))),
		silent("no waiters, and nothing to compare with", held(time.Hour), seen(renewing(time.Second, noHolds))),
		silent("not for long", held(9*time.Minute, waiting), seen(renewing(time.Second))),
		silent("its holds last as long", held(time.Hour, waiting), seen(renewing(time.Second, longHolds))),
		silent("no longer renewed", held(time.Hour), seen(renewing(26*time.Second))),
		silent("a leader", held(time.Hour, waiting, asElection), seen(renewing(time.Second))),
		fires("perhaps a leader", held(time.Hour, waiting, asElection, perhaps), seen(renewing(time.Second, noHolds))),
		silent("within twice the expected time", held(time.Hour, waiting, long), seen(renewing(time.Second))),
		silent("no history", held(time.Hour, waiting)),
	)
}

// last sets when the key was last seen on the third master.
func last(ago time.Duration) func(*inspect.Lock) {
	return func(l *inspect.Lock) { l.Masters[2].LastPresent = now.Add(-ago) }
}

func TestMasterRestarted(t *testing.T) {
	t.Parallel()
	up := func(d time.Duration) func(*inspect.Case) {
		return func(c *inspect.Case) {
			c.Backend = &inspect.Backend{Kind: inspect.Redis, Servers: []inspect.Server{
				{Addr: "r1", StartedAt: now.Add(-time.Hour)},
				{Addr: "r2", StartedAt: now.Add(-time.Hour)},
				{Addr: "r3", StartedAt: now.Add(-d), Persistence: "none"},
			}}
		}
	}
	asked := func(d time.Duration) func(*inspect.Lock) {
		return holder(func(h *inspect.Contender) { h.Since = now.Add(-d) })
	}
	endless := func() *inspect.Lock {
		l := votes("aa-")
		for i := range 2 {
			l.Masters[i].NoExpiry = true
		}
		return l
	}
	recent := history(func(h *inspect.History) { h.LongestTTL = time.Minute })
	unknown := func(c *inspect.Case) { c.Backend = &inspect.Backend{Servers: []inspect.Server{{Addr: "r3"}}} }
	before := with(votesFor("aa-", 10*time.Second), heldSince(10*time.Second), last(31*time.Second))
	check(t, "master-restarted",
		fires("up for less than the key's TTL", with(votes("aa-"), heldSince(40*time.Second)), up(30*time.Second)),
		fires("less than the longest TTL seen",
			with(votesFor("aa-", 10*time.Second), last(31*time.Second)), up(30*time.Second), seen(history())),
		fires("it may never have been there", votes("aa-"), up(30*time.Second)),
		silent("watched since before, and never seen there",
			votesFor("aa-", 10*time.Second), up(30*time.Second), seen(history())),
		silent("released there after it started",
			with(votes("aa-"), last(10*time.Second)), up(30*time.Second), seen(history())),
		fires("requested before the start, by its value",
			with(votes("aa-"), asked(40*time.Second)), up(30*time.Second)),
		silent("requested after the start, by its value",
			with(votes("aa-"), asked(20*time.Second)), up(30*time.Second)),
		silent("it is just being taken", votes("a--"), up(30*time.Second)),
		silent("the others are about to follow", votes("aa-"), up(30*time.Second), seen(recent)),
		silent("up for longer than the key's TTL", votesFor("aa-", 10*time.Second), up(30*time.Second)),
		silent("it has the key", votes("aaa"), up(30*time.Second)),
		silent("no master has the key", votes("---"), up(30*time.Second), seen(history())),
		silent("it does not answer", votes("aa!"), up(30*time.Second)),
		silent("its start is unknown", votes("aa-"), unknown),
		silent("the servers are unknown", votes("aa-")),
		silent("the lock was taken after the restart", with(votes("aa-"), heldSince(10*time.Second)), up(30*time.Second)),
		silent("taken after the restart, held there by another before", before, up(30*time.Second), seen(history())),
		fires("taken before, never expires", with(endless(), heldSince(time.Hour)), up(30*time.Minute)),
		silent("never expires, taken at an unknown time", endless(), up(30*time.Minute)),
	)
}

func TestClockSkew(t *testing.T) {
	t.Parallel()
	clocks := func(kind inspect.BackendKind, latency time.Duration, offsets ...time.Duration) *inspect.Backend {
		b := &inspect.Backend{Kind: kind}
		for i, o := range offsets {
			b.Servers = append(b.Servers, inspect.Server{Addr: "r" + string(rune('1'+i)), Latency: latency, ClockOffset: o, ClockKnown: true})
		}
		return b
	}
	unknown := clocks(inspect.Redis, 0, time.Hour)
	unknown.Servers[0].ClockKnown = false
	slowly := clocks(inspect.Redis, time.Millisecond, -1400*time.Millisecond)
	slowly.Servers[0].ClockWithin = 1400 * time.Millisecond
	check(t, "clock-skew",
		silent("read slowly, and answers fast since", slowly),
		fires("ahead of ours", clocks(inspect.Redis, 0, 1100*time.Millisecond)),
		fires("behind ours", clocks(inspect.Redis, 0, -90*time.Second, 0)),
		fires("from each other", clocks(inspect.Redis, 0, 700*time.Millisecond, -700*time.Millisecond)),
		fires("it is ours", clocks(inspect.Redis, 0, time.Minute, time.Minute, time.Minute)),
		fires("ours is behind", clocks(inspect.Redis, 0, -time.Minute, -time.Minute, -time.Minute)),
		fires("ZooKeeper's is an estimate", clocks(inspect.ZooKeeper, 0, -5*time.Second)),
		silent("just a second", clocks(inspect.Redis, 0, time.Second)),
		silent("within half the round trip", clocks(inspect.Redis, 2*time.Second, 1900*time.Millisecond)),
		silent("between masters, within both round trips",
			clocks(inspect.Redis, time.Second, 900*time.Millisecond, -900*time.Millisecond)),
		silent("not known", unknown),
	)
}

func TestStaleFairQueue(t *testing.T) {
	t.Parallel()
	lapsed := func(i int, ago time.Duration) func(*inspect.Lock) {
		return func(l *inspect.Lock) { l.Waiters[i].ExpiresAt = now.Add(-ago) }
	}
	check(t, "stale-fair-queue",
		fires("the next waiter is dead", fair(deadAt(0))),
		fires("two later ones are dead", fair(deadAt(1), deadAt(2))),
		fires("a place has lapsed", fair(lapsed(0, 5*time.Second))),
		silent("a place is about to lapse", fair(lapsed(0, 500*time.Millisecond))),
		fires("a dead one's place lasts for hours", fair(deadAt(0), lapsed(0, -3*time.Hour))),
		silent("all live", fair()),
		silent("our own lock skips the dead",
			fair(deadAt(0), func(l *inspect.Lock) { l.Recipe = "lockscope" })),
		silent("another rule reports a dead holder",
			fair(holder(func(h *inspect.Contender) { h.Dead = true }))),
		silent("a queue on ZooKeeper",
			with(queue("kazoo", 2), waiter(func(w *inspect.Contender) { w.ExpiresAt = now.Add(-time.Hour) }))),
	)
}

func TestStarvation(t *testing.T) {
	t.Parallel()
	last := queue("curator", 3).Waiters[1].Name
	overtaken := func(n int, changes ...func(*inspect.History)) func(*inspect.Case) {
		return seen(history(append(changes, func(h *inspect.History) { h.Overtaken = map[inspect.Untrusted]int{last: n} })...))
	}
	waited := func(d time.Duration) *inspect.Lock {
		return with(queue("curator", 3), func(l *inspect.Lock) { l.Waiters[1].Since = now.Add(-d) })
	}
	check(t, "starvation",
		fires("overtaken ten times", waited(time.Second), overtaken(10)),
		fires("overtaken once, and waiting for long", waited(30*time.Second), overtaken(1)),
		silent("overtaken nine times", waited(time.Second), overtaken(9)),
		silent("waiting for long, but not overtaken", waited(time.Hour), overtaken(0)),
		silent("waiting for long, but the usual time is unknown",
			waited(time.Hour), overtaken(1, func(h *inspect.History) { h.Waits.Count = 5 })),
		silent("the overtaken one is gone", queue("curator", 2), overtaken(50)),
		silent("no history", waited(time.Hour)),
	)
}

func TestEvictionRisk(t *testing.T) {
	t.Parallel()
	server := func(addr string, most int64, policy string) inspect.Server {
		return inspect.Server{Addr: addr, MaxMemory: most, EvictionPolicy: policy}
	}
	check(t, "eviction-risk",
		fires("allkeys", onRedis(server("r1", 256<<20, "allkeys-lru"), server("r2", 1<<30, "volatile-ttl"))),
		fires("three",
			onRedis(server("r1", 1, "allkeys-lru"), server("r2", 1, "allkeys-lru"), server("r3", 1, "allkeys-lru"))),
		fires("volatile", onRedis(server("r1", 1, "volatile-lru"))),
		silent("noeviction", onRedis(server("r1", 1<<30, "noeviction"))),
		silent("no limit", onRedis(server("r1", 0, "allkeys-lru"))),
		silent("the policy is not known", onRedis(server("r1", 1<<30, ""))),
	)
}

func TestForeignValue(t *testing.T) {
	t.Parallel()
	check(t, "foreign-value",
		fires("a hash on one master", votes("aaf")),
		silent("on every master, in a single read: it is not a lock", votes("fff")),
		fires("on every master", votes("fff"), seen(history())),
		silent("locks only", votes("aa-")),
		silent("a silent master", votes("aa!")),
	)
}
