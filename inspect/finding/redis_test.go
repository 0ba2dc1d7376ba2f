package finding

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// fair returns a Redisson fair lock on one master with three waiters.
func fair(changes ...func(*inspect.Lock)) *inspect.Lock {
	l := votes("a", time.Minute)
	l.Recipe, l.State = "redisson", inspect.StateContended
	for _, name := range []inspect.Untrusted{"u:1", "u:2", "u:3"} {
		l.Waiters = append(l.Waiters, inspect.Contender{Name: name, State: inspect.Waiting, ExpiresAt: now.Add(time.Minute)})
	}
	return with(l, changes...)
}

func deadAt(i int) func(*inspect.Lock) { return func(l *inspect.Lock) { l.Waiters[i].Dead = true } }

// The history says that keys live for a minute, so a key with a minute left was just set.
func TestSplitQuorum(t *testing.T) {
	t.Parallel()
	check(t, "split-quorum", []state{
		{
			name: "two, two and one", c: present(votes("aabbc", time.Minute)), fires: true, severity: inspect.Critical, confidence: recipe.Certain,
			has: []string{"5 masters (2·2·1, needs 3)"}, evidence: map[string]any{"ballot": "2·2·1", "quorum": 3},
		},
		{name: "it lasts", c: present(votes("ab-", 30*time.Second), seen(history())), fires: true, severity: inspect.Critical, confidence: recipe.Certain},
		{name: "just set: still being decided", c: present(votes("ab-", time.Minute), seen(history()))},
		{name: "a quorum", c: present(votes("aaabb", time.Minute))},
		{name: "one value short of a quorum", c: present(votes("aa---", time.Minute))},
		{name: "the silent master could decide", c: present(votes("aabb!", time.Minute))},
		{name: "free", c: present(votes("---", time.Minute))},
	})
	never := votes("ab-", time.Minute)
	never.Masters[1].NoExpiry, never.Masters[1].ExpiresAt = true, time.Time{}
	if f := diagnose(t, "split-quorum", present(never)); !strings.Contains(f[0].Advice(), "release redis:lock:a --owner b --waiter") || f[0].Evidence["never_expires"] != true {
		t.Errorf("no release of the vote that never expires: %s", f[0].Advice())
	}
}

