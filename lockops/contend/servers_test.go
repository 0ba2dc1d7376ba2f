package contend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

func onZooKeeper(server *servertest.ZooKeeper, path string, options ...lockops.Option) ZooKeeper {
	return ZooKeeper{
		Servers: []string{server.Addr}, Site: Site{Backend: "zk:", Name: path, Kinds: lockops.KindsOn(lockops.OnZooKeeper)[:1], Options: options},
	}
}

func onRedis(masters []*servertest.Redis, key string) Redis {
	servers := lockops.OnRedis
	if len(masters) > 1 {
		servers = lockops.OnRedisMasters
	}
	r := Redis{Site: Site{Backend: "redis:", Name: key, Kinds: lockops.KindsOn(servers)[:1]}}
	for _, m := range masters {
		r.Masters = append(r.Masters, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	return r
}

// plainZK connects to a server without the tested code.
func plainZK(t *testing.T, server *servertest.ZooKeeper) *zk.Conn {
	t.Helper()
	return servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
}

func wantNoNode(t *testing.T, server *servertest.ZooKeeper, path string) {
	t.Helper()
	there, _, err := plainZK(t, server).Exists(path)
	must.True(t, !there && err == nil, path, "is there:", there, err)
}

func wantNoKey(t *testing.T, masters []*servertest.Redis, name string) {
	t.Helper()
	for _, m := range masters {
		keys, err := m.Client(t).Keys(t.Context(), "*"+name+"*").Result()
		must.Be(t, err, nil)
		must.Same(t, keys, nil, "keys on", m.Addr)
	}
}

var brief = Config{Contenders: 6, Hold: 2 * time.Millisecond, Think: time.Millisecond, Rounds: 10, Seed: 7, Stall: 20 * time.Second}

// With every recipe, ZooKeeper's queue is first come, first served.
func TestZooKeeperQueuesAreFair(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		for _, name := range []string{"curator", "kazoo", "go-zookeeper", "sequential"} {
			t.Run(name, func(t *testing.T) {
				path := servertest.UniquePath(t)
				r := reportOf(t, NewZooKeeper(onZooKeeper(server, path+"/deep/lock", lockops.WithRecipe(name))), brief)
				if r.Grants != 60 || r.Inversions != 0 || r.Overlaps != 0 || r.Lost+r.Failed != 0 || r.Jain() != 1 {
					t.Errorf("%+v", r)
				}
				if r.Handoff.Count < 40 || r.RequestsPerGrant() < 3 || r.RequestsPerGrant() > 8 || !strings.Contains(r.Order, "sequence") {
					t.Errorf("handoffs %+v, %v requests a grant, by %s", r.Handoff, r.RequestsPerGrant(), r.Order)
				}
				wantNoNode(t, server, path)
			})
		}
	})
}

func TestReadersShareAndNoContenderStarves(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		var kinds []lockops.Kind
		for _, k := range lockops.KindsOn(lockops.OnZooKeeper) {
			if k.Shared || k.Readers != "" {
				kinds = append(kinds, k)
			}
		}
		kinds = append(kinds, kinds[0]) // twice as many readers, so that some are neighbours in the queue
		for _, name := range kinds[0].Recipes {
			t.Run(name, func(t *testing.T) {
				path := servertest.UniquePath(t)
				target := onZooKeeper(server, path, lockops.WithRecipe(name))
				target.Kinds = kinds
				run := must.Have(Start(t.Context(), NewZooKeeper(target), brief))(t)
				together, readers := 0, 0
				for e := range run.Events() {
					if reads := kinds[e.Contender%len(kinds)].Shared; reads && e.Kind == Granted {
						readers++
						together = max(together, readers)
					} else if reads && e.Kind == Released {
						readers--
					}
				}
				r, err := run.Wait()
				if err != nil || r.Kind != "read,write,read" || r.Grants != 60 || r.Inversions != 0 || r.Overlaps != 0 || r.Lost+r.Failed != 0 {
					t.Errorf("%v: %+v", err, r)
				}
				must.True(t, together >= 2, "at most", together, "readers held it together")
				wantNoNode(t, server, path)
			})
		}
	})
}

// The czxid of long holds is read, and grows with every grant.
func TestZooKeeperTokensAreChecked(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		cfg := brief
		cfg.Hold, cfg.Rounds = 40*time.Millisecond, 2
		run := must.Have(Start(t.Context(), NewZooKeeper(onZooKeeper(server, servertest.UniquePath(t))), cfg))(t)
		r, err := run.Wait()
		must.True(t, err == nil && run.ledger.token != 0 && r.TokensBack == 0 && r.Overlaps == 0,
			err, "greatest token", run.ledger.token, r)
	})
}

