//go:build unix

package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// target has servers, the locks tested on them, and the faults.
type target struct {
	name   string
	config func(round int) Config
	// faults that the locks promise to survive or to report in time.
	faults []fault
	// heal ends all faults and waits until the servers serve.
	heal func(t *testing.T)
	// left lists the leftover nodes and keys of a round.
	left func(ctx context.Context, cfg Config) ([]string, error)
	// watches returns the paths watched by connected sessions, and the number of ended sessions whose watches a server
	// still has. It is nil if the servers have no watches.
	watches func(ctx context.Context) (paths []string, leaked int, err error)
}

const (
	campaignTick   = 200 * time.Millisecond
	sessionTimeout = 2 * time.Second
	lockTTL        = 1500 * time.Millisecond
)

var (
	mutexRule = Rule{Permits: 1, Tokens: true}
	rwRule    = Rule{Permits: 1, Tokens: true, Readers: "read"}
	noTokens  = Rule{Permits: 1}
	zkMutexes = []string{"curator", "kazoo", "go-zookeeper", "sequential"}
	zkRWs     = []string{"curator", "kazoo"} // and semaphores
	newTarget = map[string]func(t *testing.T) *target{
		"zookeeper": newZooKeeperTarget, "redis": newRedisTarget, "redlock": newRedlockTarget, "cluster": newClusterTarget, "replica": newReplicaTarget,
	}
)

// everyTarget has the names of all targets.
const everyTarget = "zookeeper,redis,redlock,cluster,replica"

func zooKeeperLocks(round int) []Lock {
	dir := fmt.Sprintf("/campaign%d", round)
	var locks []Lock
	mutex := func(name, recipe, foreign string) {
		locks = append(locks, Lock{
			Name: path.Join(dir, name), On: lockops.OnZooKeeper, Kinds: []string{"mutex"}, Recipe: recipe, Rule: mutexRule, Foreign: foreign,
		})
	}
	for _, recipe := range zkMutexes {
		mutex("mutex-"+recipe, recipe, "")
	}
	mutex("with-go-zookeeper", "go-zookeeper", "go-zookeeper")
	mutex("with-kazoo", "kazoo", "kazoo")
	for _, recipe := range zkRWs {
		locks = append(locks, Lock{Name: path.Join(dir, "rw-"+recipe), On: lockops.OnZooKeeper, Kinds: []string{"read", "write"}, Recipe: recipe, Rule: rwRule})
		locks = append(locks, Lock{Name: path.Join(dir, "semaphore-"+recipe), On: lockops.OnZooKeeper, Kinds: []string{"semaphore=2"}, Recipe: recipe, Rule: Rule{Permits: 2}})
	}
	return locks
}

func startEnsemble(t *testing.T) *ensemble {
	return &ensemble{servertest.StartEnsemble(t, servertest.EnsembleConfig{Tick: campaignTick, SyncLimit: 10}), map[int]bool{}}
}

func newZooKeeperTarget(t *testing.T) *target {
	e := startEnsemble(t)
	behindWires := each.Of(e.Clients, (*servertest.Wire).Addr)
	direct := each.Of(e.Members, func(m *servertest.ZooKeeper) string { return m.Addr })
	return &target{
		name: "zookeeper",
		config: func(round int) Config {
			return Config{ZooKeeper: behindWires, SessionTimeout: sessionTimeout, TTL: sessionTimeout, Locks: zooKeeperLocks(round)}
		},
		faults:  slices.Concat(e.serverFaults(), e.networkFaults(), linkFaults(e.Clients), forcedOnZooKeeper(direct)),
		heal:    e.heal,
		left:    func(ctx context.Context, cfg Config) ([]string, error) { return leftOnZooKeeper(ctx, direct, cfg) },
		watches: func(ctx context.Context) ([]string, int, error) { return watchesOn(ctx, direct) },
	}
}

// ensemble is three real servers; some may be down.
type ensemble struct {
	*servertest.Ensemble
	down map[int]bool
}

func (e *ensemble) any(r *rand.Rand) int { return r.IntN(len(e.Members)) }

// leader returns the leader, or any member during an election.
func (e *ensemble) leader() int {
	i, _ := e.LeaderNow()
	return i
}

func (e *ensemble) kill(t *testing.T, i int) func() {
	e.Members[i].Kill(t)
	e.down[i] = true
	return func() { e.start(t, i) }
}

// start restarts a killed member, and waits until it serves unless another fault cuts it off from its
// leader.
func (e *ensemble) start(t *testing.T, i int) {
	e.Mend()
	e.Members[i].Restart(t)
	delete(e.down, i)
}

