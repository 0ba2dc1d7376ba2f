package redissource_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// deniable lists commands whose refusal must make only the dependent facts unknown.
var deniable = []string{
	"scan", "type", "exists", "pttl", "getrange", "hscan", "sscan", "zrange", "lrange", "memory|usage",
	"time", "info", "hello", "client|list", "pubsub|numsub", "pubsub|shardnumsub",
}

var (
	shortLife  = regexp.MustCompile(`\b(PX|EX|PEXPIRE \S+) \d+`)
	shortScore = regexp.MustCompile(`\+\d+s\b`)
)

// writeAll writes a lock of every recipe, each under its own name, with an expiry of at least an
// hour. It returns a config that finds them all.
func writeAll(t *testing.T, m *servertest.Redis) redissource.Config {
	t.Helper()
	c := m.Client(t)
	for i, w := range states(t) {
		lasting := shortScore.ReplaceAllString(shortLife.ReplaceAllString(w.commands, "$1 3600000"), "+3600s")
		run(t, c, named(lasting, fmt.Sprintf("n%d", i)))
	}
	cfg := config(m)
	cfg.Match = nil
	return cfg
}

// diagnosed reads a backend once, with all findings.
func diagnosed(t *testing.T, cfg redissource.Config) *inspect.Snapshot {
	t.Helper()
	cfg.Once = true
	o := inspect.NewObserver(time.Now, redissource.New(cfg))
	o.Diagnose(finding.Rules(), 10*time.Minute)
	must.Be(t, o.Run(context.Background()), nil)
	return o.Snapshot()
}

// The test denies every command, every pair, and three that show whether a key exists, for every
// recipe.
func TestDeniedReadsAreUnknown(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c, cfg := m.Client(t), writeAll(t, m)
	all := diagnosed(t, cfg)
	if n := len(slices.Collect(all.Locks())); n < len(states(t)) {
		t.Fatalf("%d locks, want at least one for each of %d recipes", n, len(states(t)))
	}
	sets := [][]string{{"exists", "pttl", "type"}}
	for i, a := range deniable {
		sets = append(sets, []string{a})
		for _, b := range deniable[i+1:] {
			sets = append(sets, []string{a, b})
		}
	}
	var g errgroup.Group
	g.SetLimit(12) // most of the time goes to waiting before a death is confirmed
	for i, denied := range sets {
		g.Go(func() error {
			user, without := fmt.Sprintf("viewer%d", i), "without "+strings.Join(denied, ", ")
			rules := []string{"on", ">pw", "~*", "&*", "+@all"}
			var rights []string
			for _, d := range denied {
				rules, rights = append(rules, "-"+d), append(rights, "+"+d)
			}
			if err := c.ACLSetUser(t.Context(), user, rules...).Err(); err != nil {
				return err
			}
			cfg := cfg
			cfg.Masters = []*redis.UniversalOptions{{Addrs: []string{m.Addr}, Username: user, Password: "pw"}}
			some := diagnosed(t, cfg)
			wantNoContradiction(t, without, all, some, rights)
			for l := range some.Locks() {
				if n := c.Exists(t.Context(), l.ID.Path).Val(); n == 0 && all.Lock(l.ID) == nil {
					t.Errorf("%s: %s is listed but has no key", without, l.ID)
				}
			}
			return nil
		})
	}
	must.Succeed(t, g.Wait())
}

// An unknown command does not mean an empty result: something is unknown, and nothing is wrong. What EXISTS, MEMORY and
// TIME tell is not part of a lock.
func TestRenamedCommandsAreUnknown(t *testing.T) {
	t.Parallel()
	const commands = "SCAN TYPE PTTL GETRANGE HSCAN SSCAN ZRANGE LRANGE MEMORY TIME INFO CLIENT PUBSUB EXISTS"
	for name := range strings.FieldsSeq(commands) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, renamed := servertest.StartRedis(t), servertest.StartRedis(t, "--rename-command", name, "\"\"")
			all, some := diagnosed(t, writeAll(t, full)), diagnosed(t, writeAll(t, renamed))
			wantNoContradiction(t, name, all, some, []string{name, strings.ToLower(name)})
			unknown := len(some.Backends[0].Unseen)
			for l := range some.Locks() {
				unknown += len(l.Unseen)
			}
			must.Equal(t, unknown > 0, !slices.Contains([]string{"EXISTS", "MEMORY", "TIME"}, name), "something is unknown")
		})
	}
}

