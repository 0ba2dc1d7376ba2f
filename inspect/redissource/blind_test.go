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
	shortLife   = regexp.MustCompile(`\b(PX|EX) \d+`)
	shortExpiry = regexp.MustCompile(`(PEXPIRE \S+) \d+`)
	shortScore  = regexp.MustCompile(`\+\d+s\b`)
)

// writeAll writes a lock of every recipe, each under its own name, with an expiry of an hour.
func writeAll(t *testing.T, c *redis.Client) {
	t.Helper()
	for i, w := range states() {
		w.commands = shortLife.ReplaceAllString(shortExpiry.ReplaceAllString(shortScore.ReplaceAllString(w.commands, "+3600s"), "$1 3600000"), "PX 3600000")
		w.write(t, c, fmt.Sprintf("n%d", i))
	}
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
	c := client(t, m)
	writeAll(t, c)
	cfg := config([]*servertest.Redis{m})
	cfg.Match = nil
	all := diagnosed(t, cfg)
	if n := len(slices.Collect(all.Locks())); n < len(states()) {
		t.Fatalf("%d locks, want at least one for each of %d recipes", n, len(states()))
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
			user := fmt.Sprintf("viewer%d", i)
			rule := []any{"acl", "setuser", user, "on", ">pw", "~*", "&*", "+@all"}
			for _, d := range denied {
				rule = append(rule, "-"+d)
			}
			if err := c.Do(context.Background(), rule...).Err(); err != nil {
				return err
			}
			cfg := cfg
			cfg.Masters = []*redis.UniversalOptions{{Addrs: []string{m.Addr}, Username: user, Password: "pw"}}
			rights := make([]string, len(denied))
			for i, d := range denied {
				rights[i] = "+" + d
			}
			some := diagnosed(t, cfg)
			for _, wrong := range lies(all, some, rights) {
				t.Errorf("without %v: %s", denied, wrong)
			}
			for l := range some.Locks() {
				if n, err := c.Exists(context.Background(), l.ID.Path).Result(); err != nil || n == 0 && all.Lock(l.ID) == nil {
					t.Errorf("without %v: %s is listed but has no key (%v)", denied, l.ID, err)
				}
			}
			return nil
		})
	}
	must.Succeed(t, g.Wait())
}

// An unknown command does not mean an empty result.
func TestRenamedCommandsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SCAN", "TYPE", "PTTL", "GETRANGE", "HSCAN", "SSCAN", "ZRANGE", "LRANGE", "MEMORY", "TIME", "INFO", "CLIENT", "PUBSUB", "EXISTS"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, renamed := servertest.StartRedis(t), servertest.StartRedis(t, "--rename-command", name, "\"\"")
			var snapshots []*inspect.Snapshot
			for _, m := range []*servertest.Redis{full, renamed} {
				writeAll(t, client(t, m))
				cfg := config([]*servertest.Redis{m})
				cfg.Match = nil
				snapshots = append(snapshots, diagnosed(t, cfg))
			}
			for _, wrong := range lies(snapshots[0], snapshots[1], []string{name, strings.ToLower(name)}) {
				t.Error(wrong)
			}
		})
	}
}

// lies compares some with all, which was read with every right. It lists facts that contradict all,
// and unknowns that do not name one of the missing rights.
func lies(all, some *inspect.Snapshot, rights []string) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	b := some.Backends[0]
	if b.State == inspect.Down {
		say("the backend is down: %s", b.Error)
	}
	named := func(u inspect.Unseen) bool {
		return slices.ContainsFunc(rights, func(r string) bool { return strings.Contains(u.Right, r) })
	}
	for _, u := range b.Unseen {
		if !named(u) {
			say("the backend: %+v", u)
		}
	}
	blindScan := b.Unknown(inspect.AspectLocks)
	for l := range all.Locks() {
		now := some.Lock(l.ID)
		if now == nil {
			if !blindScan {
				say("%s vanished", l.ID)
			}
			continue
		}
		for _, text := range lockLies(l, now) {
			say("%s %s", l.ID, text)
		}
		for _, u := range now.Unseen {
			if !named(u) {
				say("%s: %+v", l.ID, u)
			}
		}
	}
	for l := range some.Locks() {
		if all.Lock(l.ID) == nil && l.State != inspect.StateUnknown {
			say("%s appeared as %s", l.ID, l.State)
		}
	}
	return wrong
}

func lockLies(was, now *inspect.Lock) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	holders := now.Unknown(inspect.AspectHolders)
	waiters := now.Unknown(inspect.AspectWaiters)
	switch {
	case now.State == was.State, now.State == inspect.StateUnknown && holders, now.State == inspect.StateHeld && was.State == inspect.StateContended && waiters:
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
		if _, ok := now.Contender(c.Name); !ok && (c.State == inspect.Waiting && !waiters || c.State != inspect.Waiting && !holders) {
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
		if f.Rule != "blind" && !slices.ContainsFunc(was.Findings, func(g inspect.Finding) bool { return g.Rule == f.Rule }) {
			say("has a new finding %s: %s", f.Rule, f.Message)
		}
	}
	return wrong
}

// Without the right to a helper key, the waiters are unknown and the right's pattern is reported.
func TestUnreadableHelperKeysHideWaiters(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := client(t, m)
	writeAll(t, c)
	must.Succeed(t, c.Do(t.Context(), "acl", "setuser", "viewer", "on", ">pw", "~orders-*", "~lock:*", "&*", "+@all").Err())
	cfg := config([]*servertest.Redis{m})
	cfg.Match = []string{"orders-*", "redisson_lock_queue:*", "lock:*"}
	all := diagnosed(t, cfg)
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	some := diagnosed(t, cfg)
	for _, wrong := range lies(all, some, []string{"~"}) {
		t.Error(wrong)
	}
	var fair *inspect.Lock
	for l := range some.Locks() {
		if l.ID.Path == "orders-n1" {
			fair = l
		}
	}
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
	c := client(t, m)
	for _, w := range states() {
		if w.recipe == "redisson-fair" {
			w.write(t, c, "guessed")
		}
	}
	must.Succeed(t, c.Do(t.Context(), "acl", "setuser", "viewer", "on", ">pw", "~orders-*", "~redisson_lock_*", "&*", "+@all").Err())
	cfg := config([]*servertest.Redis{m})
	cfg.Match = []string{"*orders-*"}
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	some := diagnosed(t, cfg)
	if locks := slices.Collect(some.Locks()); len(locks) != 1 || locks[0].ID.Path != "orders-guessed" || len(locks[0].Waiters) != 3 || len(locks[0].Unseen) > 0 {
		t.Errorf("locks: %+v", locks)
	}
	if unseen := some.Backends[0].Unseen; len(unseen) > 0 {
		t.Errorf("unseen: %+v", unseen)
	}
	must.Succeed(t, c.HSet(t.Context(), "{orders-guessed}", uuidA+":1", 1).Err())
	unseen := diagnosed(t, cfg).Backends[0].Unseen
	if len(unseen) != 1 || unseen[0].Aspect != inspect.AspectLocks || unseen[0].Right != "~{orders-guessed}" {
		t.Errorf("unseen: %+v", unseen)
	}
}
