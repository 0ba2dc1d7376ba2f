package lockops

import (
	"context"
	crand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// RedisOption changes a Redis session.
type RedisOption func(*redisOptions)

type redisOptions struct {
	limit     time.Duration
	unchecked bool
	onRestart func(master string, until time.Time)
	clock     clock
}

// WithRequestLimit limits connecting to a master, through Sentinels too, and then the session's
// first request to it; default 5 s. The limit of a lock's requests (WithMasterLimit) does not
// include connecting.
func WithRequestLimit(limit time.Duration) RedisOption {
	return func(o *redisOptions) { o.limit = limit }
}

// WithUncheckedMasters lets a Redlock use masters that may not be independent: any number of them,
// the same server under several names, or one that was just restarted. It is for sandboxes and
// tests: without a majority of an odd number of distinct masters two clients can hold the lock.
func WithUncheckedMasters() RedisOption { return func(o *redisOptions) { o.unchecked = true } }

// If the user may run INFO, OnRestart calls f when one of several masters was restarted within a
// lock's TTL. Such a master may grant forgotten locks again, so its votes do not count before until
// (redis.io, "Distributed locks", delayed restarts). f must not block.
func OnRestart(f func(master string, until time.Time)) RedisOption {
	return func(o *redisOptions) { o.onRestart = f }
}

// RedisSession has the connections to one Redis (also a Sentinel or Cluster deployment) or to N
// independent masters. Locks and goroutines may share it; a lock never closes it.
type RedisSession struct {
	id         string // the first characters of every value
	random     [sessionBytes]byte
	opts       redisOptions
	masters    []*master
	clock      clock
	sleepClock *sleepClock
	lent       bool            // the clients belong to the caller
	ctx        context.Context // ends with ErrClosed
	end        context.CancelCauseFunc

	localQueue localQueue
	waiters    waiters
	leases     leases
	contended  recently
	identities identities

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // adds under mu, so none after closed
}

// sessionBytes is the number of a value's sixteen random bytes that identify the session.
const sessionBytes = 9

// NewRedisSession connects to one Redis, or to N independent masters for Redlock (an odd number, 3
// or 5), one entry each. Several Addrs in one entry are a Cluster's nodes or, with a MasterName,
// Sentinels. It waits until a majority has answered, or all have answered or failed. If none answered,
// it fails with ErrNoQuorum and a NodeError for each. It copies the options, and switches retries
// off and context deadlines on, since both matter for locks. Close ends the session.
//
// For stand-alone masters and a Cluster, go-redis prints nothing about failed connections: they are in the
// errors. About Sentinels it prints to the standard error unless the program calls redis.SetLogger.
func NewRedisSession(
	ctx context.Context, masters []*redis.UniversalOptions, opts ...RedisOption,
) (*RedisSession, error) {
	s := newRedisSession(opts)
	for _, o := range masters {
		m := &master{name: nodeName(o), session: s}
		m.client = dialClient(o, s.opts.limit, &m.dials)
		s.masters = append(s.masters, m)
	}
	return s.start(ctx)
}

// AdoptRedis makes a session from the program's clients: one for one Redis (also a Sentinel or
// Cluster deployment), or N for the independent masters of a Redlock. Otherwise it is like
// NewRedisSession. Their options must have ContextTimeoutEnabled and MaxRetries -1; a program whose
// client retries needs a second one for its locks. Close leaves them open.
func AdoptRedis(ctx context.Context, clients []redis.UniversalClient, opts ...RedisOption) (*RedisSession, error) {
	s := newRedisSession(opts)
	s.lent = true
	for _, c := range clients {
		name, err := adopted(c)
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		s.masters = append(s.masters, &master{name: name, session: s, client: c})
	}
	return s.start(ctx)
}

func newRedisSession(opts []RedisOption) *RedisSession {
	s := &RedisSession{opts: redisOptions{limit: 5 * time.Second, clock: processClock()}}
	for _, opt := range opts {
		opt(&s.opts)
	}
	s.clock = s.opts.clock
	s.sleepClock = newSleepClock(s.clock)
	_, _ = crand.Read(s.random[:]) // never fails
	s.id = base64.RawURLEncoding.EncodeToString(s.random[:])
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// newValue makes the value of one acquisition.
func (s *RedisSession) newValue(label string) string {
	var random [16]byte
	copy(random[:], s.random[:])
	_, _ = crand.Read(random[sessionBytes:]) // never fails
	return recipe.LockscopeToken(random, label)
}

func (s *RedisSession) start(ctx context.Context) (*RedisSession, error) {
	if len(s.masters) == 0 {
		return nil, errors.New("redis: no masters given")
	}
	for _, m := range s.masters {
		_, m.cluster = m.client.(*redis.ClusterClient)
		m.subscriber = newSubscriber(s, m)
	}
	if err := s.meet(ctx); err != nil {
		s.closeClients() // ends pending requests: none of them can have taken a lock
		s.Close()
		return nil, fmt.Errorf("redis: %w", err)
	}
	return s, nil
}

// meet asks all masters at once for their time and, if there are several, their identities. It
// waits for a majority. It need not call enter, since no caller has the session yet.
func (s *RedisSession) meet(ctx context.Context) error {
	answers := make(chan error, len(s.masters))
	for _, m := range s.masters {
		s.goDo(func() { answers <- m.meet(s.opts.limit) })
	}
	var good int
	var bad []error
	for range s.masters {
		select {
		case err := <-answers:
			if err == nil {
				good++
			} else {
				bad = append(bad, err)
			}
		case <-ctx.Done():
			return withNodes(bad, because(ctx))
		}
		if good >= s.quorum() {
			return nil
		}
	}
	if same := errors.Join(bad...); errors.Is(same, ErrSameServer) {
		return withNodes(bad, ErrNoQuorum)
	}
	switch {
	case good > 0: // a Redlock waits for the others
		return nil
	case len(s.masters) == 1:
		return worded{bad[0].Error(), append(bad, ErrNoQuorum)}
	}
	return withNodes(bad, ErrNoQuorum)
}

func (s *RedisSession) quorum() int { return len(s.masters)/2 + 1 }

// Close waits for background work (at most a few request limits) and closes the connections, unless
// they were adopted. Holds that were not released are lost: their keys stay until their TTL ends.
// An Acquire that has not returned leaves none. A second call does nothing.
func (s *RedisSession) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	s.end(ErrClosed)
	s.leases.loseAll()
	s.work.Wait()
	if !closed {
		s.closeClients()
	}
}

func (s *RedisSession) closeClients() {
	if s.lent {
		return
	}
	for _, m := range s.masters {
		m.client.Close()
	}
}

// begin begins an Acquire. It returns a re-entered hold, an error, or a function to call at the end
// of the Acquire. The function is nil unless the session is open and the servers are near enough
// for the lock.
func (s *RedisSession) begin(ctx context.Context, lock lockKey, opts *options) (h *Hold, end func(), err error) {
	if h, err = begin(ctx, lock, opts); h != nil || err != nil {
		return h, nil, err
	}
	if !s.enter() {
		return nil, nil, acquireError(lock, ErrClosed)
	}
	if err = s.nearEnough(ctx, opts, lock.name); err != nil {
		s.leave()
		return nil, nil, acquireError(lock, err)
	}
	return nil, s.leave, nil
}

// enter counts a caller, so that Close waits for it and for what it starts. The caller must call
// leave. After Close, enter returns false instead.
func (s *RedisSession) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

func (s *RedisSession) leave() { s.work.Done() }

// goDo runs f in a goroutine that Close waits for. Callers have called enter, or run in such a goroutine.
func (s *RedisSession) goDo(f func()) { s.work.Go(f) }

func (s *RedisSession) pause(ctx context.Context, wait time.Duration, news <-chan struct{}) error {
	return pause(ctx, s.ctx, wait, news)
}

// sleep waits; it returns an error as soon as the session is closed.
func (s *RedisSession) sleep(wait time.Duration) error {
	return s.pause(context.Background(), wait, nil)
}

// Requests counts the commands that the session has sent to its masters, a script as one, including
// subscriptions but not go-redis' connection set-up.
func (s *RedisSession) Requests() uint64 {
	var sum uint64
	for _, m := range s.masters {
		sum += m.requests.Load() + m.subscriber.requests.Load()
	}
	return sum
}
