package lockops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisOption changes a Redis session.
type RedisOption func(*redisOptions)

type redisOptions struct {
	limit time.Duration
}

// WithRequestLimit sets how long connecting to a master, and the first request to it, may take; default 1 s.
func WithRequestLimit(limit time.Duration) RedisOption {
	return func(o *redisOptions) { o.limit = limit }
}

// RedisSession is the connections to one Redis (also a Sentinel or Cluster deployment) or to N independent masters. It
// may be shared by any number of locks and goroutines; a lock never closes it.
type RedisSession struct {
	masters []*master
	wakeups *wakeups
	turns   turns
	ctx     context.Context // ends with ErrClosed
	end     context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // with mu: nothing is added after closed
}

// NewRedisSession connects to one Redis, or to N independent masters for Redlock (3 or 5), and waits until a majority of
// them answers, or fails with ErrNoQuorum and a NodeError for each that did not. The options are copied; retries are
// switched off and context deadlines on, since both decide about locks. Close ends it.
func NewRedisSession(ctx context.Context, masters []*redis.UniversalOptions, opts ...RedisOption) (*RedisSession, error) {
	o := redisOptions{limit: time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	if len(masters) == 0 {
		return nil, errors.New("lockops: redis: no masters given")
	}
	s := &RedisSession{}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	for _, m := range masters {
		s.masters = append(s.masters, newMaster(m, o.limit))
	}
	s.wakeups = newWakeups(s.masters[0].client)
	if err := s.start(ctx, o.limit); err != nil {
		s.Close()
		return nil, fmt.Errorf("lockops: redis: %w", err)
	}
	return s, nil
}

// start asks all masters for their time, at once, and waits for a majority.
func (s *RedisSession) start(ctx context.Context, limit time.Duration) error {
	answers := make(chan error, len(s.masters))
	for _, m := range s.masters {
		s.goDo(func() { answers <- m.readClock(limit) })
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
		if len(bad) > len(s.masters)-s.quorum() {
			break
		}
	}
	if len(s.masters) == 1 {
		return worded{bad[0].Error(), append(bad, ErrNoQuorum)}
	}
	return withNodes(bad, ErrNoQuorum)
}

func (s *RedisSession) quorum() int { return len(s.masters)/2 + 1 }

// Close waits for what still runs in the background (at most a few request limits) and closes the connections. Holds
// that were not released are lost: their keys stay until their TTL runs out. A second call does nothing.
func (s *RedisSession) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	s.end(ErrClosed)
	s.work.Wait()
	if closed {
		return
	}
	for _, m := range s.masters {
		m.client.Close()
	}
}

// goDo runs f in a goroutine that Close waits for; after Close it does not run.
func (s *RedisSession) goDo(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// redisClient makes a client that does what it is told, once, in the time it is given.
func redisClient(given *redis.UniversalOptions, limit time.Duration) redis.UniversalClient {
	o := *given
	o.Addrs = slices.Clone(given.Addrs)
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout = cmpDuration(o.DialTimeout, limit)
	o.ReadTimeout = cmpDuration(o.ReadTimeout, 5*time.Second) // the context's deadline comes first
	o.WriteTimeout = cmpDuration(o.WriteTimeout, 5*time.Second)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.Protocol == 0 {
		o.Protocol = 2 // no HELLO: one round trip less, and every server knows it
	}
	if o.ClientName == "" {
		o.ClientName = "lockscope"
	}
	return redis.NewUniversalClient(&o)
}

func cmpDuration(given, standard time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return standard
}

func nodeName(o *redis.UniversalOptions) string { return strings.Join(o.Addrs, ",") }

// turns lets one contender of a session at a time ask the servers for a lock, first come first served; the others wait
// here, where it costs nothing.
type turns struct {
	mu    sync.Mutex
	locks map[lockKey]*turn
}

type turn struct {
	busy    bool
	waiting []chan struct{}
}

// take waits for the turn; done passes it on.
func (t *turns) take(ctx context.Context, lock lockKey) (done func(), err error) {
	t.mu.Lock()
	if t.locks == nil {
		t.locks = make(map[lockKey]*turn)
	}
	own := t.locks[lock]
	if own == nil {
		own = &turn{}
		t.locks[lock] = own
	}
	done = func() { t.pass(lock, own) }
	if !own.busy {
		own.busy = true
		t.mu.Unlock()
		return done, nil
	}
	mine := make(chan struct{})
	own.waiting = append(own.waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return done, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(own.waiting, mine)
	if i >= 0 {
		own.waiting = slices.Delete(own.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // it has just become ours
		t.pass(lock, own)
	}
	return nil, because(ctx)
}

func (t *turns) pass(lock lockKey, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(own.waiting) == 0 {
		own.busy = false
		delete(t.locks, lock)
		return
	}
	close(own.waiting[0])
	own.waiting = own.waiting[1:]
}
