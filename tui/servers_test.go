package tui

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/redissource"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// watching is a program that shows what an observer sees of a source until the test ends.
func watching(t *testing.T, width, height int, source inspect.Source) *program {
	t.Helper()
	p := start(t, Options{Now: time.Now}, width, height)
	o := inspect.NewObserver(time.Now, source)
	o.Diagnose(finding.Rules(), time.Minute)
	sub := o.Subscribe()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = o.Run(ctx) })
	running.Go(func() {
		for {
			s, err := sub.Next(ctx)
			if err != nil {
				return
			}
			select {
			case p.feed <- s:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		sub.Close()
	})
	return p
}

// Two sessions that take two locks in different orders are drawn as a ring, and a third behind it.
func TestDeadlockOnAServer(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	servertest.EachZooKeeper(t, func(t *testing.T, zk *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		ctx, cancel := context.WithCancel(context.Background())
		var waiting sync.WaitGroup
		defer waiting.Wait()
		defer cancel()
		locker := func(name string) func(path string) *lockops.ZKMutex {
			s, err := lockops.NewZKSession(ctx, []string{zk.Addr})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return func(path string) *lockops.ZKMutex {
				return lockops.NewZKMutex(s, root+path, lockops.WithRecipe("kazoo"), lockops.WithLabel(name))
			}
		}
		wait := func(m *lockops.ZKMutex) { waiting.Go(func() { _, _ = m.Acquire(ctx) }) }
		alice, bob := locker("alice"), locker("bob")
		for _, m := range []*lockops.ZKMutex{alice("/a"), bob("/b")} {
			if _, err := m.Acquire(ctx); err != nil {
				t.Fatal(err)
			}
		}
		wait(alice("/b"))
		wait(bob("/a"))
		p := watching(t, 120, 36, zksource.New(zksource.Config{Backend: "zk", Servers: []string{zk.Addr}, Roots: []string{root}, Admin: []string{zk.Admin}}))
		p.keys("c")
		p.wait("1 deadlock", "alice", "bob")
		p.keys("w")
		p.wait("deadlock: 2 clients wait for each other", "which alice holds", "which bob holds", "Cheapest fix: stop")
		wait(locker("carl")("/a"))
		p.wait("1 more waits behind it")
	})
}

// Of five masters one is stopped: the screen names it, and shows what of the others is known.
func TestStoppedMasterOnTheBackendsScreen(t *testing.T) {
	t.Parallel()
	cfg := redissource.Config{Backend: "redis", Timeout: 2 * time.Second}
	var last *servertest.Redis
	for range 5 {
		last = servertest.StartRedis(t)
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{last.Addr}})
	}
	p := watching(t, 120, 40, redissource.New(cfg))
	p.keys("b")
	p.wait("5 of 5 servers up", "by push", "7.0")
	last.Pause(t)
	defer last.Resume(t)
	p.wait("1 down", "4 of 5 servers up", "redis degraded", "a server stopped answering")
	p.keys("G")
	p.wait("down         no answer", last.Addr)
}