func (e *ensemble) pause(t *testing.T, i int) func() {
	e.Members[i].Pause(t)
	return func() { e.Members[i].Resume(t) }
}

func (e *ensemble) serverFaults() []fault {
	return []fault{
		{name: "a server is stopped", do: func(t *testing.T, r *rand.Rand) func() { return e.pause(t, e.any(r)) }},
		{name: "a server is killed", do: func(t *testing.T, r *rand.Rand) func() { return e.kill(t, e.any(r)) }},
		{name: "the leader is killed", do: func(t *testing.T, _ *rand.Rand) func() { return e.kill(t, e.leader()) }},
		{name: "the leader is stopped", do: func(t *testing.T, _ *rand.Rand) func() { return e.pause(t, e.leader()) }},
	}
}

func (e *ensemble) networkFaults() []fault {
	return []fault{
		{name: "the leader is silently cut off", do: func(*testing.T, *rand.Rand) func() { e.Isolate(e.leader()); return e.Mend }},
		{name: "a follower is silently cut off", do: func(_ *testing.T, r *rand.Rand) func() {
			e.Isolate((e.leader() + 1 + r.IntN(2)) % 3)
			return e.Mend
		}},
		{name: "one direction between two members is cut", do: func(_ *testing.T, r *rand.Rand) func() {
			from := e.any(r)
			e.Cut(from, (from+1+r.IntN(2))%3)
			return e.Mend
		}},
		{name: "a member's connections are reset", do: func(_ *testing.T, r *rand.Rand) func() { e.Reset(e.any(r)); return nil }},
		{name: "clients are silently cut off from a server", do: func(_ *testing.T, r *rand.Rand) func() {
			w := e.Clients[e.any(r)]
			w.Stop(direction(r)...)
			return w.Heal
		}},
		{name: "clients are silently cut off from all servers", do: func(_ *testing.T, r *rand.Rand) func() {
			for _, w := range e.Clients {
				w.Stop(direction(r)...)
			}
			return func() { healAll(e.Clients) }
		}},
		{name: "clients' connections are reset", do: func(_ *testing.T, r *rand.Rand) func() { e.Clients[e.any(r)].Reset(); return nil }},
	}
}

func (e *ensemble) heal(t *testing.T) {
	for _, m := range e.Members {
		m.Resume(t)
	}
	for i := range e.down {
		e.start(t, i)
	}
	e.Heal(t)
}

// slowestLink is the longest round trip over a slow link.
const slowestLink = 200 * time.Millisecond

func healAll(links []*servertest.Wire) {
	for _, w := range links {
		w.Heal()
	}
}

// linkFaults make clients' links long, slow or half-open.
func linkFaults(links []*servertest.Wire) []fault {
	heal := func() { healAll(links) }
	return []fault{
		{name: "a link is slow", do: func(_ *testing.T, r *rand.Rand) func() {
			links[r.IntN(len(links))].Delay(upTo(r, slowestLink/2))
			return heal
		}},
		{name: "all links are slow", do: func(_ *testing.T, r *rand.Rand) func() {
			for _, w := range links {
				w.Delay(upTo(r, slowestLink/2))
			}
			return heal
		}},
		{name: "connections are half-open", do: func(_ *testing.T, r *rand.Rand) func() {
			links[r.IntN(len(links))].HalfOpen()
			return nil
		}},
	}
}

// direction draws the silent directions of a wire: one or both.
func direction(r *rand.Rand) []servertest.Direction {
	return [][]servertest.Direction{nil, {servertest.ToServer}, {servertest.ToClient}}[r.IntN(3)]
}

// sendCommand sends a command to a master and returns its answer. That is empty if another fault has stopped or killed
// the master or made it load.
func sendCommand(t *testing.T, addr string, words ...any) string {
	c := dialAdmin(addr)
	defer c.Close()
	answer, err := c.Do(t.Context(), words...).Text()
	var refused redis.Error
	if errors.As(err, &refused) && !strings.HasPrefix(err.Error(), "LOADING") {
		t.Errorf("%v: %v", words, err)
	}
	return answer
}

func dialAdmin(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: time.Second})
}

// reload makes a master load its data again and answer LOADING meanwhile, unless it is still loading
// its append-only file. Redis would run DEBUG then, and take the end of the inner load for the end of
// all loading. Scripts would find half of the data, and the rest of the file would restore keys that
// they had found missing.
func reload(t *testing.T, addr string) {
	if strings.Contains(sendCommand(t, addr, "INFO", "persistence"), "\nloading:0\r") {
		sendCommand(t, addr, "DEBUG", "RELOAD")
	}
}

