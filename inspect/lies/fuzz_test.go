package lies

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

var (
	fuzzFor = flag.Duration("lies.for", 0,
		"the `DURATION` of TestMutatedConversations; 0: a second, in make test-all a minute")
	fuzzSeed = flag.Uint64("lies.seed", 0, "`SEED` of its first round; 0: a random one")
)

// mutator changes the servers' replies.
type mutator struct {
	mu   sync.Mutex
	r    *rand.Rand
	kept [][]byte // earlier replies
	rate int      // one in rate chunks is changed
}

var numbers = []int64{0, -1, 1, -2, 4, 20, 1000, 1 << 16, 1 << 20, 1<<20 + 1, 1 << 26, 1<<31 - 1, -1 << 31, 1 << 40, 1<<63 - 1}

// mutate sometimes changes a chunk of a reply.
func (m *mutator) mutate(p []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) < 200 {
		m.kept = append(m.kept, bytes.Clone(p))
	} else {
		m.kept[m.r.IntN(len(m.kept))] = bytes.Clone(p)
	}
	if m.r.IntN(m.rate) > 0 {
		return p
	}
	p = bytes.Clone(p)
	for range 1 + m.r.IntN(3) {
		p = m.change(p)
	}
	return p
}

func (m *mutator) change(p []byte) []byte {
	if len(p) == 0 {
		return m.kept[m.r.IntN(len(m.kept))]
	}
	at, number := m.r.IntN(len(p)), numbers[m.r.IntN(len(numbers))]
	switch m.r.IntN(12) {
	case 0:
		p[at] ^= 1 << m.r.IntN(8)
	case 1:
		p[at] = "+-:$*%~>|_,#=!(\r\n0123456789"[m.r.IntN(27)]
	case 2, 3, 4: // a ZooKeeper integer
		if at &^= 3; at+4 <= len(p) {
			binary.BigEndian.PutUint32(p[at:], uint32(number))
		}
	case 5:
		if at &^= 7; at+8 <= len(p) {
			binary.BigEndian.PutUint64(p[at:], uint64(number))
		}
	case 6, 7: // a Redis integer
		if i := bytes.IndexAny(p[at:], "0123456789"); i >= 0 {
			from, end := at+i, at+i
			for end < len(p) && p[end] >= '0' && p[end] <= '9' {
				end++
			}
			return append(append(bytes.Clone(p[:from]), strconv.FormatInt(number, 10)...), p[end:]...)
		}
	case 8: // truncated
		return p[:at]
	case 9: // repeated
		return append(p, p[at:]...)
	case 10: // mixed with an earlier reply
		return append(bytes.Clone(p[:at]), m.kept[m.r.IntN(len(m.kept))]...)
	default:
		return append(p[:at:at], append(bytes.Repeat([]byte("*1\r\n"), m.r.IntN(40)), p[at:]...)...)
	}
	return p
}

// startMutated starts a stand-in for the server at addr that sends the mutator's replies.
func startMutated(t *testing.T, addr string, m *mutator) string {
	t.Helper()
	return servertest.StartRelay(t, addr, func(_ int, said []byte, client io.Writer) error {
		_, err := client.Write(m.mutate(said))
		return err
	})
}

// Servers whose replies are mutated are read, and locks are acquired on them (see make fuzz). That
// may cause only errors, at a bounded cost of memory and time.
func TestMutatedConversations(t *testing.T) {
	good := startHonest(t)
	seed := *fuzzSeed
	if seed == 0 {
		seed = rand.Uint64N(1_000_000) + 1
	}
	long := cmp.Or(*fuzzFor, time.Duration(servertest.Effort(t, 1, 60))*time.Second)
	watchMemory(t)
	began, before := time.Now(), runtime.NumGoroutine()
	rounds := 0
	for ; rounds == 0 || time.Since(began) < long; rounds++ {
		if long > 10*time.Second {
			fmt.Fprintln(os.Stderr, "seed", seed)
		}
		round := fmt.Sprint("seed ", seed)
		if !t.Run(round, func(t *testing.T) { mutatedRound(t, good, seed) }) {
			break
		}
		seed++
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+3; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			all := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)])
		}
	}
	t.Logf("%d rounds", rounds)
}

func mutatedRound(t *testing.T, good honest, seed uint64) {
	m := &mutator{r: rand.New(rand.NewPCG(seed, 1)), rate: 1 + int(seed%40)}
	redisAddr, zkAddr := startMutated(t, good.redis, m), startMutated(t, good.zk, m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		look := seen
		once := seed%3 == 0
		if once {
			look = ends
		}
		look(t, "the good locks, after a second", func(s *inspect.Snapshot) bool {
			held := 0
			for l := range s.Locks() {
				if (l.ID.Backend == "good-redis" || l.ID.Backend == "good-zk") && len(l.Holders) > 0 {
					held++
				}
			}
			return held >= 2 && (once || ctx.Err() != nil) // more while the clients below hold their locks
		}, redisSource("bad-redis", redisAddr, once), zkSource("bad-zk", zkAddr, once),
			good.redisSource(once), good.zkSource(once))
	})
	all.Go(func() { takeRedis(ctx, masters(redisAddr)) })
	all.Go(func() {
		takeRedis(ctx, append(append(masters(good.redis), masters(redisAddr)...), &redis.UniversalOptions{Addrs: []string{redisAddr}, Protocol: 3}))
	})
	all.Go(func() { takeZooKeeper(ctx, zkAddr) })
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(50 * time.Second):
		stacks := make([]byte, 1<<20)
		t.Fatalf("still running 49 s after the end\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// takeRedis acquires locks until the context ends.
func takeRedis(ctx context.Context, options []*redis.UniversalOptions) {
	for ctx.Err() == nil {
		session, err := lockops.NewRedisSession(ctx, options, lockops.WithUncheckedMasters(), lockops.WithRequestLimit(200*time.Millisecond))
		if err != nil {
			continue
		}
		locks := []lockops.Locker{lockops.NewRedisMutex(session, "lock:fuzz"), lockops.NewRedisFairMutex(session, "lock:fuzz-fair")}
		if len(options) > 1 {
			locks = []lockops.Locker{lockops.NewRedlock(session, "lock:fuzz-red")}
		}
		take(ctx, locks)
		session.Close()
	}
}

func takeZooKeeper(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		session, err := lockops.NewZKSession(ctx, []string{addr}, lockops.WithSessionTimeout(2*time.Second))
		if err != nil {
			continue
		}
		take(ctx, []lockops.Locker{
			lockops.NewZKMutex(session, "/locks/fuzz"), lockops.NewZKRWMutex(session, "/locks/fuzz-rw").Read(), lockops.NewZKSemaphore(session, "/locks/fuzz-s", 2),
		})
		session.Close()
	}
}

func take(ctx context.Context, locks []lockops.Locker) {
	var all sync.WaitGroup
	for _, lock := range locks {
		all.Go(func() {
			for range 5 {
				some, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				if hold, err := lock.Acquire(some); err == nil {
					_ = hold.Release(some)
				}
				cancel()
			}
		})
	}
	all.Wait()
}
