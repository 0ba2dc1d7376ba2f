package redissource_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// oneMaster configures a backend with one master.
func oneMaster(o redis.UniversalOptions) redissource.Config {
	cfg := config()
	cfg.Masters = []*redis.UniversalOptions{&o}
	return cfg
}

// A replaced master keeps answering for a while. The source leaves it once it asks the sentinels
// again, and reports a gap.
func TestReplacedMasterIsAbandoned(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	set(t, master, "lock:a", "x", 0)
	v := watch(t, oneMaster(redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}))
	v.Await("held", heldBy(v, "lock:a", "x"))
	must.Succeed(t, master.Client(t).Wait(context.Background(), 1, time.Minute).Err())
	c := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	defer c.Close()
	must.Become(t, "a failover begins", func() bool { return c.Failover(context.Background(), servertest.SentinelMaster).Err() == nil })
	v.Await("the new master, and a gap", func() bool {
		return v.Backend.Servers[0].Addr == replica.Addr && v.Gap != nil && v.Gap.Until.After(v.Gap.From)
	})
	set(t, replica, "lock:a", "z", 0)
	v.Await("the new master's key", heldBy(v, "lock:a", "z"))
}

func TestASocketIsReadByPush(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis.sock")
	m := servertest.StartRedis(t, "--unixsocket", path)
	v := watchPushed(t, oneMaster(redis.UniversalOptions{Addrs: []string{path}}))
	set(t, m, "lock:a", "x", 0)
	v.Await("held", heldBy(v, "lock:a", "x"))
	v.Await("its name", func() bool { return v.Backend.Servers[0].Addr == path })
}

func TestWaiterMaySubscribeOnReplica(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	run(t, m.Client(t), redissonQueue)
	cfg := config(m)
	expectWaiter(t, once(t, cfg).Locks["lock:a"], true, "")
	replicaOf(t, m, "lock:a")
	expectWaiter(t, once(t, cfg).Locks["lock:a"], false, "")
}

// replicaOf starts a replica and waits until it has a key.
func replicaOf(t *testing.T, m *servertest.Redis, key string) *servertest.Redis {
	t.Helper()
	host, port, err := net.SplitHostPort(m.Addr)
	must.Succeed(t, err)
	replica := servertest.StartRedis(t, "--replicaof", host+" "+port)
	c := replica.Client(t)
	must.Become(t, "the key is replicated", func() bool { return c.Exists(context.Background(), key).Val() != 0 })
	return replica
}

// unseenOf is why an aspect is unknown on a server, and what to do; empty if it is known.
func unseenOf(list []inspect.Unseen, aspect inspect.Aspect, where string) string {
	for _, u := range list {
		if u.Aspect == aspect && u.Where == where {
			return u.Reason + " (" + u.Advice + ")"
		}
	}
	return ""
}

func TestAReplicaHasNoVote(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	set(t, m, "lock:a", "x", time.Minute)
	replica := replicaOf(t, m, "lock:a")
	for _, given := range [][]*servertest.Redis{{m, replica}, {replica, m}} {
		v := once(t, config(given...))
		l := v.Locks["lock:a"]
		if l == nil || l.State != inspect.StateHeld || len(l.Masters) != 1 || l.Masters[0].Addr != m.Addr || l.Quorum != 1 || l.Kind != inspect.KindMutex {
			t.Errorf("the replica has a vote: %+v", l)
		}
		if why := unseenOf(v.Backend.Unseen, inspect.AspectVotes, replica.Addr); !strings.Contains(why, "replica of "+m.Addr) {
			t.Errorf("the replica is not named: %+v", v.Backend.Unseen)
		}
		if len(v.Backend.Servers) != 2 || !slices.ContainsFunc(v.Backend.Servers, func(s inspect.Server) bool { return s.Addr == replica.Addr && s.Role == "replica" }) {
			t.Errorf("servers %+v", v.Backend.Servers)
		}
	}
	alone := once(t, config(replica))
	if l := alone.Locks["lock:a"]; l == nil || l.State != inspect.StateHeld || unseenOf(l.Unseen, inspect.AspectVotes, replica.Addr) == "" {
		t.Errorf("only a replica: %+v", l)
	}
	v := watch(t, config(m, replica))
	v.Await("one vote", func() bool {
		l := v.Locks["lock:a"]
		return l != nil && len(l.Masters) == 1 && l.State == inspect.StateHeld
	})
	must.Succeed(t, replica.Client(t).ReplicaOf(t.Context(), "no", "one").Err())
	v.Await("two votes after the promotion", func() bool { return len(v.Locks["lock:a"].Masters) == 2 })
}

func TestSingleClusterNodeIsReported(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartRedisCluster(t, 2)
	c := clusterClient(t, nodes)
	mine, _ := keyOn(t, c, nodes[0])
	theirs, _ := keyOn(t, c, nodes[1])
	for _, key := range []string{mine, theirs} {
		must.Succeed(t, c.Set(t.Context(), key, "x", 0).Err())
	}
	v := once(t, config(nodes[0]))
	if why := unseenOf(v.Backend.Unseen, inspect.AspectLocks, nodes[0].Addr); !strings.Contains(why, "redis+cluster://"+nodes[0].Addr) {
		t.Errorf("the cluster is not named: %+v", v.Backend.Unseen)
	}
	if !v.Backend.Servers[0].Cluster || v.Locks[mine] == nil || v.Locks[mine].State != inspect.StateHeld || v.Locks[theirs] != nil {
		t.Errorf("%+v, %v", v.Backend, v.Describe())
	}
	cfg := config(nodes[0])
	cfg.Only = theirs
	if l := once(t, cfg).Locks[theirs]; l == nil || l.State != inspect.StateUnknown || !strings.HasPrefix(unseenOf(l.Unseen, inspect.AspectHolders, nodes[0].Addr), "MOVED") {
		t.Errorf("a key of another node: %+v", l)
	}
	before := commands(t, nodes[0].Client(t))
	once(t, cfg)
	if after := commands(t, nodes[0].Client(t)); after["memory|usage"] != before["memory|usage"] || after["type"] != before["type"] {
		t.Error("the key of another node got more requests")
	}
}

