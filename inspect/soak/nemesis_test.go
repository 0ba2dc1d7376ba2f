package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// nemesis does one thing after the other to the servers and the clients; each is whole again when it returns.
type nemesis struct {
	t       *testing.T
	w       *world
	clients *clients
	watch   *watcher
	faults  *faults
	random  *rand.Rand
	counts  map[string]int
	longest time.Duration // of a stop of the watching process
	agreed  time.Time     // the members of the ensemble showed the same, last
}

// step does the next thing.
func (n *nemesis) step() {
	kinds := []struct {
		name string
		do   func()
	}{
		{"restart zookeeper", n.restartZooKeeper},
		{"pause zookeeper", n.pauseZooKeeper},
		{"isolate zookeeper", n.isolateZooKeeper},
		{"move sessions", n.moveSessions},
		{"hold back requests", n.holdBackRequests},
		{"pause master", n.pauseMaster},
		{"restart master", n.restartMaster},
		{"failover", n.failOver},
		{"kill master", n.killWatchedMaster},
		{"restart sentinel", n.restartSentinel},
		{"cluster failover", n.failOverCluster},
		{"move slot", n.moveSlot},
		{"restart replica", n.restartClusterReplica},
		{"restart clients", n.restartClients},
		{"kill clients", n.killClients},
		{"stop watch", n.stopWatch},
		{"cut observer", n.cutObserver},
		{"blind observer", n.blindObserver},
		{"slow observer", n.slowObserver},
	}
	one := kinds[n.random.IntN(len(kinds))]
	n.counts[one.name]++
	n.t.Logf("%s %s", time.Now().Format("15:04:05.000"), one.name)
	one.do()
	n.agree()
}

// agree has the members of the ensemble show the same again. Where they do not, by a defect of theirs (see
// [servertest.Ensemble.Differing]), nobody can know who holds what: a fault is noted since they last did, and those that differ
// from their leader take all from it anew.
func (n *nemesis) agree() {
	n.t.Helper()
	from := n.agreed
	for range 10 {
		n.w.ensemble.Heal(n.t)
		apart, whole := n.w.ensemble.Differing()
		switch {
		case !whole:
			continue // an election
		case len(apart) == 0:
			n.agreed = time.Now()
			return
		}
		n.t.Logf("%s members differ: %+v", time.Now().Format("15:04:05.000"), apart)
		n.counts["(members differed)"]++
		end := n.faults.since(from, membersDiffer, zkName)
		n.w.ensemble.Rebuild(n.t, apart[0].Member)
		end()
	}
	n.t.Fatal("nemesis: the members of the ensemble differ, whatever is done")
}

// briefly lasts a fault that clients are to survive.
func (n *nemesis) briefly() { time.Sleep(between(n.random, 500, 2500)) }

func (n *nemesis) restartZooKeeper() {
	z := n.w.zk[n.random.IntN(len(n.w.zk))]
	defer n.faults.begin("restart zookeeper", zkName, z.Addr)()
	if n.random.IntN(2) == 0 {
		z.Kill(n.t)
	} else {
		z.Stop(n.t)
	}
	z.Restart(n.t)
}

func (n *nemesis) pauseZooKeeper() {
	z := n.w.zk[n.random.IntN(len(n.w.zk))]
	defer n.faults.begin("pause zookeeper", zkName, z.Addr)()
	z.Pause(n.t)
	n.briefly()
	z.Resume(n.t)
}

// isolateZooKeeper cuts a member off from the others; its clients go on to another.
func (n *nemesis) isolateZooKeeper() {
	i := n.random.IntN(len(n.w.zk))
	defer n.faults.begin("isolate zookeeper", zkName, n.w.zk[i].Addr)()
	n.w.ensemble.Isolate(i)
	n.briefly()
	n.w.ensemble.Heal(n.t)
}

func (n *nemesis) moveSessions() {
	defer n.faults.begin("move sessions", zkName)()
	n.w.ensemble.Clients[n.random.IntN(3)].Reset()
}

func (n *nemesis) holdBackRequests() {
	p := n.w.ensemble.Clients[n.random.IntN(3)]
	defer n.faults.begin("hold back requests", zkName)()
	p.Stop(servertest.Direction(n.random.IntN(2)))
	n.briefly()
	p.Heal()
}

func (n *nemesis) pauseMaster() {
	m := n.w.masters[n.random.IntN(len(n.w.masters))]
	defer n.faults.begin("pause master", redlockName, m.Addr)()
	m.Pause(n.t)
	n.briefly()
	m.Resume(n.t)
}

func (n *nemesis) restartMaster() {
	m := n.w.masters[n.random.IntN(len(n.w.masters))]
	end := n.faults.begin("restart master", redlockName, m.Addr)
	m.Kill(n.t)
	n.briefly()
	m.Restart(n.t)
	end()
	time.Sleep(ttl) // a master comes back empty only after the longest TTL, or a lock could be granted twice
}

