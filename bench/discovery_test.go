package bench

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Each searched master has this many keys, some of them locks.
const searchedMasters, searchedKeys, searchedLocks = 3, 200_000, 1000

// BenchmarkRedisDiscovery finds all locks of three masters without pauses, and compares the time with that of clients
// that only send SCAN to all three: for all keys, as lockscope does, and for one pattern.
func BenchmarkRedisDiscovery(b *testing.B) {
	masters := startMasters(b, searchedMasters)
	for _, m := range masters {
		fill(b, m)
	}
	for b.Loop() {
		var ours, all, one []float64
		for range aloneRounds {
			ours = append(ours, discover(b, masters))
			all = append(all, scan(b, masters, ""))
			one = append(one, scan(b, masters, "lock*"))
		}
		b.ReportMetric(median(ours), "lockscope-ms")
		b.ReportMetric(median(all), "scan-ms")
		b.ReportMetric(median(one), "scan-one-pattern-ms")
	}
}

func fill(b *testing.B, m *servertest.Redis) {
	b.Helper()
	c := client(m)
	defer c.Close()
	must.Succeed(b, c.Do(b.Context(), "debug", "populate", searchedKeys-searchedLocks, "session", 16).Err())
	_, err := c.Pipelined(b.Context(), func(p redis.Pipeliner) error {
		for i := range searchedLocks {
			p.Set(b.Context(), fmt.Sprintf("lock:%d", i), "MDEyMzQ1Njc4OWFiY2RlZg==", time.Hour)
		}
		return nil
	})
	must.Succeed(b, err)
}

// discover returns the milliseconds of one pass over all keys, including the reads of the locks.
func discover(b *testing.B, masters []*servertest.Redis) float64 {
	cfg := redissource.Config{Backend: "r", Once: true, Budget: redissource.Budget{Unlimited: true}}
	for _, m := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	found := make(map[inspect.ID]bool)
	start := time.Now()
	err := redissource.New(cfg).Run(b.Context(), func(u inspect.Update) {
		for _, l := range u.Put {
			found[l.ID] = true
		}
	})
	took := time.Since(start)
	if err != nil || len(found) != searchedLocks {
		b.Fatalf("found %d of %d locks: %v", len(found), searchedLocks, err)
	}
	return took.Seconds() * 1000
}

// scan returns the milliseconds of SCAN over all keys of all masters side by side.
func scan(b *testing.B, masters []*servertest.Redis, pattern string) float64 {
	start := time.Now()
	var all sync.WaitGroup
	for _, m := range masters {
		all.Go(func() {
			c := client(m)
			defer c.Close()
			for cursor, more := uint64(0), true; more; more = cursor != 0 {
				_, next, err := c.Scan(b.Context(), cursor, pattern, 1000).Result()
				if err != nil {
					b.Error(err)
					return
				}
				cursor = next
			}
		})
	}
	all.Wait()
	return time.Since(start).Seconds() * 1000
}
