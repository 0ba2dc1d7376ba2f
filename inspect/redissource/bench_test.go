package redissource_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/redissource"
	"lockscope/internal/servertest"
)

const (
	manyKeys  = 1_000_000
	manyLocks = 10_000
)

// manyMasters starts masters that hold 1 000 000 keys each, 10 000 of them locks.
func manyMasters(b *testing.B, n int) []*servertest.Redis {
	b.Helper()
	ctx := context.Background()
	var masters []*servertest.Redis
	for range n {
		m := servertest.StartRedis(b)
		c := redis.NewClient(&redis.Options{Addr: m.Addr, ReadTimeout: time.Minute})
		defer c.Close()
		if err := c.Do(ctx, "debug", "populate", manyKeys-manyLocks, "session", 16).Err(); err != nil {
			b.Fatal(err)
		}
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range manyLocks {
				p.Set(ctx, fmt.Sprintf("lock:%d", i), "MDEyMzQ1Njc4OWFiY2RlZg==", time.Hour)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		masters = append(masters, m)
	}
	return masters
}

// bare goes over the keys of all masters at the same time and does nothing with them.
func bare(b *testing.B, masters []*servertest.Redis) time.Duration {
	b.Helper()
	start := time.Now()
	var all sync.WaitGroup
	for _, m := range masters {
		all.Go(func() {
			c := redis.NewClient(&redis.Options{Addr: m.Addr})
			defer c.Close()
			for cursor, first := uint64(0), true; first || cursor != 0; first = false {
				var err error
				if _, cursor, err = c.Scan(context.Background(), cursor, "", 1000).Result(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// ours has a source look once with the budget off; it tells when the first lock was emitted, too.
func ours(b *testing.B, masters []*servertest.Redis) (all, first time.Duration) {
	b.Helper()
	cfg := config(masters)
	cfg.Once, cfg.Timeout, cfg.Budget = true, 10*time.Second, redissource.Budget{Unlimited: true}
	locks := 0
	start := time.Now()
	redissource.New(cfg).Run(context.Background(), func(u inspect.Update) {
		if len(u.Put) > 0 && first == 0 {
			first = time.Since(start)
		}
		locks += len(u.Put)
		if u.Backend != nil {
			b.ReportMetric(float64(u.Backend.Cost.Requests), "requests")
		}
	})
	if locks < manyLocks {
		b.Fatalf("%d locks", locks)
	}
	return time.Since(start), first
}

// BenchmarkDuty tells which share of a server's time reading takes with the defaults, while it goes over 1 000 000 keys.
func BenchmarkDuty(b *testing.B) {
	m := manyMasters(b, 1)[0]
	c := redis.NewClient(&redis.Options{Addr: m.Addr})
	defer c.Close()
	cfg := config([]*servertest.Redis{m})
	cfg.Tick, cfg.Budget = 0, redissource.Budget{}
	b.ResetTimer()
	for range b.N {
		idle, start := cpuSeconds(b, c), time.Now()
		time.Sleep(3 * time.Second)
		b.ReportMetric(100*(cpuSeconds(b, c)-idle)/time.Since(start).Seconds(), "idle-%")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		start = time.Now()
		before := cpuSeconds(b, c)
		redissource.New(cfg).Run(ctx, func(inspect.Update) {})
		cancel()
		b.ReportMetric(100*(cpuSeconds(b, c)-before)/time.Since(start).Seconds(), "duty-%")
	}
}

// cpuSeconds is the processor time that a server has used.
func cpuSeconds(b *testing.B, c *redis.Client) float64 {
	b.Helper()
	info, err := c.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var total float64
	for _, field := range regexp.MustCompile(`used_cpu_(?:user|sys):([0-9.]+)`).FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(field[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return total
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// BenchmarkDiscovery compares a look at 1 000 000 keys with a bare SCAN COUNT 1000 of them, in turn.
func BenchmarkDiscovery(b *testing.B) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("masters=%d", n), func(b *testing.B) {
			masters := manyMasters(b, n)
			var bares, all, first []time.Duration
			c := redis.NewClient(&redis.Options{Addr: masters[0].Addr})
			defer c.Close()
			cpu := func() float64 { return cpuSeconds(b, c) }
			bareCPU, oursCPU := 0.0, 0.0
			b.ResetTimer()
			for range b.N {
				before := cpu()
				bares = append(bares, bare(b, masters))
				middle := cpu()
				a, f := ours(b, masters)
				bareCPU, oursCPU = bareCPU+middle-before, oursCPU+cpu()-middle
				all, first = append(all, a), append(first, f)
			}
			b.ReportMetric(float64(median(bares).Milliseconds()), "bare-ms")
			b.ReportMetric(float64(median(all).Milliseconds()), "ours-ms")
			b.ReportMetric(median(all).Seconds()/median(bares).Seconds(), "ratio")
			b.ReportMetric(slices.Min(all).Seconds()/slices.Min(bares).Seconds(), "min-ratio")
			b.ReportMetric(oursCPU/bareCPU, "server-cpu-ratio")
			b.ReportMetric(float64(median(first).Microseconds())/1000, "first-row-ms")
		})
	}
}
