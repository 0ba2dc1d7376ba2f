//go:build unix

package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
)

// totals are a campaign's counts.
type totals struct {
	rounds, histories, operations, grants, faults, losses, paused, forced, refused, stood, undecided, failed int
}

// extra limits the additional time to reach the minimum of operations and faults.
const extra = time.Minute

// TestCampaign tests the locks on real servers, target by target, for the time given by the flags.
func TestCampaign(t *testing.T) {
	names := targetOrder
	if *campaignOn != "" {
		names = strings.Split(*campaignOn, ",")
	}
	var targets []*target
	for _, name := range names {
		if newTarget[name] == nil {
			t.Fatalf("no target %q; choose from %v", name, targetOrder)
		}
		targets = append(targets, newTarget[name](t))
	}
	var all totals
	start := time.Now()
	enough := func() bool { return all.operations >= *minOps && all.faults >= *minFaults }
	for round := 0; ; round++ {
		if took := time.Since(start); round >= len(targets) && took >= *campaignFor && (enough() || took >= *campaignFor+extra) {
			break
		}
		tg := targets[round%len(targets)]
		seed := *campaignSeed + uint64(round)
		if !t.Run(fmt.Sprintf("%s-%d", tg.name, seed), func(t *testing.T) { hunt(t, tg, round, seed, &all) }) {
			all.failed++
			if !*goOn {
				break
			}
		}
	}
	fmt.Printf("campaign: %v: rounds=%d histories=%d operations=%d grants=%d faults=%d losses=%d paused=%d forced=%d refused=%d stood=%d undecided=%d failed=%d\n",
		time.Since(start).Round(time.Second), all.rounds, all.histories, all.operations, all.grants, all.faults, all.losses, all.paused, all.forced, all.refused, all.stood, all.undecided, all.failed)
	if !enough() {
		t.Errorf("%d operations and %d faults, want at least %d and %d", all.operations, all.faults, *minOps, *minFaults)
	}
}

// calm is how long the workers continue after the leftovers of faults are gone, for checkProgress.
const calm = 2*freeLimit + undisturbed

// settling is how long leftovers of faults may last, such as nodes and keys of dead clients.
func (c Config) settling() time.Duration { return 3 * max(c.SessionTimeout, c.TTL) / 2 }

// undisturbed is the time without faults at the beginning and the end of a round.
const undisturbed = 400 * time.Millisecond

// hunt runs one round of workers and a nemesis, and checks the outcome.
func hunt(t *testing.T, tg *target, round int, seed uint64, all *totals) {
	dir := must.Have(os.MkdirTemp(t.TempDir(), "round"))(t)
	cfg := tg.config(round)
	cfg.Seed, cfg.Stores, cfg.Clients = seed, dir, 4
	crew := startTeam(t, cfg, dir)
	crew.startForeign(t)
	n := newNemesis(t, tg, seed, dir, crew)
	crew.awaitGrant(t)
	time.Sleep(undisturbed) // until some hold and some wait
	n.rage(t, cfg, *roundTime)
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
	all.add(h, v, n.faults)
	fmt.Printf("round %d: %s seed=%d operations=%d grants=%d faults=%d losses=%d paused=%d forced=%d refused=%d stood=%d undecided=%d violations=%d\n",
		round, tg.name, seed, v.Operations, v.Grants, n.faults, v.Losses, v.Paused, v.Forced, v.Refused, v.Stood, v.Undecided, len(v.Violations))
	for _, violation := range v.Violations {
		t.Errorf("round %d (%s, seed %d): %v", round, tg.name, seed, violation)
	}
	must.True(t, v.Grants != 0, "round", round, tg.name, "seed", seed, "no lock was granted")
	if t.Failed() {
		keep(t, dir, fmt.Sprintf("%s-%d", tg.name, seed))
	} else if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func (c Config) lock(name string) Lock {
	i := slices.IndexFunc(c.Locks, func(l Lock) bool { return l.Name == name })
	return c.Locks[i]
}

func (a *totals) add(h *History, v Verdict, faults int) {
	a.rounds++
	a.histories += len(h.Locks())
	a.operations += v.Operations
	a.grants += v.Grants
	a.faults += faults
	a.losses += v.Losses
	a.paused += v.Paused
	a.forced += v.Forced
	a.refused += v.Refused
	a.stood += v.Stood
	a.undecided += v.Undecided
}

// keep copies a failed round's reports to where they outlive the test.
func keep(t *testing.T, dir, name string) {
	to := filepath.Join(os.TempDir(), "lockscope-campaign-"+name)
	must.Be(t, os.RemoveAll(to), nil)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Error(err)
		return
	}
	fmt.Printf("reports of the failed round: %s\n", to)
}

// progressLimit bounds the time from healing to one more grant of each lock.
const progressLimit = time.Minute

// progress acquires each lock once while the workers compete for it.
func progress(t *testing.T, cfg Config) {
	ctx, cancel := context.WithTimeout(t.Context(), progressLimit)
	defer cancel()
	var zk *lockops.ZKSession
	var masters *lockops.RedisSession
	var err error
	if len(cfg.ZooKeeper) > 0 {
		if zk, err = lockops.NewZKSession(ctx, cfg.ZooKeeper, lockops.WithSessionTimeout(cfg.SessionTimeout)); err != nil {
			t.Errorf("after healing: %v", err)
			return
		}
		defer zk.Close()
	}
	if len(cfg.Redis) > 0 {
		var options []*redis.UniversalOptions
		for _, addrs := range cfg.Redis {
			options = append(options, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: cfg.Cluster})
		}
		if masters, err = lockops.NewRedisSession(ctx, options); err != nil {
			t.Errorf("after healing: %v", err)
			return
		}
		defer masters.Close()
	}
	for _, l := range cfg.Locks {
		lockers, err := lockersOf(l, cfg, zk, masters)
		if err != nil {
			t.Error(err)
			return
		}
		h, err := lockers[len(lockers)-1].Acquire(ctx)
		if err != nil {
			t.Errorf("after healing: %v", err)
			continue
		}
		if err := h.Release(ctx); err != nil && ctx.Err() != nil {
			t.Errorf("after healing: %v", err)
		}
	}
}

// nothingLeft waits until the servers have nothing left of the round. Leftovers of killed workers
// expire with their leases.
func nothingLeft(t *testing.T, tg *target, cfg Config) {
	limit := 3*max(cfg.SessionTimeout, cfg.TTL) + time.Minute // the order of a Redlock's waiters expires later
	var left []string
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if left, err = tg.left(t.Context(), cfg); err == nil && len(left) == 0 {
			break
		}
	}
	if err != nil || len(left) > 0 {
		t.Errorf("%s: left behind after %v: %v, %v", tg.name, limit, left, err)
	}
	if tg.watches == nil {
		return
	}
	var watched []string
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var leaked int
		if watched, leaked, err = tg.watches(); err == nil && len(watched) == 0 {
			if leaked > 0 {
				fmt.Printf("%s: servers still have watches of %d sessions that have ended\n", tg.name, leaked)
			}
			return
		}
	}
	t.Errorf("%s: leaked watches on %d paths: %.300s, %v", tg.name, len(watched), fmt.Sprint(watched), err)
}