func (n *nemesis) failOver() {
	defer n.faults.begin("failover", sentinelName)()
	old := n.w.masterAddr()
	s := redis.NewSentinelClient(&redis.Options{Addr: n.w.sentinels[0].Addr})
	defer s.Close()
	if err := s.Failover(context.Background(), servertest.SentinelMaster).Err(); err != nil {
		n.t.Logf("failover: %v", err) // one is under way, or its replica is not ready
		return
	}
	if !n.within(func() bool { return n.w.masterAddr() != old && n.replicates() }) {
		n.t.Log("failover: none within a minute") // the sentinels give one up that takes them too long
	}
}

func (n *nemesis) killWatchedMaster() {
	if !n.replicates() {
		return
	}
	defer n.faults.begin("kill master", sentinelName)()
	old := n.w.masterAddr()
	for _, r := range n.w.watched {
		if r.Addr == old {
			r.Kill(n.t)
			n.await("another master", func() bool { return n.w.masterAddr() != old })
			r.Restart(n.t)
		}
	}
	n.await("a replica again", n.replicates)
}

// masterAddr is the master that most sentinels name.
func (w *world) masterAddr() string {
	votes := map[string]int{}
	for _, s := range w.sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
		at, err := c.GetMasterAddrByName(context.Background(), servertest.SentinelMaster).Result()
		c.Close()
		if err == nil {
			addr := net.JoinHostPort(at[0], at[1])
			if votes[addr]++; votes[addr] > len(w.sentinels)/2 {
				return addr
			}
		}
	}
	return ""
}

// replicates reports whether the master has its replica.
func (n *nemesis) replicates() bool {
	master := n.w.masterAddr()
	for _, r := range n.w.watched {
		if r.Addr == master {
			continue
		}
		c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
		info, err := c.InfoMap(context.Background(), "replication").Result()
		c.Close()
		if err != nil || info["Replication"]["master_link_status"] != "up" || info["Replication"]["role"] != "slave" {
			return false
		}
	}
	return master != ""
}

func (n *nemesis) restartSentinel() {
	s := n.w.sentinels[n.random.IntN(len(n.w.sentinels))]
	defer n.faults.begin("restart sentinel", sentinelName, s.Addr)()
	s.Kill(n.t)
	s.Restart(n.t)
}

// roles are the nodes of the cluster by what they are now: masters, and the replica of each.
func (w *world) roles() (masters []*servertest.Redis, replicas map[*servertest.Redis]*servertest.Redis) {
	replicas = map[*servertest.Redis]*servertest.Redis{}
	byAddr := map[string]*servertest.Redis{}
	for _, r := range w.cluster {
		byAddr[r.Addr] = r
	}
	for _, r := range w.cluster {
		c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
		info, err := c.InfoMap(context.Background(), "replication").Result()
		c.Close()
		if err != nil {
			continue
		}
		about := info["Replication"]
		if about["role"] == "master" {
			masters = append(masters, r)
		} else if of := byAddr[net.JoinHostPort(about["master_host"], about["master_port"])]; of != nil && about["master_link_status"] == "up" {
			replicas[of] = r
		}
	}
	return masters, replicas
}

func (n *nemesis) failOverCluster() {
	masters, replicas := n.w.roles()
	if len(masters) != 3 || len(replicas) != 3 {
		return
	}
	old := masters[n.random.IntN(3)]
	replica := replicas[old]
	defer n.faults.begin("cluster failover", clusterName, old.Addr)()
	c := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer c.Close()
	if err := c.ClusterFailover(context.Background()).Err(); err != nil {
		n.t.Logf("cluster failover: %v", err)
		return
	}
	n.await("another master of the slots", func() bool {
		_, now := n.w.roles()
		return now[replica] == old
	})
}

func (n *nemesis) restartClusterReplica() {
	_, replicas := n.w.roles()
	for _, m := range n.w.cluster {
		if r := replicas[m]; r != nil {
			defer n.faults.begin("restart replica", clusterName, r.Addr)()
			r.Kill(n.t)
			r.Restart(n.t)
			n.await("the replica follows", func() bool { _, now := n.w.roles(); return len(now) == 3 })
			return
		}
	}
}

