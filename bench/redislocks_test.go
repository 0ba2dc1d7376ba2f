package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

const lockTTL = 10 * time.Second

var (
	handAcquire = redis.NewScript(`if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 10000) then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1]) return 0`)
	handRelease = redis.NewScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local n = redis.call('LPOP', KEYS[2])
if n then redis.call('SET', KEYS[1], n, 'PX', 10000) redis.call('PUBLISH', n, '') else redis.call('DEL', KEYS[1]) end return 1`)
	handNumber atomic.Int64
)

// BenchmarkRedisLockAlone measures uncontended locks, each peer in turn, in several rounds.
func BenchmarkRedisLockAlone(b *testing.B) {
	alone(b, startMasters(b, 1), []peer{
		rawFloor(), bsmLock(), redsyncLock("redsync"),
		ours("lockops", lockops.NewRedisMutex), ours("lockops-fair", lockops.NewRedisFairMutex),
	})
}

func BenchmarkRedlockAlone(b *testing.B) {
	alone(b, startMasters(b, 5), []peer{
		rawFloor(), redsyncLock("redsync-failfast", redsync.WithFailFast(true)), redsyncLock("redsync"),
		ours("lockops", lockops.NewRedlock),
	})
}

var link = flag.Duration("link", 0, "the round trip to the Redis servers of lock benchmarks, e.g. 1ms")

// linked returns the address of a proxy that delays a server by this round trip.
func linked(b *testing.B, addr string, trip time.Duration) string {
	if trip == 0 {
		return addr
	}
	wire := servertest.StartWire(b, addr)
	wire.Delay(trip / 2)
	return wire.Addr()
}

func startMasters(b *testing.B, n int) (masters []*servertest.Redis) {
	for range n {
		m := servertest.StartRedis(b)
		if *link > 0 {
			m = &servertest.Redis{Addr: linked(b, m.Addr, *link), Real: true}
		}
		masters = append(masters, m)
	}
	return masters
}

const (
	aloneRounds = 5
	aloneFor    = 500 * time.Millisecond
)

func alone(b *testing.B, masters []*servertest.Redis, peers []peer) {
	for b.Loop() {
		p50, cpu, allocs := make([][]float64, len(peers)), make([][]float64, len(peers)), make([][]float64, len(peers))
		for range aloneRounds {
			for i, p := range peers {
				c := p.join(b, masters, "lock:alone:"+p.name)
				used := processTime()
				times, count := cycles(b, p.name, c)
				used = processTime() - used
				c.close()
				p50[i] = append(p50[i], float64(times[len(times)/2].Nanoseconds())/1e3)
				cpu[i] = append(cpu[i], float64(used.Nanoseconds())/1e3/float64(len(times)+warmUp))
				allocs[i] = append(allocs[i], count)
			}
		}
		for i, p := range peers {
			b.ReportMetric(median(p50[i]), p.name+"-p50-µs")
			b.ReportMetric(median(cpu[i]), p.name+"-cpu-µs")
			b.ReportMetric(median(allocs[i]), p.name+"-allocs")
		}
	}
}

const warmUp = 100

// cycles acquires and releases for a while. It returns the sorted durations and the allocations of
// each.
func cycles(b *testing.B, name string, c contender) (sorted []time.Duration, allocs float64) {
	one := func() time.Duration {
		start := time.Now()
		release, err := c.acquire(b.Context())
		if err == nil {
			err = release()
		}
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		return time.Since(start)
	}
	for range warmUp {
		one()
	}
	sorted = make([]time.Duration, 0, 1<<15)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for end := time.Now().Add(aloneFor); time.Now().Before(end); {
		sorted = append(sorted, one())
	}
	runtime.ReadMemStats(&after)
	slices.Sort(sorted)
	return sorted, float64(after.Mallocs-before.Mallocs) / float64(len(sorted))
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkRedisLockContended lets 8 and 64 clients take turns on a lock as fast as they can.
func BenchmarkRedisLockContended(b *testing.B) {
	compare(b, startMasters(b, 1), []peer{
		bareHandOff(), rueidisLock(), ours("lockops", lockops.NewRedisMutex), ours("lockops-fair", lockops.NewRedisFairMutex),
	})
}

func BenchmarkRedlockContended(b *testing.B) {
	compare(b, startMasters(b, 5), []peer{inTurns(), redsyncLock("redsync"), ours("lockops", lockops.NewRedlock)})
}

// compare measures 8 and 64 clients, each peer in turn, as the medians of several rounds.
func compare(b *testing.B, masters []*servertest.Redis, peers []peer) {
	for _, k := range []int{8, 64} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			for b.Loop() {
				results := make([]map[string][]float64, len(peers))
				for i := range peers {
					results[i] = make(map[string][]float64)
				}
				for range aloneRounds {
					for i, p := range peers {
						for what, value := range contended(b, masters, p, k) {
							results[i][what] = append(results[i][what], value)
						}
					}
				}
				b.ReportMetric(0, "ns/op")
				for i, p := range peers {
					for what, values := range results[i] {
						b.ReportMetric(median(values), p.name+"-"+what)
					}
				}
			}
		})
	}
}

const (
	ramp        = 300 * time.Millisecond
	contendedIn = 1200 * time.Millisecond
)

type tally struct {
	mu            sync.Mutex
	counting      bool
	last          int
	released      time.Time
	grants        []int
	changes       int
	gaps          []time.Duration
	waits         []time.Duration
	inside, twice int
}

var runs atomic.Int64

// contended lets k clients take turns on one lock, and reports its rate and fairness.
func contended(b *testing.B, masters []*servertest.Redis, p peer, k int) map[string]float64 {
	t := &tally{grants: make([]int, k), last: -1}
	ctx, cancel := context.WithCancel(b.Context())
	key := fmt.Sprintf("lock:%s:%s:%d", strings.ReplaceAll(b.Name(), "/", ":"), p.name, runs.Add(1)) // bare handoffs leave queues
	var all sync.WaitGroup
	members := make([]contender, k)
	for i := range k {
		members[i] = p.join(b, masters, key)
	}
	for i, c := range members {
		all.Go(func() { t.run(b, ctx, p, c, i) })
	}
	time.Sleep(ramp) // all of them are queued by now, and the servers know their scripts
	before := commands(b, masters)
	t.count(true)
	start := time.Now()
	time.Sleep(contendedIn) // the measured span
	t.count(false)
	took := time.Since(start).Seconds()
	after := commands(b, masters)
	cancel()
	all.Wait()
	for _, c := range members {
		c.close()
	}
	return t.figures(b, took, after-before, k)
}

func (t *tally) count(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counting = on
}

func (t *tally) run(b *testing.B, ctx context.Context, p peer, c contender, i int) {
	for ctx.Err() == nil {
		asked := time.Now()
		release, err := c.acquire(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				b.Errorf("%s: %v", p.name, err)
			}
			return
		}
		t.granted(i, asked)
		t.left()
		if err := release(); err != nil && ctx.Err() == nil {
			b.Errorf("%s: release: %v", p.name, err)
		}
	}
}

func (t *tally) granted(i int, asked time.Time) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside++; t.inside > 1 {
		t.twice++
	}
	if t.counting {
		t.grants[i]++
		t.waits = append(t.waits, now.Sub(asked))
		if t.last != i {
			t.changes++
			t.gaps = append(t.gaps, now.Sub(t.released))
		}
	}
	t.last = i
}

func (t *tally) left() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.released = time.Now()
}

func (t *tally) figures(b *testing.B, seconds float64, commands, k int) map[string]float64 {
	var sum, squares float64
	for _, n := range t.grants {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	must.Equal(b, t.twice, 0, "times two holders at once")
	if sum == 0 {
		b.Fatal("no client got the lock")
	}
	slices.Sort(t.gaps)
	slices.Sort(t.waits)
	figures := map[string]float64{
		"changes/s":  math.Round(float64(t.changes) / seconds),
		"wire/grant": float64(commands) / sum,
		"jain":       sum * sum / (float64(k) * squares),
		"longest-ms": float64(t.waits[len(t.waits)-1].Milliseconds()),
	}
	if len(t.gaps) > 0 {
		figures["gap-p50-µs"] = float64(t.gaps[len(t.gaps)/2].Microseconds())
	}
	return figures
}

// commands counts the commands that the masters received over the wire, without those that only scripts send.
func commands(b *testing.B, masters []*servertest.Redis) (n int) {
	b.Helper()
	for _, m := range masters {
		c := client(m)
		n += calls(b, c, onWire...)
		c.Close()
	}
	return n
}

// onWire are the commands that the measured peers send outside of scripts. redsync and rueidislock
// also send SET and GET directly. These cannot be told from those in other peers' scripts, so they
// are not counted, and the numbers of redsync and rueidislock are too low.
var onWire = []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping", "info"}

// calls counts a server's calls of some commands.
func calls(t testing.TB, c *redis.Client, commands ...string) (n int) {
	t.Helper()
	for line := range strings.Lines(must.Have(c.Info(t.Context(), "commandstats").Result())(t)) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if ok && slices.Contains(commands, name) {
			count, _, _ := strings.Cut(rest, ",")
			n += must.Have(strconv.Atoi(count))(t)
		}
	}
	return n
}
