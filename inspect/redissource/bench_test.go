package redissource_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	manyKeys  = 1_000_000
	manyLocks = 10_000
)

// manyKeysMaster starts a master with 1,000,000 keys, 10,000 of which are locks.
func manyKeysMaster(b *testing.B) *servertest.Redis {
	b.Helper()
	ctx, m := context.Background(), servertest.StartRedis(b)
	c := m.Client(b)
	must.Succeed(b, c.Do(ctx, "debug", "populate", manyKeys-manyLocks, "session", 16).Err())
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range manyLocks {
			p.Set(ctx, fmt.Sprintf("lock:%d", i), "MDEyMzQ1Njc4OWFiY2RlZg==", time.Hour)
		}
		return nil
	})
	must.Succeed(b, err)
	return m
}

// BenchmarkDuty reports how much of a server's time a scan of 1,000,000 keys uses, and how that
// affects the p99 of another program. It compares the default SCAN count with that of one-shot
// commands.
func BenchmarkDuty(b *testing.B) {
	m := manyKeysMaster(b)
	for name, keys := range map[string]int{"defaults": 0, "keys=1000": 1000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				duty(b, m, keys)
			}
		})
	}
}

// duty watches for 12 s with that SCAN count; 0 is the default.
func duty(b *testing.B, m *servertest.Redis, keys int) {
	b.Helper()
	c := m.Client(b)
	cfg := config(m)
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

// These variables make the test binary run as the other program; see foreign.
const foreignAddr, foreignTime = "LOCKSCOPE_FOREIGN_ADDR", "LOCKSCOPE_FOREIGN_TIME"

// foreign runs another program that asks the server 500 times a second, and returns the 99th
// percentile of its response times in microseconds.
func foreign(b *testing.B, addr string, d time.Duration) float64 {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), foreignAddr+"="+addr, foreignTime+"="+d.String())
	return must.Have(strconv.ParseFloat(string(must.Have(cmd.Output())(b)), 64))(b)
}

// beForeign is that other program. It prints the result of foreign.
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

// cpuSeconds is the CPU time that a server has used.
func cpuSeconds(b *testing.B, c *redis.Client) float64 {
	b.Helper()
	info := must.Have(c.Info(context.Background(), "cpu").Result())(b)
	var total float64
	for _, field := range regexp.MustCompile(`used_cpu_(?:user|sys):([0-9.]+)`).FindAllStringSubmatch(info, -1) {
		total += must.Have(strconv.ParseFloat(field[1], 64))(b)
	}
	return total
}
