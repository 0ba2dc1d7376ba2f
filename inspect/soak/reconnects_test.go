package soak

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime"
	"runtime/pprof"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var reconnects = flag.Int("soak.reconnects", 4, "how `OFTEN` TestReconnects breaks the connections of each backend")

// reached is a backend with connections that a test can break.
type reached struct {
	name   string
	source inspect.Source
	lock   string
	cut    func() // breaks all connections of the observer
	// steady reports whether the observer has all its watches or tracking connections.
	steady func() bool
	// take acquires the lock for a new holder and returns its name.
	take func() string
	// held counts the watches and connections on the servers, or the tracked clients and all
	// clients.
	held func() int
}

// TestReconnects breaks the connections of each backend repeatedly. The observer must see the change
// after each, and must not leak watches, clients, goroutines, files or memory.
func TestReconnects(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) reached{
		"zk": reachedZooKeeper, "zk with TLS": reachedSecureZooKeeper,
		"redis": reachedMaster, "redis with TLS": reachedSecureMaster, "sentinel": reachedSentinel, "cluster": reachedCluster,
	} {
		t.Run(name, func(t *testing.T) { reconnect(t, begin(t)) })
	}
}

// passing is how many connections and goroutines may be temporary. A leak on each reconnect would
// exceed it.
const passing = 3

func reconnect(t *testing.T, b reached) {
	observer := inspect.NewObserver(time.Now, b.source)
	observer.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- observer.Run(ctx) }()
	turns := 0
	turn := func() {
		turns++
		b.cut()
		name := b.take()
		must.Become(t, fmt.Sprintf("the new holder after reconnect %d", turns), func() bool {
			l := observer.Snapshot().Lock(inspect.ID{Backend: b.name, Path: b.lock})
			return l != nil && len(l.Holders) == 1 && l.Holders[0].Name.String() == name
		})
		must.Become(t, fmt.Sprintf("all watches or tracking connections after reconnect %d", turns), b.steady)
	}
	must.Become(t, "the first pass", func() bool {
		list := observer.Snapshot().Backends
		return len(list) == 1 && list[0].FirstPass
	})
	for range 3 {
		turn()
	}
	before := used(b)
	for range *reconnects {
		turn()
	}
	var after usage
	ok := within(time.Minute, func() bool {
		after = used(b)
		return after.held <= before.held+passing && after.goroutines <= before.goroutines+passing && after.files <= before.files+passing
	})
	t.Logf("%d reconnects: %+v, before %+v", *reconnects, after, before)
	if !ok {
		t.Error("a leak; goroutines:")
		must.Succeed(t, pprof.Lookup("goroutine").WriteTo(t.Output(), 1))
	}
	// The lock's history is bounded. 1,000 leaked connections with 8 KiB buffers would exceed this.
	must.True(t, after.heap <= before.heap+2<<20, after.heap, "bytes in use,", before.heap, "before")
	cancel()
	must.Be(t, <-ended, nil)
}

// usage is what an observer uses on the servers and in this process; heap is in bytes.
type usage struct {
	held, goroutines, files int
	heap                    uint64
}

func used(b reached) usage {
	runtime.GC()
	runtime.GC() // runs finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd") // Linux only; none are counted elsewhere
	return usage{b.held(), runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

func reachedZooKeeper(t *testing.T) reached {
	server := servertest.StartZooKeeper(t)
	return reachedEnsemble(t, server.Addr, server.Addr, nil)
}

func reachedSecureZooKeeper(t *testing.T) reached {
	certificates := servertest.NewCertificates(t)
	server, secure := servertest.StartZooKeeperTLS(t, certificates)
	return reachedEnsemble(t, server.Addr, secure, certificates.Client(t))
}

// reachedEnsemble is a real server at addr. The observer connects to secure through a wire that
// resets connections. The session survives.
func reachedEnsemble(t *testing.T, addr, secure string, config *tls.Config) reached {
	wire := servertest.StartWire(t, secure)
	conn := servertest.ConnectZooKeeper(t, addr, 20*time.Second)
	for _, p := range []string{"/locks", "/locks/a"} {
		must.Have(conn.Create(p, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	}
	last := ""
	return reached{
		name: "zk", lock: "/locks/a", cut: wire.Reset,
		source: zksource.New(zksource.Config{Backend: "zk", Servers: []string{wire.Addr()}, TLS: config, Roots: []string{"/locks"}}),
		take: func() string {
			made, err := conn.Create("/locks/a/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err == nil && last != "" {
				err = conn.Delete(last, -1)
			}
			must.Succeed(t, err)
			last = made
			return path.Base(made)
		},
		steady: func() bool { return watchesOf(t, addr) > 0 },
		held:   func() int { return watchesOf(t, addr) + wire.Open() },
	}
}

func reachedMaster(t *testing.T) reached {
	m := servertest.StartRedis(t)
	return reachedRedis(t, "redis", redis.UniversalOptions{Addrs: []string{m.Addr}}, m)
}

func reachedSecureMaster(t *testing.T) reached {
	certificates := servertest.NewCertificates(t)
	m, secure := servertest.StartRedisTLS(t, certificates)
	return reachedRedis(t, "rediss", redis.UniversalOptions{Addrs: []string{secure}, TLSConfig: certificates.Client(t)}, m)
}

func reachedSentinel(t *testing.T) reached {
	sentinel, master, _ := servertest.StartRedisSentinel(t)
	return reachedRedis(t, "sentinel", redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}, master)
}

func reachedCluster(t *testing.T) reached {
	nodes := servertest.StartRedisCluster(t, 3)
	return reachedRedis(t, "cluster", redis.UniversalOptions{Addrs: redisAddrs(nodes), IsClusterMode: true}, nodes...)
}

// reachedRedis are real servers that close their clients' connections. The lock is on one of them.
func reachedRedis(t *testing.T, name string, o redis.UniversalOptions, servers ...*servertest.Redis) reached {
	const lock = "lock:a"
	own := redis.UniversalOptions{Addrs: redisAddrs(servers), IsClusterMode: len(servers) > 1}
	client := redis.NewUniversalClient(&own)
	t.Cleanup(func() { client.Close() })
	ctx := context.Background()
	each := func(f func(c *redis.Client)) {
		for _, s := range servers {
			c := redis.NewClient(&redis.Options{Addr: s.Addr})
			f(c)
			c.Close()
		}
	}
	turns := 0
	// clients adds up these fields of INFO on all servers.
	clients := func(fields ...string) (n int) {
		each(func(c *redis.Client) {
			info := must.Have(c.InfoMap(ctx, "clients").Result())(t)
			for _, field := range fields {
				n += must.Have(strconv.Atoi(info["Clients"][field]))(t)
			}
		})
		return n
	}
	return reached{
		name: name, lock: lock,
		source: redissource.New(redissource.Config{Backend: name, Masters: []*redis.UniversalOptions{&o}}),
		cut: func() {
			each(func(c *redis.Client) {
				for _, kind := range []string{"normal", "pubsub"} {
					must.Succeed(t, c.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes").Err())
				}
			})
		},
		take: func() string {
			turns++
			value := fmt.Sprintf("holder-%d", turns)
			must.Succeed(t, client.Set(ctx, lock, value, 0).Err())
			return value
		},
		steady: func() bool { return clients("tracking_clients") == len(servers) },
		held:   func() int { return clients("connected_clients", "tracking_clients") },
	}
}
