package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

type silentZK struct{}

func (silentZK) Printf(string, ...any) {}

// zkPeer is a lock package for ZooKeeper: join connects one contender, in its own session.
type zkPeer struct {
	name string
	join func(b *testing.B, addr, path string) contender
}

func zkConn(b *testing.B, addr string) (*zk.Conn, func()) {
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(silentZK{}))
	must.Succeed(b, err)
	for conn.State() != zk.StateHasSession { // earlier requests may fail
		if _, ok := <-events; !ok {
			b.Fatal("no session with ", addr)
		}
	}
	return conn, func() {
		conn.Close()
		for range events {
		}
	}
}

// zkFloor is the least that any lock needs: a create and a delete.
func zkFloor() zkPeer {
	return zkPeer{"floor", func(b *testing.B, addr, path string) contender {
		conn, end := zkConn(b, addr)
		_, _ = conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)) // it may exist already
		return funcs{func(context.Context) (func() error, error) {
			node, err := conn.Create(path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			return func() error { return conn.Delete(node, -1) }, err
		}, end}
	}}
}

func goZooKeeper() zkPeer {
	return zkPeer{"go-zookeeper", func(b *testing.B, addr, path string) contender {
		conn, end := zkConn(b, addr)
		return funcs{func(context.Context) (func() error, error) {
			l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
			return l.Unlock, l.Lock()
		}, end}
	}}
}

var newestTokens sync.Map // by path

// tokens keeps the newest token of a lock. Tokens grow in the order of arrival.
func tokens(path string) *atomic.Uint64 {
	newest, _ := newestTokens.LoadOrStore(path, new(atomic.Uint64))
	return newest.(*atomic.Uint64)
}

func ourZKMutex() zkPeer {
	return zkPeer{"lockscope", func(b *testing.B, addr, path string) contender {
		s := must.Have(lockops.NewZKSession(b.Context(), []string{addr}))(b)
		l := lockops.NewZKMutex(s, path)
		newest := tokens(path)
		return funcs{func(ctx context.Context) (func() error, error) {
			h, err := l.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			if t, ok := h.Token(); ok && newest.Swap(t) > t {
				b.Error("lockscope: a contender was granted the lock before one that arrived earlier")
			}
			return func() error { return h.Release(context.Background()) }, nil
		}, s.Close}
	}}
}

// zkWays are round trips to the server: loopback, and a network.
var zkWays = []time.Duration{0, time.Millisecond}

// BenchmarkZKLockAlone measures uncontended locks, each peer in turn, as medians of several rounds.
func BenchmarkZKLockAlone(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	for _, way := range zkWays {
		b.Run(fmt.Sprint(way), func(b *testing.B) { zkAlone(b, linked(b, server.Addr, way)) })
	}
}

func zkAlone(b *testing.B, addr string) {
	peers := []zkPeer{zkFloor(), goZooKeeper(), ourZKMutex()}
	for b.Loop() {
		p50, allocs := make([][]float64, len(peers)), make([][]float64, len(peers))
		for range aloneRounds {
			for i, p := range peers {
				c := p.join(b, addr, "/alone-"+p.name)
				times, count := cycles(b, p.name, c)
				c.close()
				p50[i] = append(p50[i], float64(times[len(times)/2].Nanoseconds())/1e3)
				allocs[i] = append(allocs[i], count)
			}
		}
		for i, p := range peers {
			b.ReportMetric(median(p50[i]), p.name+"-p50-µs")
			b.ReportMetric(median(allocs[i]), p.name+"-allocs")
		}
		b.ReportMetric(median(p50[2])/median(p50[0]), "×floor")
	}
}

// BenchmarkZKLockContended lets 8 and 64 clients take turns on a lock as fast as they can, with
// go-zookeeper and ours in turn. It reports the changes of owner a second, and for each change the
// server's requests and the processor time of both sides. Each of many short rounds is compared
// with the next one, since the load of the machine changes from second to second. Two holders at
// once end the benchmark.
func BenchmarkZKLockContended(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	for _, way := range zkWays {
		for _, k := range []int{8, 64} {
			b.Run(fmt.Sprintf("%v/%d", way, k), func(b *testing.B) { zkContended(b, server, linked(b, server.Addr, way), k) })
		}
	}
}

