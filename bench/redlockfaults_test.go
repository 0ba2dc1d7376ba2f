package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"lockscope/lockops"
)

const (
	// knownAfter lets a package find out which masters are dead: ours gives each request 0.5 s, and three of them.
	knownAfter   = 2 * time.Second
	stoppedTurns = 1000
)

// BenchmarkRedlockStopped is an acquire and a release while none, one and two of five masters are stopped (SIGSTOP), from
// when the package has had time to find out. Where none is, bare requests to all of them take turns with it: what the machine makes
// wait makes them wait as well.
func BenchmarkRedlockStopped(b *testing.B) {
	masters := startMasters(b, 5)
	for stopped := range 3 {
		b.Run(fmt.Sprint(stopped), func(b *testing.B) {
			for b.Loop() {
				c := ourRedlock().join(b, masters, fmt.Sprintf("lock:stopped:%d", stopped))
				cycle := func() time.Duration { return cycleOf(b, c) }
				cycle()
				for _, m := range masters[:stopped] {
					m.Pause(b)
				}
				var floor contender
				if stopped == 0 {
					floor = rawFloor().join(b, masters, "lock:stopped:floor")
				}
				var first time.Duration
				for since := time.Now(); time.Since(since) < knownAfter; {
					first = max(first, cycle())
				}
				times := make([]time.Duration, stoppedTurns)
				var floors []time.Duration
				for i := range times {
					times[i] = cycle()
					if floor != nil {
						floors = append(floors, cycleOf(b, floor))
					}
				}
				if floor != nil {
					floor.close()
					slices.Sort(floors)
					b.ReportMetric(floors[len(floors)/2].Seconds()*1e3, "floor-p50-ms")
					b.ReportMetric(floors[len(floors)*99/100].Seconds()*1e3, "floor-p99-ms")
				}
				for _, m := range masters[:stopped] {
					m.Resume(b)
				}
				c.close()
				slices.Sort(times)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(first.Seconds()*1e3, "longest-of-first-ms")
				b.ReportMetric(times[len(times)/2].Seconds()*1e3, "p50-ms")
				b.ReportMetric(times[len(times)*99/100].Seconds()*1e3, "p99-ms")
				b.ReportMetric(times[len(times)-1].Seconds()*1e3, "longest-ms")
			}
		})
	}
}

// cycleOf measures an acquire and the release after it.
func cycleOf(b *testing.B, c contender) time.Duration {
	start := time.Now()
	release, err := c.acquire(b.Context())
	if err == nil {
		err = release()
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkRedlockLeft takes and gives back a thousand locks, and counts the keys that are on any of the masters a tenth of
// a second later.
func BenchmarkRedlockLeft(b *testing.B) {
	masters := startMasters(b, 5)
	var clients []*redis.Client
	rs := newRedsync(masters, &clients)
	session := newSession(b, masters)
	b.Cleanup(func() {
		session.Close()
		for _, c := range clients {
			c.Close()
		}
	})
	takeRedsync := func(opts ...redsync.Option) func(key string) error {
		return func(key string) error {
			m := rs.NewMutex(key, append(opts, redsync.WithExpiry(lockTTL))...)
			if err := m.LockContext(b.Context()); err != nil {
				return err
			}
			_, err := m.UnlockContext(b.Context())
			return err
		}
	}
	for _, p := range []struct {
		name string
		take func(key string) error
	}{
		{"redsync", takeRedsync()},
		{"redsync-failfast", takeRedsync(redsync.WithFailFast(true))},
		{"lockops", func(key string) error {
			return lockops.Do(b.Context(), lockops.NewRedlock(session, key, lockops.WithTTL(lockTTL)), func(context.Context) error { return nil })
		}},
	} {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				for i := range 1000 {
					if err := p.take(fmt.Sprintf("lock:left:%s:%d", p.name, i)); err != nil {
						b.Fatal(err)
					}
				}
				time.Sleep(100 * time.Millisecond) // what a library removes behind a call, it reports to nobody
				left := 0
				for _, m := range masters {
					c := client(m)
					keys, err := c.Keys(b.Context(), "*left:"+p.name+":*").Result()
					c.Close()
					if err != nil {
						b.Fatal(err)
					}
					left += len(keys)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(left), "keys")
			}
		})
	}
}
