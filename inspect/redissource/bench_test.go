package redissource_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// ours has a source look once with the budget off, by the default patterns or others; first is the time until the first
// lock was emitted.
func ours(b *testing.B, masters []*servertest.Redis, match []string) (all, first time.Duration) {
	b.Helper()
	cfg := config(masters)
	cfg.Match, cfg.Once, cfg.Timeout, cfg.Budget = match, true, 10*time.Second, redissource.Budget{Unlimited: true}
	locks := 0
	start := time.Now()
	redissource.New(cfg).Run(context.Background(), func(u inspect.Update) {
		if len(u.Put) > 0 && first == 0 {
			first = time.Since(start)
		}
		locks += len(u.Put)
	})
	if locks < manyLocks {
		b.Fatalf("%d locks", locks)
	}
	return time.Since(start), first
}

// BenchmarkDuty reports which share of a server's time reading takes with the defaults, while it goes over 1 000 000 keys, and
// how long 99 of 100 commands of another program take at most: before and after it, and meanwhile; and what that would be if
// as many keys were looked at at once as one-shot commands look at.
func BenchmarkDuty(b *testing.B) {
	m := manyMasters(b, 1)[0]
	for name, keys := range map[string]int{"defaults": 0, "keys=1000": 1000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				duty(b, m, keys)
			}
		})
	}
}

// duty looks for 12 s with a budget of so many keys in one SCAN; 0: the default.
func duty(b *testing.B, m *servertest.Redis, keys int) {
	b.Helper()
	c := redis.NewClient(&redis.Options{Addr: m.Addr})
	defer c.Close()
	cfg := config([]*servertest.Redis{m})
	cfg.Tick, cfg.Budget = 0, redissource.Budget{ScanCount: keys}
	idle, start := cpuSeconds(b, c), time.Now()
	quiet := foreign(b, m.Addr, 6*time.Second)
	b.ReportMetric(100*(cpuSeconds(b, c)-idle)/time.Since(start).Seconds(), "idle-%")
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	before, start := cpuSeconds(b, c), time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		redissource.New(cfg).Run(ctx, func(inspect.Update) {})
	}()
	watched := foreign(b, m.Addr, 12*time.Second)
	cancel()
	<-ended
	b.ReportMetric(100*(cpuSeconds(b, c)-before)/time.Since(start).Seconds(), "duty-%")
	quiet = (quiet + foreign(b, m.Addr, 6*time.Second)) / 2
	b.ReportMetric(quiet, "quiet-p99-us")
	b.ReportMetric(watched, "watched-p99-us")
}

// The environment of a process that is another program: see foreign.
const foreignAddr, foreignTime = "LOCKSCOPE_FOREIGN_ADDR", "LOCKSCOPE_FOREIGN_TIME"

// foreign has another program ask a server 500 times a second, and returns how many microseconds 99 of 100 answers took at
// most.
func foreign(b *testing.B, addr string, d time.Duration) float64 {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), foreignAddr+"="+addr, foreignTime+"="+d.String())
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	p99, err := strconv.ParseFloat(string(out), 64)
	if err != nil {
		b.Fatal(err)
	}
	return p99
}

// beForeign is the other program; it prints what foreign returns.
func beForeign(addr string, d time.Duration) error {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	var took []time.Duration
	beat := time.NewTicker(2 * time.Millisecond)
	defer beat.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-beat.C {
		start := time.Now()
		if err := c.Exists(context.Background(), "foreign").Err(); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	fmt.Print(took[len(took)*99/100].Microseconds())
	return nil
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

// processorTime sums the processor time of all masters and this process: the cost of a look where they share the
// processors, and on a busy machine steadier than its duration.
func processorTime(b *testing.B, clients []*redis.Client) time.Duration {
	b.Helper()
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	total := time.Duration(self.Utime.Nano() + self.Stime.Nano())
	for _, c := range clients {
		total += time.Duration(cpuSeconds(b, c) * float64(time.Second))
	}
	return total
}

// BenchmarkDiscovery compares a look at 1 000 000 keys with a bare SCAN COUNT 1000 of them, in turn.
func BenchmarkDiscovery(b *testing.B) {
	for _, c := range []struct {
		masters int
		match   []string
	}{{masters: 1}, {masters: 3}, {3, []string{"lock:*"}}} {
		b.Run(strings.Join(append([]string{fmt.Sprintf("masters=%d", c.masters)}, c.match...), ","), func(b *testing.B) {
			masters := manyMasters(b, c.masters)
			var clients []*redis.Client
			for _, m := range masters {
				client := redis.NewClient(&redis.Options{Addr: m.Addr})
				defer client.Close()
				clients = append(clients, client)
			}
			var bares, all, first, bareCPU, oursCPU []time.Duration
			b.ResetTimer()
			for range b.N {
				before := processorTime(b, clients)
				bares = append(bares, bare(b, masters))
				middle := processorTime(b, clients)
				a, f := ours(b, masters, c.match)
				all, first = append(all, a), append(first, f)
				bareCPU = append(bareCPU, middle-before)
				oursCPU = append(oursCPU, processorTime(b, clients)-middle)
			}
			b.ReportMetric(float64(median(bares).Milliseconds()), "bare-ms")
			b.ReportMetric(float64(median(all).Milliseconds()), "ours-ms")
			b.ReportMetric(median(all).Seconds()/median(bares).Seconds(), "ratio")
			b.ReportMetric(slices.Min(all).Seconds()/slices.Min(bares).Seconds(), "min-ratio")
			b.ReportMetric(median(oursCPU).Seconds()/median(bareCPU).Seconds(), "cpu-ratio")
			b.ReportMetric(float64(median(first).Microseconds())/1000, "first-row-ms")
		})
	}
}