// wantNoContradiction compares some with all, which was read with every right. It reports facts that contradict
// all, and unknowns that do not name one of the missing rights.
func wantNoContradiction(t *testing.T, about string, all, some *inspect.Snapshot, rights []string) {
	t.Helper()
	b := some.Backends[0]
	must.True(t, b.State != inspect.Down, about, "the backend is down:", b.Error)
	unnamed := func(what any, unseen []inspect.Unseen) {
		for _, u := range unseen {
			if !slices.ContainsFunc(rights, func(r string) bool { return strings.Contains(u.Right, r) }) {
				t.Errorf("%s: %v: what is unseen names none of the rights: %+v", about, what, u)
			}
		}
	}
	unnamed("the backend", b.Unseen)
	for l := range all.Locks() {
		if now := some.Lock(l.ID); now != nil {
			contradictions(t, about, l, now)
			unnamed(l.ID, now.Unseen)
		} else if !b.Unknown(inspect.AspectLocks) {
			t.Errorf("%s: %s vanished", about, l.ID)
		}
	}
	for l := range some.Locks() {
		if all.Lock(l.ID) == nil && l.State != inspect.StateUnknown {
			t.Errorf("%s: %s appeared as %s", about, l.ID, l.State)
		}
	}
}

// contradictions reports facts about a lock now that contradict what it was when everything was read.
func contradictions(t *testing.T, about string, was, now *inspect.Lock) {
	t.Helper()
	say := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s %s", about, now.ID, fmt.Sprintf(format, args...))
	}
	holders := now.Unknown(inspect.AspectHolders)
	waiters := now.Unknown(inspect.AspectWaiters)
	switch {
	case now.State == was.State, now.State == inspect.StateUnknown && holders:
	case now.State == inspect.StateHeld && was.State == inspect.StateContended && waiters:
	default:
		say("is %s, was %s: %+v", now.State, was.State, now.Unseen)
	}
	if now.Kind != was.Kind && !now.Unknown(inspect.AspectKind) && !holders {
		say("is a %s, was a %s", now.Kind, was.Kind)
	}
	if now.WaitersAtLeast < was.WaitersAtLeast && !waiters {
		say("%d wait, were %d", now.WaitersAtLeast, was.WaitersAtLeast)
	}
	for i, m := range now.Masters {
		if m.Foreign && !was.Masters[i].Foreign {
			say("is foreign: %s", m.Value)
		}
	}
	for _, c := range slices.Concat(was.Holders, was.Waiters) {
		unknown := holders
		if c.State == inspect.Waiting {
			unknown = waiters
		}
		if _, ok := now.Contender(c.Name); !ok && !unknown {
			say("lost %s %s", c.State, c.Name)
		}
	}
	for _, c := range slices.Concat(now.Holders, now.Waiters) {
		before, ok := was.Contender(c.Name)
		switch {
		case !ok:
			say("has %s %s", c.State, c.Name)
		case c.Dead && !before.Dead:
			say("%s is dead", c.Name)
		case c.NoExpiry && !before.NoExpiry:
			say("%s never expires", c.Name)
		case c.ExpiresAt.IsZero() && !before.ExpiresAt.IsZero() && !now.Unknown(inspect.AspectExpiry) && !waiters:
			say("%s has no expiry", c.Name)
		}
	}
	for _, f := range now.Findings {
		if _, known := rulesOf(was)[f.Rule]; f.Rule != "blind" && !known {
			say("has a new finding %s: %s", f.Rule, f.Message)
		}
	}
}

// Without the right to a helper key, the waiters are unknown and the right's pattern is reported.
func TestUnreadableHelperKeysHideWaiters(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	cfg := writeAll(t, m)
	cfg.Match = []string{"orders-*", "redisson_lock_queue:*", "lock:*"}
	all := diagnosed(t, cfg)
	limited := viewed(t, m, "resetkeys ~orders-* ~lock:*")
	limited.Match = cfg.Match
	some := diagnosed(t, limited)
	wantNoContradiction(t, "without helper keys", all, some, []string{"~"})
	fair := lockAt(some, "orders-n1")
	if fair == nil || !slices.ContainsFunc(fair.Unseen, func(u inspect.Unseen) bool {
		return u.Aspect == inspect.AspectWaiters && u.Right == "~redisson_lock_queue:{*}" && u.Read == "LRANGE"
	}) {
		t.Errorf("fair lock: %+v", fair)
	}
}

// A helper key may belong to x or to {x}. The right to read {x} is needed only if {x} exists too.
func TestGuessedKeyNeedsNoRight(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := m.Client(t)
	for _, w := range states(t) {
		if w.recipe == "redisson-fair" {
			run(t, c, named(w.commands, "guessed"))
		}
	}
	cfg := viewed(t, m, "resetkeys ~orders-* ~redisson_lock_*")
	cfg.Match = []string{"*orders-*"}
	some := diagnosed(t, cfg)
	must.Same(t, keysOf(some), []string{"orders-guessed"}, "locks")
	if l := lockAt(some, "orders-guessed"); l == nil || len(l.Waiters) != 3 || len(l.Unseen) > 0 {
		t.Errorf("the fair lock: %+v", l)
	}
	must.Equal(t, len(some.Backends[0].Unseen), 0, "unseen", some.Backends[0].Unseen)
	run(t, c, "HSET {orders-guessed} "+uuidA+":1 1")
	unseen := diagnosed(t, cfg).Backends[0].Unseen
	if len(unseen) != 1 || unseen[0].Aspect != inspect.AspectLocks || unseen[0].Right != "~{orders-guessed}" {
		t.Errorf("unseen: %+v", unseen)
	}
}