func TestMinorityLeftover(t *testing.T) {
	t.Parallel()
	check(t, "minority-leftover", []state{
		{
			name: "one of three", c: present(votes("a--", time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"a is on only 1 of 3 masters"}, evidence: map[string]any{"value": "a", "votes": 1, "quorum": 2, "expires_at": stamp(now.Add(time.Minute))},
		},
		{name: "it lasts", c: present(votes("-a-", 30*time.Second), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{
			name: "one of rueidislock's three keys", fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"v has too few of the lock's keys on r1"},
			c: present(inspect.KeyLock(inspect.ID{Backend: "redis", Path: "rueidislock:0:a"}, []inspect.Vote{{
				Addr: "r1", Up: true, Held: &recipe.Record{Recipe: "rueidislock", Kind: "mutex", Partial: []string{"v"}},
			}}, now)),
		},
		{name: "just set: its client asks the others", c: present(votes("a--", time.Minute), seen(history()))},
		{name: "a quorum", c: present(votes("aa-", time.Minute))},
		{name: "the silent masters could hold it too", c: present(votes("a!-", time.Minute))},
		{name: "two values", c: present(votes("ab-", time.Minute))},
	})
}

func TestThinMargin(t *testing.T) {
	t.Parallel()
	check(t, "thin-margin", []state{
		{
			name: "three of five", c: present(votes("aaa-b", time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has:      []string{"only 3 of 5 masters", "r4 absent, r5 other value"},
			evidence: map[string]any{"votes": 3, "quorum": 3, "without": []map[string]any{{"addr": "r4", "says": "absent"}, {"addr": "r5", "says": "b"}}},
		},
		{name: "two of three", c: present(votes("aab", time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"r3 other value"}},
		{name: "just set: the others may follow", c: present(votes("aa-", time.Minute), seen(history()))},
		{name: "it lasts", c: present(votes("aa-", 30*time.Second), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "four of five", c: present(votes("aaaa-", time.Minute))},
		{name: "a silent one may hold it: perhaps only we are cut off", c: present(votes("aaa-!", time.Minute))},
		{name: "two silent ones, whose votes were seen before", c: present(votes("aaa!!", time.Minute), seen(history()))},
		{name: "a single master", c: present(votes("a", time.Minute))},
		{name: "two masters", c: present(votes("aa", time.Minute))},
		{name: "no quorum at all", c: present(votes("a--", time.Minute))},
		{name: "ZooKeeper has no masters", c: present(queue("kazoo", 1))},
	})
}

func TestNoTTL(t *testing.T) {
	t.Parallel()
	endless := func(masters, library string, never ...int) inspect.Case {
		list := votes(masters, time.Minute).Masters
		for _, i := range never {
			list[i].NoExpiry, list[i].ExpiresAt = true, time.Time{}
		}
		l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:a"}, list, now)
		l.Recipe, l.Confidence = library, recipe.Likely
		return present(l)
	}
	guess := func(c inspect.Case) inspect.Case { c.Lock.Confidence = recipe.Possible; return c }
	valued := func(c inspect.Case, value inspect.Untrusted) inspect.Case { c.Lock.Masters[0].Value = value; return c }
	renamed := func(c inspect.Case, key string) inspect.Case { c.Lock.ID.Path = key; return c }
	check(t, "no-ttl", []state{
		{name: "a counter, a flag or a cache", c: renamed(guess(endless("a", "token", 0)), "cache:a")},
		{name: "a block, a clock", c: renamed(guess(endless("a", "token", 0)), "block:clock:7")},
		{
			name: "a key whose name alone says that it is a lock", c: renamed(guess(endless("a", "token", 0)), "resque:resque_scheduler_master_lock"), fires: true,
			severity: inspect.Info, confidence: recipe.Possible, advice: "find out what writes it",
		},
		{name: "a counter that the operator names", c: renamed(endless("a", "token", 0), "cache:a"), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "a value like a library's", c: guess(endless("a", "node-redlock", 0)), fires: true, severity: inspect.Info, confidence: recipe.Possible, advice: "find out what writes it"},
		{
			name: "a key without expiry", c: endless("a", "custom", 0), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"a never expires"}, evidence: map[string]any{"contender": "a", "masters": []string{"r1"}},
		},
		{name: "redis-py writes none by default", c: endless("a", "redis-py", 0), fires: true, severity: inspect.Info, confidence: recipe.Certain},
		{name: "on one of three masters", c: endless("aaa", "redsync", 1), fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"masters": []string{"r2"}}},
		{name: "a leftover", c: endless("a--", "redsync", 0), fires: true, severity: inspect.Warning, confidence: recipe.Certain, evidence: map[string]any{"value": "a"}},
		{
			name: "the end in its value has passed", c: valued(endless("a", "jedis-lock", 0), "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:1479560000123"), fires: true,
			severity: inspect.Info, confidence: recipe.Certain, has: []string{"in the value", "has passed"},
		},
		{name: "keys with expiry", c: endless("aaa", "redsync")},
		{name: "a foreign value", c: endless("f", "", 0)},
		{name: "the permits of a Redisson semaphore", c: present(inspect.KeyLock(inspect.ID{Backend: "redis", Path: "s"}, []inspect.Vote{{
			Addr: "r1", Up: true, Present: true, NoExpiry: true, Held: &recipe.Record{Recipe: "redisson", Kind: "semaphore", Opaque: true},
		}}, now))},
		{name: "znodes have none", c: present(with(queue("shedlock", 1), holder(func(h *inspect.Contender) { h.NoExpiry = true })))},
	})
}

// renewing returns the history of a key renewed every ten seconds, most recently this long ago.
func renewing(ago time.Duration, changes ...func(*inspect.History)) *inspect.History {
	return past(append([]func(*inspect.History){func(h *inspect.History) {
		h.LongestTTL = 30 * time.Second
		h.Renewal = inspect.Renewal{Count: 9, Every: 10 * time.Second, Last: now.Add(-ago), TTL: 30 * time.Second}
	}}, changes...)...)
}

func TestRenewalStopped(t *testing.T) {
	t.Parallel()
	check(t, "renewal-stopped", []state{
		{
			name: "two renewals were missed", c: present(votes("a", 4*time.Second), seen(renewing(26*time.Second))), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has:      []string{"every 10s and then stopped: the key expires at 03:14:19 UTC"},
			evidence: map[string]any{"renewals": 9, "every_ms": int64(10000), "last_renewal": stamp(now.Add(-26 * time.Second))},
		},
		{name: "late by two and a half intervals", c: present(votes("a", 5*time.Second), seen(renewing(25*time.Second)))},
		{name: "not read when it was due", c: present(with(votes("a", 4*time.Second), func(l *inspect.Lock) { l.ReadAt = now.Add(-2 * time.Second) }), seen(renewing(26*time.Second)))},
		{name: "too few renewals for a rhythm", c: present(votes("a", 4*time.Second), seen(renewing(26*time.Second, func(h *inspect.History) { h.Renewal.Count = 2 })))},
		{name: "never renewed", c: present(votes("a", 4*time.Second), seen(history()))},
		{name: "its TTL shows a renewal", c: present(votes("a", 28*time.Second), seen(renewing(26*time.Second)))},
		{name: "the master is silent", c: present(with(votes("a", 4*time.Second), func(l *inspect.Lock) { l.Masters[0].Up = false }), seen(renewing(26*time.Second)))},
		{name: "it has expired", c: present(votes("a", -time.Second), seen(renewing(31*time.Second)))},
		{name: "it was released", c: present(votes("-", 0), seen(renewing(26*time.Second)))},
		{name: "no history", c: present(votes("a", 4*time.Second))},
	})
}

func TestZombieRenewal(t *testing.T) {
	t.Parallel()
	held := func(d time.Duration, changes ...func(*inspect.Lock)) *inspect.Lock {
		return with(votes("a", 25*time.Second), append(changes, holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-d) }))...)
	}
	noHolds := func(h *inspect.History) { h.Holds = inspect.Spans{} }
	waiting := func(l *inspect.Lock) { l.State = inspect.StateContended }
	check(t, "zombie-renewal", []state{
		{
			name: "renewed far longer than its holds last", c: present(held(time.Hour), seen(renewing(time.Second))), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"every 10s, past the limit of 10m, usually at most 1.0s"}, evidence: map[string]any{"hold_p99_ms": int64(1000), "held_over": "1h"},
		},
		{name: "others wait", c: present(held(time.Hour, waiting), seen(renewing(time.Second, noHolds))), fires: true, severity: inspect.Warning, confidence: recipe.Possible},
		{name: "the waiter is most likely gone", c: present(held(time.Hour, func(l *inspect.Lock) { l.Waiters = fair(deadAt(0)).Waiters[:1] }), seen(renewing(time.Second, noHolds)))},
		{
			name: "held at the first read", c: present(votes("a", 25*time.Second), seen(renewing(time.Second, func(h *inspect.History) { h.Since = now.Add(-time.Hour) }))),
			fires: true, severity: inspect.Warning, confidence: recipe.Likely,
		},
		{name: "no waiters, and nothing to compare with", c: present(held(time.Hour), seen(renewing(time.Second, noHolds)))},
		{name: "not for long", c: present(held(9*time.Minute, waiting), seen(renewing(time.Second)))},
		{name: "its holds last as long", c: present(held(time.Hour, waiting), seen(renewing(time.Second, func(h *inspect.History) { h.Holds.P99 = 10 * time.Minute })))},
		{name: "no longer renewed", c: present(held(time.Hour), seen(renewing(26*time.Second)))},
		{name: "a leader", c: present(held(time.Hour, waiting, func(l *inspect.Lock) { l.Kind = inspect.KindElection }), seen(renewing(time.Second)))},
		{
			name: "perhaps a leader", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: present(held(time.Hour, waiting, func(l *inspect.Lock) { l.Kind, l.KindConfidence = inspect.KindElection, recipe.Possible }), seen(renewing(time.Second, noHolds))),
		},
		{name: "within twice the expected time", c: present(held(time.Hour, waiting, func(l *inspect.Lock) { l.ExpectedHold = 40 * time.Minute }), seen(renewing(time.Second)))},
		{name: "no history", c: present(held(time.Hour, waiting))},
	})
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
	since := func(d time.Duration) func(*inspect.Lock) {
		return holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-d) })
	}
	asked := func(d time.Duration) func(*inspect.Lock) {
		return holder(func(h *inspect.Contender) { h.Since = now.Add(-d) })
	}
	endless := func() *inspect.Lock {
		l := votes("aa-", time.Minute)
		for i := range 2 {
			l.Masters[i].NoExpiry = true
		}
		return l
	}
	check(t, "master-restarted", []state{
		{
			name: "up for less than the key's TTL", c: present(with(votes("aa-", time.Minute), since(40*time.Second)), up(30*time.Second)), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"r3 restarted at 03:13:45 UTC and lost this key"}, evidence: map[string]any{"master": "r3", "persistence": "none", "votes": 2, "quorum": 2},
		},
		{
			name: "less than the longest TTL seen", c: present(with(votes("aa-", 10*time.Second), last(31*time.Second)), up(30*time.Second), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			evidence: map[string]any{"longest_ttl_ms": int64(60000)},
		},
		{
			name: "it may never have been there", c: present(votes("aa-", time.Minute), up(30*time.Second)), fires: true, severity: inspect.Warning, confidence: recipe.Possible,
			has: []string{"r3 has been up since 03:13:45 UTC"},
		},
		{name: "watched since before, and never seen there", c: present(votes("aa-", 10*time.Second), up(30*time.Second), seen(history()))},
		{name: "released there after it started", c: present(with(votes("aa-", time.Minute), last(10*time.Second)), up(30*time.Second), seen(history()))},
		{name: "requested before the start, by its value", c: present(with(votes("aa-", time.Minute), asked(40*time.Second)), up(30*time.Second)), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "requested after the start, by its value", c: present(with(votes("aa-", time.Minute), asked(20*time.Second)), up(30*time.Second))},
		{name: "it is just being taken", c: present(votes("a--", time.Minute), up(30*time.Second))},
		{name: "the others are about to follow", c: present(votes("aa-", time.Minute), up(30*time.Second), seen(past(func(h *inspect.History) { h.LongestTTL = time.Minute })))},
		{name: "up for longer than the key's TTL", c: present(votes("aa-", 10*time.Second), up(30*time.Second))},
		{name: "it has the key", c: present(votes("aaa", time.Minute), up(30*time.Second))},
		{name: "no master has the key", c: present(votes("---", time.Minute), up(30*time.Second), seen(history()))},
		{name: "it does not answer", c: present(votes("aa!", time.Minute), up(30*time.Second))},
		{name: "its start is unknown", c: present(votes("aa-", time.Minute), func(c *inspect.Case) { c.Backend = &inspect.Backend{Servers: []inspect.Server{{Addr: "r3"}}} })},
		{name: "the servers are unknown", c: present(votes("aa-", time.Minute))},
		{name: "the lock was taken after the restart", c: present(with(votes("aa-", time.Minute), since(10*time.Second)), up(30*time.Second))},
		{name: "taken after the restart, held there by another before", c: present(with(votes("aa-", 10*time.Second), since(10*time.Second), last(31*time.Second)), up(30*time.Second), seen(history()))},
		{name: "taken before, never expires", c: present(with(endless(), since(time.Hour)), up(30*time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "never expires, taken at an unknown time", c: present(endless(), up(30*time.Minute))},
	})
}

func TestClockSkew(t *testing.T) {
	t.Parallel()
	clocks := func(kind inspect.BackendKind, latency time.Duration, offsets ...time.Duration) inspect.Case {
		b := &inspect.Backend{Kind: kind}
		for i, o := range offsets {
			b.Servers = append(b.Servers, inspect.Server{Addr: "r" + string(rune('1'+i)), Latency: latency, ClockOffset: o, ClockKnown: true})
		}
		return inspect.Case{Backend: b, Now: now}
	}
	unknown := clocks(inspect.Redis, 0, time.Hour)
	unknown.Backend.Servers[0].ClockKnown = false
	slowly := clocks(inspect.Redis, time.Millisecond, -1400*time.Millisecond)
	slowly.Backend.Servers[0].ClockWithin = 1400 * time.Millisecond
	check(t, "clock-skew", []state{
		{name: "read slowly, and answers fast since", c: slowly},
		{
			name: "ahead of ours", c: clocks(inspect.Redis, 0, 1100*time.Millisecond), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"r1's clock is 1.1s ahead of ours"}, evidence: map[string]any{"apart_ms": int64(1100), "between": []string{"r1"}},
		},
		{name: "behind ours", c: clocks(inspect.Redis, 0, -90*time.Second, 0), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"1m30s"}},
		{
			name: "from each other", c: clocks(inspect.Redis, 0, 700*time.Millisecond, -700*time.Millisecond), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"the clocks of r2 and r1 are 1.4s apart"},
		},
		{name: "it is ours", c: clocks(inspect.Redis, 0, time.Minute, time.Minute, time.Minute), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"our own clock", "behind all 3 servers"}},
		{name: "ZooKeeper's is an estimate", c: clocks(inspect.ZooKeeper, 0, -5*time.Second), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"do not depend on it"}},
		{name: "just a second", c: clocks(inspect.Redis, 0, time.Second)},
		{name: "within half the round trip", c: clocks(inspect.Redis, 2*time.Second, 1900*time.Millisecond)},
		{name: "between masters, within both round trips", c: clocks(inspect.Redis, time.Second, 900*time.Millisecond, -900*time.Millisecond)},
		{name: "not known", c: unknown},
	})
}

