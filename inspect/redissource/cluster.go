package redissource

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/each"
)

// slots is the number of hash slots over which a Redis Cluster spreads its keys.
const slots = 16384

// topology holds the nodes of a Redis Cluster and the owner of each slot.
type topology struct {
	masters, replicas []string     // by address, in order
	owner             [slots]int16 // index in masters, by slot; -1 if unserved
}

// sameNodes reports whether the nodes are the same; slots may have moved.
func (t *topology) sameNodes(o *topology) bool {
	return slices.Equal(t.masters, o.masters) && slices.Equal(t.replicas, o.replicas)
}

// newTopology parses CLUSTER SLOTS. from is the address of the node that answered. Its host is used
// if the node does not know its own name.
func newTopology(said []redis.ClusterSlot, from string) *topology {
	t := &topology{}
	host, _, _ := net.SplitHostPort(from)
	at := func(n redis.ClusterNode) string {
		if h, port, err := net.SplitHostPort(n.Addr); err == nil && h == "" {
			return net.JoinHostPort(host, port)
		}
		return n.Addr
	}
	masters, replicas := map[string]bool{}, map[string]bool{}
	for _, s := range said {
		for i, n := range s.Nodes {
			if i == 0 {
				masters[at(n)] = true
			} else {
				replicas[at(n)] = true
			}
		}
	}
	t.masters, t.replicas = slices.Sorted(maps.Keys(masters)), slices.Sorted(maps.Keys(replicas))
	for i := range t.owner {
		t.owner[i] = -1
	}
	for _, s := range said {
		if len(s.Nodes) == 0 {
			continue
		}
		owner, _ := slices.BinarySearch(t.masters, at(s.Nodes[0]))
		for slot := max(0, s.Start); slot <= min(s.End, slots-1); slot++ {
			t.owner[slot] = int16(owner)
		}
	}
	return t
}

// ownerOf returns the index of the master that serves a key, or -1 if its slot is unserved.
func (t *topology) ownerOf(key string) int { return int(t.owner[recipe.ClusterSlot(key)]) }

// readTopology reads a cluster's topology from the first seed that answers.
func readTopology(ctx context.Context, seeds []*node.Master) (*topology, error) {
	var failed []string
	for _, m := range seeds {
		answer, err := m.ClusterSlots(ctx)
		if err == nil {
			return newTopology(answer, m.Address()), nil
		}
		failed = append(failed, err.Error())
	}
	return nil, fmt.Errorf("%s", strings.Join(failed, "; "))
}

// cluster keeps the nodes of a Redis Cluster from one run to the next.
type cluster struct {
	cfg      Config
	settings node.Settings
	seeds    []*node.Master // as the target names them
	nodes    map[string]*node.Master
	now      *topology
	// keys is go-redis' client for the whole cluster, which follows keys that move.
	keys *redis.ClusterClient
	sent node.NodeTraffic
}

func newCluster(cfg Config, how node.Settings) *cluster {
	c := &cluster{cfg: cfg, settings: how, nodes: map[string]*node.Master{}}
	for _, addr := range cfg.Masters[0].Addrs {
		c.seeds = append(c.seeds, c.node(addr))
	}
	c.keys = node.NewKeyClient(*cfg.Masters[0], cfg.Timeout, &c.sent)
	return c
}

// node returns one node, with a separate connection for everything but keys.
func (c *cluster) node(addr string) *node.Master {
	if m := c.nodes[addr]; m != nil {
		return m
	}
	options := *c.cfg.Masters[0]
	options.Addrs, options.IsClusterMode = []string{addr}, false
	m := node.New(addr, options, c.settings)
	c.sent.Add(addr, m)
	c.nodes[addr] = m
	return m
}

func (c *cluster) read(ctx context.Context) (*topology, error) {
	var ask []*node.Master
	if c.now != nil {
		for _, addr := range c.now.masters {
			ask = append(ask, c.nodes[addr])
		}
	}
	for _, m := range c.seeds {
		if !slices.Contains(ask, m) {
			ask = append(ask, m)
		}
	}
	slices.SortStableFunc(ask, func(a, b *node.Master) int { return cmp.Compare(a.Silent.Load(), b.Silent.Load()) })
	return readTopology(ctx, ask)
}