// answeredRun repeats a run until no release had to be sent twice. If the machine pauses for a
// tenth of a second, the answer to a release may come after the next grant. Release then returns
// ErrUnknownRelease.
func answeredRun(t *testing.T, target Target, cfg Config) (*Run, Report) {
	t.Helper()
	for try := 1; ; try++ {
		run, r := finished(t, target, cfg)
		if try == 5 || r.Overlaps+r.TokensBack != 0 || !errors.Is(r.LastError, lockops.ErrUnknownRelease) {
			return run, r
		}
		t.Logf("once more: %v", r.LastError)
	}
}

// A release wakes one waiter, so the requests per grant do not grow with the number of waiters.
func TestRedisMutexWakesOneWaiter(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		for _, contenders := range []int{6, 24} {
			key := servertest.UniqueName(t)
			cfg := brief
			cfg.Contenders, cfg.Rounds = contenders, 240/contenders
			run, r := answeredRun(t, NewRedis(onRedis(masters, key)), cfg)
			must.True(t, r.Grants == 240 && r.Overlaps == 0 && r.TokensBack == 0 && r.Lost+r.Failed == 0, r)
			// Waking all would take more than one request per waiter. Each polls twice a second anyway.
			most := 10 + 2*r.Duration.Seconds()*float64(contenders)/240
			if n := r.RequestsPerGrant(); n < 2 || n > most {
				t.Errorf("%v requests a grant with %d contenders, want at most %.0f", n, contenders, most)
			}
			must.True(t, run.ledger.token != 0 && !run.ledger.byCall && strings.Contains(r.Order, "clock"),
				"token", run.ledger.token, "by", r.Order)
			wantNoKey(t, masters, key)
		}
	})
}

// A cancelled run leaves nothing behind.
func TestCancelledRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	cut := func(t *testing.T, target Target) {
		t.Helper()
		cfg := Config{Contenders: 8, Hold: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		run := must.Have(Start(ctx, target, cfg))(t)
		for e := range run.Events() {
			if e.Kind == Granted {
				cancel()
			}
		}
		// The next waiter may be granted the lock before it notices its own cancellation.
		r, err := run.Wait()
		must.True(t, err == nil && len(r.Left) == 0 && r.Grants != 0 && r.Overlaps == 0, err, r)
	}
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		cut(t, NewZooKeeper(onZooKeeper(server, path)))
		wantNoNode(t, server, path)
	})
	for _, n := range []int{1, 5} {
		servertest.EachRedis(t, n, func(t *testing.T, masters []*servertest.Redis) {
			key := servertest.UniqueName(t)
			cut(t, NewRedis(onRedis(masters, key)))
			wantNoKey(t, masters, key)
		})
	}
}

// A run refuses a lock that exists, unless Existing is set, and leaves nothing behind.
func TestForeignLockIsLeftAlone(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		conn := plainZK(t, server)
		must.Have(conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
		z := onZooKeeper(server, path)
		wantExists(t, NewZooKeeper(z), "zookeeper "+path)
		z.Existing = true
		must.Equal(t, reportOf(t, NewZooKeeper(z), brief).Grants, 60, "grants")
		there, stat, err := conn.Exists(path)
		must.True(t, there && err == nil && stat.NumChildren == 0, "the directory exists:", there, stat, err)
	})
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		c := masters[0].Client(t)
		c.Set(t.Context(), key, "another client's", time.Minute)
		wantExists(t, NewRedis(onRedis(masters, key)), "redis "+key)
		must.Equal(t, c.Get(t.Context(), key).Val(), "another client's", "the value")
		must.Equal(t, c.Exists(t.Context(), recipe.FenceKey(key)).Val(), 0, "counters left by a refused run")
		c.Del(t.Context(), key)
		c.Set(t.Context(), recipe.FenceKey(key), 41, 0)
		wantExists(t, NewRedis(onRedis(masters, key)), "redis "+key)
		r := onRedis(masters, key)
		r.Existing = true
		must.Equal(t, reportOf(t, NewRedis(r), brief).Grants, 60, "grants")
		newest := must.Have(c.Get(t.Context(), recipe.FenceKey(key)).Int64())(t)
		must.True(t, newest > 41, "the newest fencing token is", newest, "want one above 41")
		c.Del(t.Context(), recipe.FenceKey(key))
	})
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		c := masters[2].Client(t)
		c.HSet(t.Context(), key, "a", "b")
		wantExists(t, NewRedis(onRedis(masters, key)), "redis "+key)
		for i, m := range masters {
			must.Equal(t, m.Client(t).Exists(t.Context(), key).Val() == 1, i == 2, "the key exists on master", i)
		}
		c.Del(t.Context(), key)
	})
}