func TestStaleFairQueue(t *testing.T) {
	t.Parallel()
	lapsed := func(i int, ago time.Duration) func(*inspect.Lock) {
		return func(l *inspect.Lock) { l.Waiters[i].ExpiresAt = now.Add(-ago) }
	}
	check(t, "stale-fair-queue", []state{
		{
			name: "the next waiter is dead", c: present(fair(deadAt(0))), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"the next in turn, u:1, is most likely gone and holds up the queue; stale: 1 of 3"}, evidence: map[string]any{"head": true, "stale": 1, "contenders": []string{"u:1"}},
		},
		{name: "two later ones are dead", c: present(fair(deadAt(1), deadAt(2))), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"2 of 3 waiters are most likely gone (first u:2)"}, evidence: map[string]any{"head": false}},
		{name: "a place has lapsed", c: present(fair(lapsed(0, 5*time.Second))), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"past due"}, evidence: map[string]any{"lapsed_since": stamp(now.Add(-5 * time.Second))}},
		{name: "a place is about to lapse", c: present(fair(lapsed(0, 500*time.Millisecond)))},
		{name: "a dead one's place lasts for hours", c: present(fair(deadAt(0), lapsed(0, -3*time.Hour))), fires: true, severity: inspect.Warning, confidence: recipe.Likely, advice: "do not wait: the place of the first lasts until"},
		{name: "all live", c: present(fair())},
		{name: "our own lock skips the dead", c: present(fair(deadAt(0), func(l *inspect.Lock) { l.Recipe = "lockscope" }))},
		{name: "another rule reports a dead holder", c: present(fair(holder(func(h *inspect.Contender) { h.Dead = true })))},
		{name: "a queue on ZooKeeper", c: present(with(queue("kazoo", 2), waiter(func(w *inspect.Contender) { w.ExpiresAt = now.Add(-time.Hour) })))},
	})
}