// moveSlot moves the slot of one lock to another master, key by key as redis-cli does.
func (n *nemesis) moveSlot() {
	masters, _ := n.w.roles()
	if len(masters) != 3 {
		return
	}
	ctx := context.Background()
	key := fmt.Sprintf("lock:slot:%d", n.random.IntN(3))
	defer n.faults.begin("move slot", clusterName)()
	conns := map[*servertest.Redis]*redis.Client{}
	ids := map[*servertest.Redis]string{}
	for _, m := range masters {
		conns[m] = redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2})
		defer conns[m].Close()
		ids[m] = conns[m].Do(ctx, "CLUSTER", "MYID").Val().(string)
	}
	slot := conns[masters[0]].ClusterKeySlot(ctx, key).Val()
	var from *servertest.Redis
	for _, m := range masters {
		if err := conns[m].Get(ctx, key).Err(); err == nil || err == redis.Nil {
			from = m
		}
	}
	if from == nil {
		return
	}
	to := masters[n.random.IntN(3)]
	for to == from {
		to = masters[n.random.IntN(3)]
	}
	do := func(m *servertest.Redis, args ...any) {
		if err := conns[m].Do(ctx, args...).Err(); err != nil {
			n.t.Logf("move slot: %v: %v", args, err)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from])
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
	n.briefly()
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		keys, err := conns[from].ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil || len(keys) == 0 {
			break
		}
		for _, k := range keys {
			do(from, "MIGRATE", host, port, k, 0, 1000)
		}
	}
	for _, m := range []*servertest.Redis{to, from} {
		do(m, "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
	}
	for _, m := range masters {
		if m != to && m != from {
			do(m, "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
		}
	}
}

func (n *nemesis) restartClients() {
	for i, c := range n.clients.own {
		if n.random.IntN(3) == 0 {
			end := n.faults.begin("restart clients", c.name)
			c.end()
			c.run(n.random.Uint64() + uint64(i))
			end()
		}
	}
}

func (n *nemesis) killClients() {
	defer n.faults.begin("kill clients", zkName, sentinelName, zkName+":/soak/kazoo", sentinelName+":lock:redis-py")()
	n.clients.python.kill()
	n.clients.python.start(n.t, servertest.RequirePython(n.t, "kazoo"))
}

func (n *nemesis) stopWatch() {
	defer n.faults.begin("stop watch", watchName)()
	n.watch.signal(n.t, syscall.SIGSTOP)
	time.Sleep(between(n.random, 1000, int(n.longest.Milliseconds())))
	n.watch.signal(n.t, syscall.SIGCONT)
}

func (n *nemesis) cutObserver() {
	defer n.faults.begin("cut observer", observerName)()
	for _, p := range append(n.w.zkLook, n.w.look...) {
		if n.random.IntN(2) == 0 {
			p.Reset()
		}
	}
}

// blindObserver lets the observer see nothing of one service, or nothing of what it asks, or hear nothing.
func (n *nemesis) blindObserver() {
	defer n.faults.begin("blind observer", observerName)()
	list := n.w.zkLook
	if n.random.IntN(2) == 0 {
		list = n.w.look
	}
	how := n.random.IntN(3)
	for _, p := range list {
		switch how {
		case 0:
			p.Refuse()
		case 1:
			p.Stop(servertest.ToServer)
		default:
			p.Stop(servertest.ToClient)
		}
	}
	n.briefly()
	n.briefly()
	for _, p := range list {
		p.Heal()
	}
}

func (n *nemesis) slowObserver() {
	defer n.faults.begin("slow observer", observerName)()
	for _, p := range append(n.w.zkLook, n.w.look...) {
		p.Delay(between(n.random, 1, 150))
	}
	n.briefly()
	for _, p := range append(n.w.zkLook, n.w.look...) {
		p.Heal()
	}
}

// attend notes what happens to the servers besides, as they report it themselves, until ctx ends: on a busy machine an
// ensemble elects a leader, and sentinels and nodes of a cluster replace a master, although nobody made them.
func (f *faults) attend(ctx context.Context, w *world) {
	var whole func()
	var watched, cluster mastership
	for pause(ctx, 300*time.Millisecond) {
		switch ok := w.ensemble.Whole(); {
		case !ok && whole == nil:
			whole = f.begin("ensemble", zkName)
		case ok && whole != nil:
			whole()
			whole = nil
		}
		asked := time.Now()
		if from, changed := watched.is(w.masterAddr(), asked); changed {
			f.since(from, "failover", sentinelName)()
		}
		masters, replicas := w.roles()
		if len(masters) != 3 || len(replicas) != 3 {
			continue // it is not over
		}
		if from, changed := cluster.is(strings.Join(redisAddrs(masters), ","), asked); changed {
			_, ours := f.find(func(one *fault) bool { // one that is asked for loses nothing
				return one.kind == "cluster failover" && (one.to.IsZero() || one.to.After(from))
			})
			if !ours {
				f.since(from, "failover", clusterName)()
			}
		}
	}
}

// mastership holds the masters as of the last question.
type mastership struct {
	addrs string
	at    time.Time
}

// is takes in who they are, and reports since when they may be others.
func (m *mastership) is(addrs string, asked time.Time) (since time.Time, changed bool) {
	if addrs == "" {
		return since, false
	}
	since, changed = m.at, m.addrs != "" && m.addrs != addrs
	m.addrs, m.at = addrs, asked
	return since, changed
}

// await polls until ok.
func (n *nemesis) await(what string, ok func() bool) {
	n.t.Helper()
	if !n.within(ok) {
		n.t.Fatalf("nemesis: %s: not within a minute", what)
	}
}

// within polls until ok, a minute at most.
func (n *nemesis) within(ok func() bool) bool {
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
