package soak

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// nemesis causes one fault after another, and ends each before the next.
type nemesis struct {
	t       *testing.T
	w       *world
	clients *clients
	watch   *watcher
	faults  *faults
	random  *rand.Rand
	counts  map[string]int
	longest time.Duration // the longest pause of the watching process
	agreed  time.Time     // when all members of the ensemble last showed the same data
}

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

// agree makes the members of the ensemble agree again. If a ZooKeeper bug (see
// [servertest.Ensemble.Differing]) made them differ, the holders are unknown. It records a fault
// since they last agreed, and reloads a differing member from the leader.
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
	n.t.Fatal("nemesis: the members of the ensemble still differ")
}

// briefly sleeps for the length of a fault that clients should survive.
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

// isolateZooKeeper cuts a member off from the others. Its clients move to another.
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
	time.Sleep(between(n.random, 1000, int(n.longest.Milliseconds()))) // shorter or longer than what counts as a stall
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

// blindObserver refuses the observer's connections, or drops its requests or the replies.
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

// attend records faults that we did not cause, until ctx ends. On a busy machine, an ensemble may
// elect a leader, and sentinels or cluster nodes may replace a master.
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
		if from, changed := watched.record(w.masterAddr(), asked); changed {
			f.since(from, "failover", sentinelName)()
		}
		masters, replicas := w.roles()
		if len(masters) != 3 || len(replicas) != 3 {
			continue // a failover in progress
		}
		if from, changed := cluster.record(strings.Join(redisAddrs(masters), ","), asked); changed {
			_, ours := f.find(func(one *fault) bool { // a requested failover loses nothing
				return one.kind == "cluster failover" && (one.to.IsZero() || one.to.After(from))
			})
			if !ours {
				f.since(from, "failover", clusterName)()
			}
		}
	}
}

// mastership is the last known masters.
type mastership struct {
	addrs string
	at    time.Time
}

// record stores the masters. If they changed, it returns the time of the previous look.
func (m *mastership) record(addrs string, asked time.Time) (since time.Time, changed bool) {
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
	if !within(time.Minute, ok) {
		n.t.Fatalf("nemesis: %s: not within a minute", what)
	}
}
