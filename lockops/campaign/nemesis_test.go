//go:build unix

package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
)

// fault breaks something. do returns the function to mend it; nil if it mends itself.
type fault struct {
	name string
	do   func(t *testing.T, r *rand.Rand) func()
	// forces removes a contender from a lock instead, and names it; empty means all.
	forces func(t *testing.T, r *rand.Rand, lock Lock, audit *act.Audit) (name string, err error)
}

// withZooKeeper runs f on its own connection.
func withZooKeeper(servers []string, f func(*zk.Conn) error) error {
	conn, events, err := zk.Connect(servers, 5*time.Second, zk.WithLogger(noLog{}))
	if err != nil {
		return err
	}
	defer func() {
		conn.Close()
		for range events { // closed when its goroutines have ended
		}
	}()
	return f(conn)
}

const forceLimit = 3 * time.Second

func forcedOnZooKeeper(servers []string) []fault {
	return []fault{
		{name: "a contender is force-released", forces: func(t *testing.T, r *rand.Rand, lock Lock, audit *act.Audit) (name string, err error) {
			err = withZooKeeper(servers, func(conn *zk.Conn) error {
				names, _, err := conn.Children(dirsOf(lock)[0])
				if err != nil || len(names) == 0 {
					return nil // no contender
				}
				name = names[r.IntN(len(names))]
				releaser := act.NewZooKeeper(conn, act.Target{Name: "zk", Servers: servers}, audit)
				defer releaser.Close()
				defer conn.Close() // ends running requests
				return force(t.Context(), releaser, act.Request{
					ID: inspect.ID{Backend: "zk", Path: lock.Name}, Owner: inspect.Untrusted(name), Waiter: true,
				})
			})
			return name, err
		}},
		{name: "a lock's directory is deleted", forces: func(_ *testing.T, _ *rand.Rand, lock Lock, _ *act.Audit) (string, error) {
			return "", withZooKeeper(servers, func(conn *zk.Conn) error {
				for _, dir := range append(dirsOf(lock), lock.Name) {
					names, _, err := conn.Children(dir)
					if err != nil {
						continue // gone already
					}
					for _, name := range names {
						_ = conn.Delete(path.Join(dir, name), -1) // unless it already left
					}
					_ = conn.Delete(dir, -1) // unless a client joined
				}
				return nil
			})
		}},
	}
}

// dirsOf returns the directories of a lock's contenders, the holders' first.
func dirsOf(lock Lock) []string {
	switch {
	case !strings.HasPrefix(lock.Kinds[0], "semaphore"):
		return []string{lock.Name}
	case lock.Recipe == "curator":
		return []string{path.Join(lock.Name, recipe.CuratorLeases), path.Join(lock.Name, recipe.CuratorLocks)}
	}
	return []string{lock.Name, recipe.KazooQueuePath(lock.Name)}
}

func forcedOnRedis(servers []string) []fault {
	return []fault{{name: "a holder is force-released", forces: func(t *testing.T, _ *rand.Rand, lock Lock, audit *act.Audit) (string, error) {
		var masters []redis.UniversalClient
		var value string
		for _, addr := range servers {
			c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: time.Second})
			defer c.Close()
			masters = append(masters, c)
			if v, err := c.Get(t.Context(), lock.Name).Result(); err == nil {
				value = v
			}
		}
		if value == "" {
			return "", nil
		}
		releaser := act.NewRedis(masters, act.Target{Name: "redis", Servers: servers}, time.Second, audit)
		return value, force(t.Context(), releaser, act.Request{
			ID: inspect.ID{Backend: "redis", Path: lock.Name}, Owner: inspect.Untrusted(value), Waiter: true,
		})
	}}}
}

// force releases like an operator who confirms any preview.
func force(ctx context.Context, releaser act.Releaser, request act.Request) error {
	ctx, cancel := context.WithTimeout(ctx, forceLimit)
	defer cancel()
	p, err := releaser.Preview(ctx, request)
	if err != nil || p.Refused != "" {
		return nil // a fault is active, or the contender left
	}
	result, err := releaser.Execute(ctx, p, "campaign")
	if err == nil && result.Released == (result.Reason != "") {
		return fmt.Errorf("released %v and reason %q", result.Released, result.Reason)
	}
	return nil
}