// wantExists starts a run that must be refused. name has the kind and name of the lock.
func wantExists(t *testing.T, target Target, name string) {
	t.Helper()
	_, err := Start(t.Context(), target, brief)
	must.Be(t, err, ErrExists)
	must.Equal(t, fmt.Sprint(err), name+": the lock exists")
}

// If another client has the lock at the end of a run, its keys stay.
func TestKeysOfAStrangerStay(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		c := masters[0].Client(t)
		set := func(value string) func() error {
			return func() error { return c.Set(t.Context(), key, value, 0).Err() }
		}
		for name, take := range map[string]func() error{
			"a value":             set("another client's"),
			"a hash":              func() error { return c.HSet(t.Context(), key, "a", "b").Err() },
			"another run's value": set(recipe.LockscopeToken([16]byte{}, "run2#1")),
			"a contender's value": set(recipe.LockscopeToken([16]byte{}, "run#1")),
		} {
			r := onRedis(masters, key)
			r.Label = "run"
			target := NewRedis(r)
			must.Succeed(t, target.Open(t.Context()))
			must.Succeed(t, take())
			must.Succeed(t, c.Set(t.Context(), recipe.FenceKey(key), 1, 0).Err())
			left := must.Have(target.Close(t.Context()))(t)
			must.Equal(t, slices.Contains(left, key), name == "a contender's value", "left by", name)
			must.Equal(t, c.Del(t.Context(), key, recipe.FenceKey(key)).Val(), 2, "keys with", name)
		}
	})
}

func TestDirectoryInUseIsKept(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		run := must.Have(Start(t.Context(), NewZooKeeper(onZooKeeper(server, path)), Config{Contenders: 2, Hold: time.Millisecond}))(t)
		conn := plainZK(t, server)
		theirs := must.Have(conn.Create(path+"/their-lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)))(t)
		run.Stop()
		must.Same(t, must.Have(run.Wait())(t).Left, nil, "left")
		there, _, err := conn.Exists(theirs)
		must.True(t, there && err == nil, "the other client's node is gone:", err)
		conn.Delete(theirs, -1)
		conn.Delete(path, -1)
	})
}

// A forced release counts as a loss, and the run continues.
func TestATakenLockIsALoss(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		run := must.Have(Start(t.Context(), NewZooKeeper(onZooKeeper(server, path)), Config{Contenders: 3, Hold: time.Hour}))(t)
		conn := plainZK(t, server)
		grants := 0
		for e := range run.Events() {
			switch e.Kind {
			case Granted:
				if grants++; grants == 1 {
					children, _, err := conn.Children(path)
					must.Succeed(t, err)
					_, entries := recipe.Read(children)
					conn.Delete(path+"/"+entries[0].Name, -1)
				}
			case Lost:
				run.Stop()
			}
		}
		r, err := run.Wait()
		must.True(t, err == nil && r.Lost == 1 && r.Grants >= 1 && errors.Is(r.LastError, lockops.ErrLost), err, r)
		wantNoNode(t, server, path)
	})
}

// Without a server no run starts. If a server goes away, the run still ends, and reports that it could
// not check for leftovers.
func TestRunsWithoutServers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	z := ZooKeeper{Servers: []string{"127.0.0.1:1"}, Site: Site{Name: "/a", Kinds: lockops.KindsOn(lockops.OnZooKeeper)}}
	_, err := Start(ctx, NewZooKeeper(z), brief)
	must.True(t, err != nil, "a run started without ZooKeeper")
	server := servertest.StartEmbeddedRedis(t)
	server.Stop(t)
	_, err = Start(t.Context(), NewRedis(onRedis([]*servertest.Redis{server}, "a")), brief)
	must.Be(t, err, lockops.ErrNoQuorum, "a run without Redis")
	must.True(t, !strings.Contains(err.Error(), "quorum"), "the error of one Redis names a quorum:", err)
	five := append(servertest.StartEmbeddedMasters(t, 2), server, server, server)
	down := NewRedis(onRedis(five, "a"))
	err = down.Open(t.Context())
	o := down.(*redisTarget).clients[0].(*redis.Client).Options()
	limits := fmt.Sprint(o.DialTimeout, o.ReadTimeout, o.WriteTimeout, " ", o.ContextTimeoutEnabled, o.MaxRetries)
	must.Equal(t, limits, "5s 5s 5s true 0", "limits, and whether contexts and retries count")
	if left, closing := down.Close(t.Context()); !errors.Is(err, lockops.ErrNoQuorum) || strings.Count(fmt.Sprint(err), server.Addr) < 2 || left != nil || closing != nil {
		t.Errorf("a run on two masters of five: %v; its end: %v, %v", err, left, closing)
	}
	server.Restart(t)
	cfg := brief
	cfg.Rounds, cfg.Stall = 1_000_000, 6*time.Second
	run := must.Have(Start(t.Context(), NewRedis(onRedis([]*servertest.Redis{server}, "a")), cfg))(t)
	for e := range run.Events() {
		if e.Kind == Released {
			server.Stop(t)
			break
		}
	}
	for range run.Events() {
	}
	if r, err := run.Wait(); !errors.Is(err, ErrStalled) || r.Grants == 0 || !strings.Contains(err.Error(), "clean up redis:a: redis a: ") {
		t.Errorf("%v: %+v", err, r)
	}
}