func zkContended(b *testing.B, server *servertest.ZooKeeper, addr string, k int) {
	peers := []zkPeer{goZooKeeper(), ourZKMutex()}
	crowds := make([]*zkCrowd, len(peers))
	for i, p := range peers {
		crowds[i] = newZKCrowd(b, server, addr, p, k)
	}
	for b.Loop() {
		var ratios []float64
		rounds := make([][]zkRound, len(peers))
		for n := range zkRounds {
			for i := range peers { // each is first as often as the other
				i = (i + n) % len(peers)
				rounds[i] = append(rounds[i], crowds[i].contend(b))
			}
			ratios = append(ratios, rounds[1][n].rate/rounds[0][n].rate)
		}
		for i, p := range peers {
			reportZK(b, p.name, rounds[i])
		}
		b.ReportMetric(median(ratios), "×go-zookeeper")
	}
	for _, c := range crowds {
		c.close()
	}
}

func reportZK(b *testing.B, name string, rounds []zkRound) {
	middle := func(of func(zkRound) float64) float64 {
		all := make([]float64, len(rounds))
		for i, r := range rounds {
			all[i] = of(r)
		}
		return median(all)
	}
	b.ReportMetric(middle(func(r zkRound) float64 { return r.rate }), name+"-changes/s")
	b.ReportMetric(middle(func(r zkRound) float64 { return r.requests }), name+"-requests/change")
	b.ReportMetric(middle(func(r zkRound) float64 { return r.client }), name+"-cpu-µs/change")
	b.ReportMetric(middle(func(r zkRound) float64 { return r.server }), name+"-server-cpu-µs/change")
}

const (
	zkRamp         = 100 * time.Millisecond
	zkContendedFor = 300 * time.Millisecond
	zkRounds       = 40
)

// zkRound has the figures of one round. All except the rate are per change of owner.
type zkRound struct {
	rate           float64 // changes of owner a second
	requests       float64 // received by the server
	client, server float64 // µs of processor time; client counts the whole benchmark
}

// zkCrowd is the clients of one lock, each with its own session.
type zkCrowd struct {
	name    string
	server  *servertest.ZooKeeper
	members []contender

	inside, changes, last atomic.Int64
}

func newZKCrowd(b *testing.B, server *servertest.ZooKeeper, addr string, p zkPeer, k int) *zkCrowd {
	c := &zkCrowd{name: p.name, server: server, members: make([]contender, k)}
	for i := range c.members {
		c.members[i] = p.join(b, addr, "/contended-"+p.name)
	}
	return c
}

func (c *zkCrowd) close() {
	for _, m := range c.members {
		m.close()
	}
}

// contend is one round.
func (c *zkCrowd) contend(b *testing.B) zkRound {
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for i := range c.members {
		all.Go(func() { c.alternate(ctx, b, i) })
	}
	time.Sleep(zkRamp) // all of them are in the queue by now
	packets, served, used := zkPackets(b, c.server.Addr), c.server.ProcessorTime(b), processTime()
	before, start := c.changes.Load(), time.Now()
	time.Sleep(zkContendedFor) // the measured span
	changed, took := float64(c.changes.Load()-before), time.Since(start)
	used, served = processTime()-used, c.server.ProcessorTime(b)-served
	packets = zkPackets(b, c.server.Addr) - packets
	cancel()
	all.Wait()
	each := func(t time.Duration) float64 { return float64(t.Microseconds()) / changed }
	return zkRound{changed / took.Seconds(), packets / changed, each(used), each(served)}
}

// alternate makes one member take and release the lock until ctx ends.
func (c *zkCrowd) alternate(ctx context.Context, b *testing.B, i int) {
	for ctx.Err() == nil {
		release, err := c.members[i].acquire(ctx)
		if err != nil {
			if ctx.Err() == nil {
				b.Errorf("%s: %v", c.name, err)
			}
			return
		}
		must.Equal(b, c.inside.Add(1), 1, c.name, "two holders")
		if c.last.Swap(int64(i)) != int64(i) {
			c.changes.Add(1)
		}
		c.inside.Add(-1)
		must.Be(b, release(), nil, c.name)
	}
}