func addrsOf(masters []*servertest.Redis) []string {
	return each.Of(masters, func(m *servertest.Redis) string { return m.Addr })
}

// oneRedis returns this build's kinds of locks on one Redis.
func oneRedis(round int) []Lock {
	var locks []Lock
	for _, k := range lockops.KindsOn(lockops.OnRedis) {
		locks = append(locks, Lock{Name: fmt.Sprintf("lock:campaign%d-%s", round, k.Name), On: lockops.OnRedis, Kinds: []string{k.Name}, Rule: mutexRule})
	}
	return locks
}

func newRedisTarget(t *testing.T) *target {
	return redisTarget(t, "redis", 1, func(round int) []Lock {
		return append(oneRedis(round), Lock{
			Name: fmt.Sprintf("lock:campaign%d-with-redis-py", round), On: lockops.OnRedis, Kinds: []string{"mutex"}, Rule: mutexRule, Foreign: "redis-py",
		})
	})
}

func newRedlockTarget(t *testing.T) *target {
	return redisTarget(t, "redlock", 5, func(round int) []Lock {
		return []Lock{{Name: fmt.Sprintf("lock:campaign%d-redlock", round), On: lockops.OnRedisMasters, Kinds: []string{"redlock"}, Rule: noTokens}}
	})
}

func newClusterTarget(t *testing.T) *target {
	nodes := servertest.StartRedisCluster(t, 3)
	any := func(r *rand.Rand) *servertest.Redis { return nodes[r.IntN(len(nodes))] }
	var move *slotMove // unfinished
	tg := &target{name: "cluster"}
	tg.config = func(round int) Config {
		var locks []Lock
		for i := range 3 { // on other nodes
			for _, l := range oneRedis(round) {
				l.Name += fmt.Sprint("-", i)
				locks = append(locks, l)
			}
		}
		return Config{Redis: [][]string{addrsOf(nodes)}, Cluster: true, TTL: lockTTL, Locks: locks}
	}
	tg.faults = []fault{
		{name: "a node is stopped", do: func(t *testing.T, r *rand.Rand) func() { n := any(r); n.Pause(t); return func() { n.Resume(t) } }},
		{name: "a slot moves", do: func(t *testing.T, r *rand.Rand) func() {
			if move == nil {
				move = newSlotMove(t, r, nodes)
			}
			if move != nil && move.run(t) {
				move = nil
			}
			return nil
		}},
	}
	tg.heal = func(t *testing.T) {
		for _, n := range nodes {
			n.Resume(t)
		}
		for move != nil && !move.run(t) {
			time.Sleep(50 * time.Millisecond) // a node may have just been resumed
		}
		move = nil
		c := nodes[0].Client(t)
		must.Become(t, "the cluster serves", func() bool {
			return strings.Contains(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
		})
	}
	tg.left = func(ctx context.Context, cfg Config) ([]string, error) { return leftOnRedis(ctx, addrsOf(nodes), cfg) }
	return tg
}

// leftOnZooKeeper returns the remaining contenders of a campaign's locks, which are ephemeral
// nodes.
func leftOnZooKeeper(ctx context.Context, servers []string, cfg Config) ([]string, error) {
	var left []string
	err := withZooKeeper(servers, func(conn *zk.Conn) error {
		left = nil
		var look func(node string) error
		look = func(node string) error {
			names, stat, err := conn.Children(node)
			if err == zk.ErrNoNode {
				return nil
			}
			if err != nil {
				return err
			}
			if stat.EphemeralOwner != 0 {
				left = append(left, node)
			}
			for _, name := range names {
				if err := errors.Join(look(path.Join(node, name)), ctx.Err()); err != nil {
					return err
				}
			}
			return nil
		}
		return look(path.Dir(cfg.Locks[0].Name)) // all are in one directory
	})
	return left, err
}

// leftOnRedis returns the remaining keys of a campaign's locks, except fencing counters.
func leftOnRedis(ctx context.Context, servers []string, cfg Config) ([]string, error) {
	var left []string
	for _, addr := range servers {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		for _, l := range cfg.Locks {
			keys, err := c.Keys(ctx, "*"+path.Base(l.Name)+"*").Result()
			if err != nil {
				c.Close()
				return nil, err
			}
			for _, key := range keys {
				if !strings.Contains(key, "fence") {
					left = append(left, fmt.Sprintf("%s %s for another %v", addr, key, c.PTTL(ctx, key).Val()))
				}
			}
		}
		c.Close()
	}
	return left, nil
}