// A new connection may report 0 as its session. Nodes without an owner are not its leftovers.
func TestOwnerlessNodesAreNotLeftovers(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := NewZooKeeper(onZooKeeper(server, path)).(*zkTarget)
		must.Succeed(t, target.Open(t.Context()))
		createAll(t, plainZK(t, server), path+"/leases", path+"/leases/permit")
		target.ours = map[int64]bool{0: true}
		must.Same(t, must.Have(target.Close(t.Context()))(t), nil, "left")
		wantNoNode(t, server, path)
	})
}

// Leftovers of contenders are listed, and keep their directory. Other nodes are not listed.
func TestLeftoversAreListed(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	target := NewZooKeeper(onZooKeeper(server, "/a/b")).(*zkTarget)
	must.Succeed(t, target.Open(t.Context()))
	conn := plainZK(t, server)
	createAll(t, conn, "/a/b/deep", "/a/b/deep/er")
	for _, path := range []string{"/a/b/deep/x", "/a/b/deep/er/too-deep"} {
		must.Have(conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	}
	target.ours = map[int64]bool{conn.SessionID(): true}
	left, err := target.Close(t.Context())
	must.Be(t, err, nil)
	must.Same(t, left, []string{"/a/b/deep/x"}, "left")
	there, _, err := conn.Exists("/a/b")
	must.Equal(t, fmt.Sprint(there, err), "true <nil>", "directory exists")
}

func TestTargetsDescribeThemselves(t *testing.T) {
	t.Parallel()
	zks, one, masters := lockops.KindsOn(lockops.OnZooKeeper), lockops.KindsOn(lockops.OnRedis), lockops.KindsOn(lockops.OnRedisMasters)
	permits := zks[0]
	permits.Permits = 2
	describe := func(d Description) string {
		return fmt.Sprintf("%s %s by %s, %d at once, tokens after %v", d.Lock, d.Kind, d.Order, d.Permits, d.TokenAfter)
	}
	for want, target := range map[string]Target{
		"zk:/a mutex by ZooKeeper's sequence numbers, 1 at once, tokens after 15ms":                     NewZooKeeper(ZooKeeper{Site: Site{Backend: "zk:", Name: "/a", Kinds: zks[:1]}}),
		"/a mutex by " + OrderOfCalls + ", 2 at once, tokens after 15ms":                                NewZooKeeper(ZooKeeper{Site: Site{Name: "/a", Kinds: []lockops.Kind{permits}}}),
		"a mutex,fair by the master's clock when it first saw each attempt, 1 at once, tokens after 0s": NewRedis(Redis{Site: Site{Name: "a", Kinds: one[:2]}}),
		"a redlock by " + OrderOfCalls + ", 1 at once, tokens after 0s":                                 NewRedis(Redis{Site: Site{Name: "a", Kinds: masters[:1]}}),
	} {
		must.Equal(t, describe(target.Describe()), want)
	}
	must.Equal(t, (&zkTarget{ZooKeeper: ZooKeeper{Site: Site{Name: "/a"}, Chroot: "/team/"}}).full(), "/team/a")
	must.Same(t, upTo("/a/b/c"), []string{"/a", "/a/b", "/a/b/c"})
	err := NewZooKeeper(ZooKeeper{Site: Site{Name: "a//b\x1b", Kinds: zks[:1]}}).Open(t.Context())
	must.Contain(t, fmt.Sprint(err), `a//b\u{1b}: no znode can have this path: `)
}