func TestSentinelMasterShowsOwnAddress(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	set(t, master, "lock:a", "x", 0)
	must.Succeed(t, (&servertest.Redis{Addr: sentinel}).Client(t).Do(t.Context(), "acl", "setuser", "default", "resetpass", ">sesame").Err())
	cfg := oneMaster(redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster, SentinelPassword: "sesame"})
	v := once(t, cfg)
	if l := v.Locks["lock:a"]; l == nil || l.Masters[0].Addr != master.Addr || v.Backend.Servers[0].Addr != master.Addr || v.Backend.Topology != inspect.Sentinel {
		t.Errorf("%+v, %v", v.Backend, v.Describe())
	}
	cfg.Masters[0].SentinelPassword = ""
	if b := once(t, cfg).Backend; b.State != inspect.Down || !strings.Contains(b.Error, "LOCKSCOPE_REDIS_SENTINEL_PASSWORD") {
		t.Errorf("without the sentinel's password: %s", b.Error)
	}
	cfg.Masters[0].SentinelPassword, cfg.Masters[0].MasterName = "sesame", "yourmaster"
	if b := once(t, cfg).Backend; b.State != inspect.Down || !strings.Contains(b.Error, `knows no master named "yourmaster"`) || strings.Contains(b.Error, "nil") {
		t.Errorf("an unknown name: %s", b.Error)
	}
	cfg.Masters[0].MasterName = servertest.SentinelMaster
	w := watchPushed(t, cfg)
	w.Await("held", inState(w, "lock:a", inspect.StateHeld))
	must.Succeed(t, master.Client(t).Wait(context.Background(), 1, time.Minute).Err())
	master.Kill(t)
	w.Await("down, with the master's address", func() bool { return w.Backend.State == inspect.Down && strings.Contains(w.Backend.Error, master.Addr) })
	w.Await("the promoted replica", func() bool {
		s, l := w.Backend.Servers[0], w.Locks["lock:a"]
		return s.Addr == replica.Addr && s.State == inspect.ServerUp && s.Role == "master" && l.State == inspect.StateHeld && l.Masters[0].Addr == replica.Addr
	})
	awaitPush(w)
	set(t, replica, "lock:a", "z", 0)
	w.Await("the new master's key", heldBy(w, "lock:a", "z"))
}

func TestSeveralServersBehindOneAddress(t *testing.T) {
	t.Parallel()
	a, b := servertest.StartRedis(t), servertest.StartRedis(t)
	set(t, a, "lock:orders", "web-1", 0)
	set(t, b, "lock:orders", "web-2", 0)
	for name, tt := range map[string]struct {
		pick    func(n int) string
		several bool
	}{
		"alternating":      {func(n int) string { return []string{a.Addr, b.Addr}[n%2] }, true},
		"two each":         {func(n int) string { return []string{a.Addr, b.Addr}[n/2%2] }, true},
		"a failover":       {func(n int) string { return []string{a.Addr, b.Addr}[min(n, 1)] }, false},
		"a later failover": {func(n int) string { return []string{a.Addr, b.Addr}[min(n/4, 1)] }, false},
		"only one server":  {func(int) string { return a.Addr }, false},
	} {
		cfg := config(&servertest.Redis{Addr: servertest.StartBalancer(t, tt.pick)})
		s := diagnosed(t, cfg)
		backend := s.Backends[0]
		found := ""
		for _, f := range backend.Findings {
			found += f.Rule + ": " + f.Message + "\n"
		}
		must.Equal(t, backend.State == inspect.Degraded, tt.several, name, backend.State, backend.Error)
		const says = "suspect-target: several servers answer at this address"
		if strings.Contains(found, says) != tt.several || strings.Contains(backend.Error, "several servers") != tt.several {
			t.Errorf("%s: error %q, findings %q", name, backend.Error, found)
		}
		for l := range s.Locks() {
			for _, f := range l.Findings {
				must.True(t, !tt.several || !strings.Contains(f.Advice(), "lockscope release"), name, f.Advice())
			}
		}
	}
}

func TestRedlockMissingMasterIsNotSuspect(t *testing.T) {
	t.Parallel()
	masters := servertest.StartEmbeddedMasters(t, 3)
	for i := range 9 {
		for _, m := range masters {
			set(t, m, fmt.Sprintf("lock:%d", i), "a", time.Hour)
		}
	}
	cfg := config(masters...)
	cfg.Match = []string{"lock:*"}
	for _, fail := range []func(){func() { masters[0].Restart(t) }, func() { masters[1].Stop(t) }} {
		fail()
		for _, f := range diagnosed(t, cfg).Backends[0].Findings {
			must.True(t, f.Rule != "suspect-target", f.Message)
		}
	}
}