func TestStarvation(t *testing.T) {
	t.Parallel()
	last := queue("curator", 3).Waiters[1].Name
	overtaken := func(n int, changes ...func(*inspect.History)) func(*inspect.Case) {
		return seen(past(append(changes, func(h *inspect.History) { h.Overtaken = map[inspect.Untrusted]int{last: n} })...))
	}
	waited := func(d time.Duration) *inspect.Lock {
		return with(queue("curator", 3), func(l *inspect.Lock) { l.Waiters[1].Since = now.Add(-d) })
	}
	check(t, "starvation", []state{
		{
			name: "overtaken ten times", c: present(waited(time.Second), overtaken(10)), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"overtaken 10 times"}, evidence: map[string]any{"overtaken": 10, "starving": 1, "session": "0x3"},
		},
		{
			name: "overtaken once, and waiting for long", c: present(waited(30*time.Second), overtaken(1)), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"overtaken 1 time, waiting for over 30s, usually at most 1.0s"},
		},
		{name: "overtaken nine times", c: present(waited(time.Second), overtaken(9))},
		{name: "waiting for long, but not overtaken", c: present(waited(time.Hour), overtaken(0))},
		{name: "waiting for long, but the usual time is unknown", c: present(waited(time.Hour), overtaken(1, func(h *inspect.History) { h.Waits.Count = 5 }))},
		{name: "the overtaken one is gone", c: present(queue("curator", 2), overtaken(50))},
		{name: "no history", c: present(waited(time.Hour))},
	})
}

