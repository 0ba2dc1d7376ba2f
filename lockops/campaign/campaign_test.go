//go:build unix

package campaign

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
)

// The minimum of operations and faults in all, and the maximum of additional time to reach it.
const (
	minOps, minFaults = 2000, 20
	extra             = time.Minute
)

// TestCampaign tests the locks on real servers, target by target, for the time given by the flags.
func TestCampaign(t *testing.T) {
	var targets []*target
	for name := range strings.SplitSeq(cmp.Or(*campaignOn, everyTarget), ",") {
		if newTarget[name] == nil {
			t.Fatalf("no target %q; choose from %s", name, everyTarget)
		}
		targets = append(targets, newTarget[name](t))
	}
	all := counts{}
	start := time.Now()
	enough := func() bool { return all["operations"] >= minOps && all["faults"] >= minFaults }
	for round := 0; ; round++ {
		if took := time.Since(start); round >= len(targets) && took >= *campaignFor && (enough() || took >= *campaignFor+extra) {
			break
		}
		tg := targets[round%len(targets)]
		seed := *campaignSeed + uint64(round)
		if !t.Run(fmt.Sprintf("%s-%d", tg.name, seed), func(t *testing.T) { hunt(t, tg, round, seed, all) }) {
			break
		}
	}
	fmt.Printf("campaign: %v: %v\n", time.Since(start).Round(time.Second), all)
	must.True(t, enough(), "too few operations or faults, want at least", minOps, "and", minFaults)
}

// calm is how long the workers continue after the leftovers of faults are gone, for checkProgress.
const calm = 2*freeLimit + undisturbed

// settling is how long leftovers of faults may last, such as nodes and keys of dead clients.
func (c Config) settling() time.Duration { return 3 * max(c.SessionTimeout, c.TTL) / 2 }

// A round has faults for roundTime, and none for the time undisturbed at its beginning and its end.
const (
	roundTime   = 4 * time.Second
	undisturbed = 400 * time.Millisecond
)

// hunt runs one round of workers and a nemesis, and checks the outcome.
func hunt(t *testing.T, tg *target, round int, seed uint64, all counts) {
	dir := must.Have(os.MkdirTemp(t.TempDir(), "round"))(t)
	cfg := tg.config(round)
	cfg.Seed, cfg.Stores, cfg.Clients = seed, dir, 4
	crew := startTeam(t, cfg, dir)
	crew.startForeign(t)
	n := newNemesis(t, tg, seed, dir, crew)
	crew.awaitGrant(t)
	time.Sleep(undisturbed) // until some hold and some wait
	n.rage(t, cfg, roundTime)
	crew.calm(t)
	progress(t, cfg)
	time.Sleep(cfg.settling() + calm) // checkProgress checks this span
	crew.end(t)
	n.close()
	h := crew.history(t)
	v := Check(h, func(lock string) Rule { return cfg.lock(lock).Rule })
	for _, l := range cfg.Locks {
		must.Be(t, CheckStore(h, l.Name, cfg.store(l.Name), &v), nil)
		if l.Foreign == "" && l.Rule.Permits == 1 {
			checkProgress(h, l.Name, cfg.settling(), &v)
		}
	}
	nothingLeft(t, tg, cfg)
	seen := counts{
		"rounds": 1, "histories": len(h.Locks()), "operations": v.Operations, "grants": v.Grants, "faults": n.faults,
		"losses": v.Losses, "paused": v.Paused, "forced": v.Forced, "refused": v.Refused, "stood": v.Stood,
		"undecided": v.Undecided, "violations": len(v.Violations),
	}
	all.add(seen)
	fmt.Printf("round %d: %s, seed %d: %v\n", round, tg.name, seed, seen)
	for _, violation := range v.Violations {
		t.Errorf("round %d (%s, seed %d): %v", round, tg.name, seed, violation)
	}
	must.True(t, v.Grants != 0, "round", round, tg.name, "seed", seed, "no lock was granted")
	if t.Failed() {
		keep(t, dir, fmt.Sprintf("%s-%d", tg.name, seed))
	} else {
		must.Be(t, os.RemoveAll(dir), nil)
	}
}

func (c Config) lock(name string) Lock {
	i := slices.IndexFunc(c.Locks, func(l Lock) bool { return l.Name == name })
	return c.Locks[i]
}

// keep copies a failed round's reports to where they outlive the test.
func keep(t *testing.T, dir, name string) {
	to := filepath.Join(os.TempDir(), "lockscope-campaign-"+name)
	must.Be(t, os.RemoveAll(to), nil)
	must.Be(t, os.CopyFS(to, os.DirFS(dir)), nil)
	fmt.Printf("reports of the failed round: %s\n", to)
}

// progressLimit bounds the time from healing to one more grant of each lock.
const progressLimit = time.Minute

// progress acquires each lock once while the workers compete for it.
func progress(t *testing.T, cfg Config) {
	ctx, cancel := context.WithTimeout(t.Context(), progressLimit)
	defer cancel()
	var session lockops.Session
	var err error
	if len(cfg.ZooKeeper) > 0 {
		session, err = lockops.NewZKSession(ctx, cfg.ZooKeeper, lockops.WithSessionTimeout(cfg.SessionTimeout))
	} else {
		session, err = lockops.NewRedisSession(ctx, each.Of(cfg.Redis, func(addrs []string) *redis.UniversalOptions {
			return &redis.UniversalOptions{Addrs: addrs, IsClusterMode: cfg.Cluster}
		}))
	}
	must.Succeed(t, err)
	defer session.Close()
	zk, _ := session.(*lockops.ZKSession)
	masters, _ := session.(*lockops.RedisSession)
	for _, l := range cfg.Locks {
		lockers := must.Have(lockersOf(l, cfg, zk, masters))(t)
		h, err := lockers[len(lockers)-1].Acquire(ctx)
		must.Be(t, err, nil, "after healing", l.Name)
		if err == nil {
			err = h.Release(ctx)
			must.True(t, err == nil || ctx.Err() == nil, "after healing", l.Name, err)
		}
	}
}

// nothingLeft waits until the servers have nothing left of the round. Leftovers of killed workers
// expire with their leases.
func nothingLeft(t *testing.T, tg *target, cfg Config) {
	limit := 3*max(cfg.SessionTimeout, cfg.TTL) + time.Minute // the order of a Redlock's waiters expires later
	var left []string
	var err error
	gone := within(limit, func() bool {
		left, err = tg.left(t.Context(), cfg)
		return err == nil && len(left) == 0
	})
	must.True(t, gone, tg.name, "left behind after", limit, left, err)
	if tg.watches == nil {
		return
	}
	var watched []string
	var leaked int
	gone = within(limit, func() bool {
		watched, leaked, err = tg.watches(t.Context())
		return err == nil && len(watched) == 0
	})
	if leaked > 0 {
		fmt.Printf("%s: servers still have watches of %d sessions that have ended\n", tg.name, leaked)
	}
	must.True(t, gone, tg.name, "leaked watches on", len(watched), "paths", watched, err)
}