// watchesOn returns the paths watched by connected sessions, and the number of ended sessions whose
// watches a server still keeps. Clients cannot remove those. Servers leak them if a connection ends
// while its request for a watch is executed, as happens on a stopped server.
func watchesOn(ctx context.Context, servers []string) (paths []string, leaked int, err error) {
	for _, addr := range servers {
		s := zkadmin.New(zkadmin.Config{Addr: addr})
		watches, err := s.WatchesByPath(ctx)
		if err != nil {
			return nil, 0, err
		}
		connections, err := s.Connections(ctx)
		if err != nil {
			return nil, 0, err
		}
		ended := map[int64]bool{}
		for path, sessions := range watches {
			for _, id := range sessions {
				if slices.ContainsFunc(connections, func(c zkadmin.Connection) bool { return c.Session == id }) {
					paths = append(paths, addr+path)
				} else {
					ended[id] = true
				}
			}
		}
		leaked += len(ended)
	}
	return paths, leaked, nil
}

// nemesis breaks things for a round.
type nemesis struct {
	target *target
	random *rand.Rand
	report *Report
	audit  *act.Audit
	team   *team
	faults int
	// close ends the stops at failpoints and the report. Further calls have no effect.
	close func()
}

func newNemesis(t *testing.T, tg *target, seed uint64, dir string, crew *team) *nemesis {
	t.Helper()
	report := must.Have(OpenReport(filepath.Join(dir, "nemesis.jsonl"), 0, func(err error) { t.Error(err) }))(t)
	audit := must.Have(act.OpenAudit(time.Now, filepath.Join(dir, "audit.jsonl"), "campaign", ""))(t)
	goOn := stopAtFailpoints(report, seed, forceLimit/6)
	n := &nemesis{target: tg, random: rand.New(rand.NewPCG(seed, 0)), report: report, audit: audit, team: crew}
	n.close = sync.OnceFunc(func() {
		goOn()
		report.Close()
		audit.Close()
	})
	t.Cleanup(n.close) // for failed rounds; others have closed it
	return n
}

// rage breaks one or two things at a time, and mends them, until the round's time is over.
func (n *nemesis) rage(t *testing.T, cfg Config, d time.Duration) {
	defer func() { // even if a strike fails the test: the next round needs healthy servers
		n.target.heal(t)
		n.report.Add(Record{Op: OpHealed})
	}()
	for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
		wait(n.random, 150*time.Millisecond)
		var mend []func()
		for range 1 + n.random.IntN(2) {
			if m := n.strike(t, cfg); m != nil {
				mend = append(mend, m)
			}
		}
		longest := 400 * time.Millisecond
		if n.random.IntN(6) == 0 {
			longest = 2 * max(cfg.SessionTimeout, cfg.TTL) // longer than leases
		}
		wait(n.random, longest)
		for _, m := range mend {
			m()
		}
	}
}

// wait sleeps for a random time up to longest.
func wait(r *rand.Rand, longest time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(longest)))) }

// strike causes one fault, of the servers or of a worker.
func (n *nemesis) strike(t *testing.T, cfg Config) (mend func()) {
	n.faults++
	i := n.random.IntN(len(n.target.faults) + len(workerFaults))
	if i >= len(n.target.faults) {
		f := workerFaults[i-len(n.target.faults)]
		n.report.Add(Record{Op: OpFault, Text: f.name})
		return f.do(t, n.team, n.random)
	}
	f := n.target.faults[i]
	if f.forces == nil {
		n.report.Add(Record{Op: OpFault, Text: f.name})
		return f.do(t, n.random)
	}
	lock := cfg.Locks[n.random.IntN(len(cfg.Locks))]
	since := Now()
	name, err := f.forces(t, n.random, lock, n.audit)
	must.Be(t, err, nil, f.name, lock.Name)
	n.report.Add(Record{Op: OpForced, Lock: lock.Name, Name: name, Since: since, Text: f.name})
	return nil
}

var workerFaults = []struct {
	name string
	do   func(*testing.T, *team, *rand.Rand) func()
}{
	{"a worker is stopped", func(t *testing.T, crew *team, r *rand.Rand) func() { return crew.pause(t, r) }},
	{"a worker is stopped around its deadlines", func(t *testing.T, crew *team, r *rand.Rand) func() {
		lasting := max(crew.cfg.SessionTimeout, crew.cfg.TTL)
		goOn := crew.pause(t, r)
		time.Sleep(lasting/2 + upTo(r, lasting)) // leases last three quarters of a session timeout, or a TTL
		goOn()
		return nil
	}},
	{"a worker is killed", func(t *testing.T, crew *team, r *rand.Rand) func() { crew.kill(t, r); return nil }},
}