func TestEvictionRisk(t *testing.T) {
	t.Parallel()
	full := func(servers ...inspect.Server) inspect.Case {
		return inspect.Case{Backend: &inspect.Backend{Kind: inspect.Redis, Servers: servers}, Now: now}
	}
	check(t, "eviction-risk", []state{
		{
			name: "allkeys", c: full(inspect.Server{Addr: "r1", MaxMemory: 256 << 20, EvictionPolicy: "allkeys-lru"}, inspect.Server{Addr: "r2", MaxMemory: 1 << 30, EvictionPolicy: "volatile-ttl"}), fires: true,
			severity: inspect.Warning, confidence: recipe.Certain, has: []string{"r1 evicts keys when its memory is full (allkeys-lru, 256 MiB), and so does 1 other"},
			evidence: map[string]any{"servers": []map[string]any{
				{"addr": "r1", "policy": "allkeys-lru", "maxmemory": int64(256 << 20)}, {"addr": "r2", "policy": "volatile-ttl", "maxmemory": int64(1 << 30)},
			}},
		},
		{
			name: "three", c: full(inspect.Server{Addr: "r1", MaxMemory: 1, EvictionPolicy: "allkeys-lru"}, inspect.Server{Addr: "r2", MaxMemory: 1, EvictionPolicy: "allkeys-lru"}, inspect.Server{Addr: "r3", MaxMemory: 1, EvictionPolicy: "allkeys-lru"}), fires: true,
			severity: inspect.Warning, confidence: recipe.Certain, has: []string{"(allkeys-lru, 1 B), and so do 2 others: a held lock may vanish"},
		},
		{name: "volatile", c: full(inspect.Server{Addr: "r1", MaxMemory: 1, EvictionPolicy: "volatile-lru"}), fires: true, severity: inspect.Warning, confidence: recipe.Certain},
		{name: "noeviction", c: full(inspect.Server{Addr: "r1", MaxMemory: 1 << 30, EvictionPolicy: "noeviction"})},
		{name: "no limit", c: full(inspect.Server{Addr: "r1", EvictionPolicy: "allkeys-lru"})},
		{name: "the policy is not known", c: full(inspect.Server{Addr: "r1", MaxMemory: 1 << 30})},
	})
}

func TestForeignValue(t *testing.T) {
	t.Parallel()
	check(t, "foreign-value", []state{
		{
			name: "a hash on one master", c: present(votes("aaf", time.Minute)), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"a hash under this key on r3 is not a lock"}, evidence: map[string]any{"masters": []map[string]any{{"addr": "r3", "type": "hash"}}},
		},
		{name: "on every master, in a single read: it is not a lock", c: present(votes("fff", time.Minute))},
		{name: "on every master", c: present(votes("fff", time.Minute), seen(history())), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"r1 and 2 others"}},
		{name: "locks only", c: present(votes("aa-", time.Minute))},
		{name: "a silent master", c: present(votes("aa!", time.Minute))},
	})
}