// masters returns the nodes of a topology and makes them known to each other.
func (c *cluster) masters(t *topology) []*node.Master {
	list := each.Of(t.masters, c.node)
	for _, m := range list {
		m.Join(c.keys, list)
	}
	c.now = t
	return list
}

func (c *cluster) close() {
	for _, m := range c.nodes {
		m.Close()
	}
	c.keys.Close()
}

// unreadable is the backend of a cluster whose topology cannot be read.
func (c *cluster) unreadable(err error) *inspect.Backend {
	b := &inspect.Backend{
		Name: c.cfg.Backend, Kind: inspect.Redis, Topology: inspect.Cluster,
		State: inspect.Down, Mode: inspect.ModePoll,
		Error: inspect.Escape(err.Error()), FirstPass: c.cfg.Once,
	}
	if c.cfg.Once {
		b.Mode = inspect.ModeOnce
	}
	for _, m := range c.seeds {
		b.Servers = append(b.Servers, inspect.Server{
			Addr: m.Address(), State: inspect.ServerDown, Cluster: true, Latency: -1, Error: b.Error,
		})
	}
	return b
}

// runCluster reads a cluster node by node. When its nodes change, it continues with the new ones
// and the known keys.
func (s *Source) runCluster(ctx context.Context, emit func(inspect.Update)) {
	c := newCluster(s.cfg, s.settings())
	defer c.close()
	var before *run
	for ctx.Err() == nil {
		asked := s.cfg.Now()
		t, err := c.read(ctx)
		if s.stall.Since(asked) {
			continue
		}
		if err != nil {
			if ctx.Err() == nil {
				emit(inspect.Update{Backend: c.unreadable(err)})
			}
			if s.cfg.Once || sourcekit.Sleep(ctx, node.RetryEvery) != nil {
				return
			}
			continue
		}
		r := s.newRun(ctx, emit, c.masters(t))
		r.cluster, r.table.topology = c, t
		for i, addr := range t.replicas {
			r.replicas = append(r.replicas, newMasterState(c.node(addr), len(r.masters)+i))
		}
		r.inherit(before)
		r.run()
		if r.replaced == nil {
			return
		}
		before = r
	}
}

// inherit copies the previous run's knowledge of the keys.
func (r *run) inherit(before *run) {
	if before == nil {
		return
	}
	now := r.cfg.Now()
	r.focus, r.backend = before.focus, before.backend
	for key, e := range before.table.entries {
		if !r.table.add(key, now) {
			continue
		}
		r.table.entries[key].inherit(e)
		r.wantOf(key, now)
	}
}

// inherit copies the key's state from before a change of nodes.
func (e *entry) inherit(before *entry) {
	e.lock, e.freeSince, e.readAt, e.changedAfter = before.lock, before.freeSince, before.readAt, before.readAt
	e.cameUnreported(before.readAt)
}

// watchTopology repeatedly sends the topology to the loop.
func (r *run) watchTopology() {
	for sourcekit.Sleep(r.ctx, topologyEvery) == nil {
		asked := r.cfg.Now()
		t, err := r.cluster.read(r.ctx)
		if err == nil && !r.stall.Since(asked) && !send(r.ctx, r.topologies, t) {
			return
		}
	}
}

// adopt applies a newer topology, and reports whether the nodes have changed.
func (r *run) adopt(t *topology) bool {
	if !t.sameNodes(r.table.topology) {
		r.replaced = t
		return true
	}
	old := r.table.topology
	r.table.topology = t
	if t.owner == old.owner {
		return false
	}
	now := r.cfg.Now()
	for key, e := range r.table.entries {
		if t.ownerOf(key) != old.ownerOf(key) {
			e.unwatch(0, time.Time{})
			r.wantOf(key, now)
		}
	}
	return false
}
