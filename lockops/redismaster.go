package lockops

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
)

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/extend.lua
var extendLua string

// master is one Redis and what is known of it.
type master struct {
	name                     string
	client                   redis.UniversalClient
	acquire, release, extend *redis.Script
	requests                 atomic.Uint64

	mu       sync.Mutex
	clock    *clockReading              // nil before the first answer
	failures int                        // requests in a row that were not answered
	asleep   time.Time                  // until when it is taken for dead
	leaving  map[string][]chan struct{} // votes that are being taken back, by key
}

// clockReading is a server's time between two instants of ours.
type clockReading struct {
	server        int64 // µs since 1970
	before, after time.Time
}

// leave notes that a vote is about to be taken back; left says that the master has answered, or has not in time.
func (m *master) leave(key string) (left func()) {
	done := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving == nil {
		m.leaving = make(map[string][]chan struct{})
	}
	m.leaving[key] = append(m.leaving[key], done)
	return func() {
		close(done)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.leaving[key] = slices.DeleteFunc(m.leaving[key], func(ch chan struct{}) bool { return ch == done })
		if len(m.leaving[key]) == 0 {
			delete(m.leaving, key)
		}
	}
}

// stillLeaving is what awaitLeft is to wait for: the votes for a key that are being taken back now.
func (m *master) stillLeaving(key string) []chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.leaving[key])
}

// awaitLeft waits, for a while, until votes have been taken back.
func awaitLeft(votes []chan struct{}, limit time.Duration) {
	if len(votes) == 0 {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, done := range votes {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

func newMaster(o *redis.UniversalOptions, limit time.Duration) *master {
	m := &master{
		name: nodeName(o), client: redisClient(o, limit),
		acquire: redis.NewScript(acquireLua), release: redis.NewScript(releaseLua), extend: redis.NewScript(extendLua),
	}
	m.client.AddHook(requestCounter{&m.requests})
	return m
}

func (m *master) failed(err error) error { return &NodeError{Node: m.name, Err: err} }

// readClock asks a master for its time.
func (m *master) readClock(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	before := time.Now()
	now, err := m.client.Time(ctx).Result()
	m.note(err)
	if err != nil {
		return m.failed(err)
	}
	m.setClock(now.UnixMicro(), before, time.Now())
	return nil
}

func (m *master) setClock(server int64, before, after time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = &clockReading{server, before, after}
}

// latest turns an instant of ours into the server's clock, rounded up by what is not known: how long the answer
// travelled, and a millisecond a second for clocks that run at different rates. slack is that amount.
func (c *clockReading) latest(at time.Time) (server int64, slack time.Duration) {
	drift := at.Sub(c.before) / 1000
	slack = c.after.Sub(c.before) + 2*drift
	return c.server + (at.Sub(c.before) + drift).Microseconds(), slack
}

// The breaker: a master that left deadAfter requests in a row unanswered is not asked to take a lock for a while, which
// doubles from deadFor to deadForMost with every further failure.
const (
	deadAfter   = 3
	deadFor     = 100 * time.Millisecond
	deadForMost = 5 * time.Second
)

// note counts answers: an error reply of the server is one.
func (m *master) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answered(err) {
		m.failures = 0
		return
	}
	m.failures++
	if m.failures >= deadAfter {
		m.asleep = time.Now().Add(min(deadFor<<min(m.failures-deadAfter, 10), deadForMost))
	}
}

func answered(err error) bool {
	if err == nil {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply)
}

func (m *master) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures >= deadAfter && time.Now().Before(m.asleep)
}

// verdict is a master's answer to an acquire script.
type verdict struct {
	taken bool
	token uint64
	pttl  time.Duration // of the holder; negative when it has none
	at    int64         // the master's clock when it judged, µs since 1970; 0 without an answer
	err   error         // *NodeError when the master did not answer or not as expected
	// fate is until when an unanswered request may still be executed: after that the script refuses. Zero when it is
	// certain that nothing more will happen.
	fate time.Time
}

// setOnce runs the acquire script. limit is how long the answer may take, and how long the script may be under way.
func (m *master) setOnce(key, value string, ttl, limit time.Duration, fence bool) verdict {
	if m.dead() {
		return verdict{err: m.failed(ErrDead)}
	}
	m.mu.Lock()
	clock := m.clock
	m.mu.Unlock()
	if clock == nil {
		if err := m.readClock(limit); err != nil {
			return verdict{err: err}
		}
		m.mu.Lock()
		clock = m.clock
		m.mu.Unlock()
	}
	keys := []string{key}
	if fence {
		keys = append(keys, recipe.FenceKey(key))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	before := time.Now()
	last, slack := clock.latest(before.Add(limit))
	reply, err := m.acquire.Run(ctx, m.client, keys, value, ttl.Milliseconds(), last).Slice()
	after := time.Now()
	m.note(err)
	if err != nil {
		v := verdict{err: m.failed(err)}
		if !answered(err) {
			v.fate = before.Add(limit + slack + time.Millisecond)
		}
		return v
	}
	return m.judge(reply, before, after)
}

// judge reads {verdict, detail, seconds, microseconds}.
func (m *master) judge(reply []any, before, after time.Time) verdict {
	var n [4]int64
	if len(reply) != len(n) {
		return verdict{err: m.failed(fmt.Errorf("acquire script answered %v", reply))}
	}
	for i, r := range reply {
		v, err := strconv.ParseInt(fmt.Sprint(r), 10, 64)
		if err != nil {
			return verdict{err: m.failed(fmt.Errorf("acquire script answered %v", reply))}
		}
		n[i] = v
	}
	at := n[2]*1e6 + n[3]
	m.setClock(at, before, after)
	switch n[0] {
	case 1:
		return verdict{taken: true, token: uint64(n[1]), at: at}
	case 0:
		return verdict{pttl: time.Duration(n[1]) * time.Millisecond, at: at}
	}
	return verdict{err: m.failed(errLate)}
}

var errLate = errors.New("the request came too late to the master, or its clock was set")

// releaseOnce runs the release script: nil when the key was deleted, otherwise a *NodeError with ErrGone, ErrOther, or why
// there was no answer.
func (m *master) releaseOnce(ctx context.Context, key, value, channel string, limit time.Duration) error {
	return m.compare(ctx, m.release, key, limit, value, channel)
}

// extendOnce runs the extend script; errors as those of releaseOnce.
func (m *master) extendOnce(ctx context.Context, key, value string, ttl, limit time.Duration) error {
	return m.compare(ctx, m.extend, key, limit, value, ttl.Milliseconds())
}

func (m *master) compare(ctx context.Context, script *redis.Script, key string, limit time.Duration, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n, err := script.Run(ctx, m.client, []string{key}, args...).Int()
	m.note(err)
	switch {
	case err != nil:
		return m.failed(err)
	case n == 0:
		return m.failed(ErrGone)
	case n < 0:
		return m.failed(ErrOther)
	}
	return nil
}

// drift is how much earlier than the TTL a holder stops to trust its lock: one percent for clocks that run at different
// rates and two milliseconds for the granularity of Redis (redis.io, "Distributed locks").
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }
