package lockops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Redlock is an exclusive lock spread over N independent Redis masters, 3 or 5. The client that has
// the key on a majority holds it (redis.io, "Distributed locks with Redis": the Redlock algorithm).
// Clients of other Redlock libraries with the same key exclude it, and are excluded. The masters
// must be an odd number of distinct servers; see WithUncheckedMasters.
//
// Waiters are in a sorted set on the first master that answers. A contender that finds the lock
// contended asks that master before the others, so that votes are seldom split. That is for speed
// only: the votes decide.
//
// It has no fencing token; see the package documentation for what else it cannot promise.
type Redlock struct {
	session *RedisSession
	opts    options
	lock    lockKey
	// The keys for scripts: the lock's alone, and the lock's with its waiters'.
	key, keyAndTurns []string
}

// NewRedlock makes a lock of a key on all masters of the session. Options: WithLabel, WithTTL,
// WithoutRenewal, WithMasterLimit, WithReentry, OnWaiting, OnRenew. Every Acquire fails if the
// session has only one master or an even number, unless the session was made WithUncheckedMasters.
func NewRedlock(s *RedisSession, key string, opts ...Option) *Redlock {
	l := &Redlock{session: s, opts: newOptions(redlockKeeps, opts), lock: lockKey{s, "redlock", key}}
	l.key, l.keyAndTurns = []string{key}, []string{key, recipe.LockscopeKey(recipe.TurnPrefix, key)}
	if l.opts.limit <= 0 {
		l.opts.limit = min(max(l.opts.ttl/20, 50*time.Millisecond), 500*time.Millisecond, l.opts.ttl/3)
	}
	if key == "" {
		l.opts.refuse("a lock in Redis needs a key")
	}
	if n := len(s.masters); l.opts.err == nil && !s.opts.unchecked && (n < 3 || n%2 == 0) {
		l.opts.err = fmt.Errorf("%w: a Redlock needs an odd number of masters, at least 3, but has %d", ErrMasters, n)
	}
	return l
}

// limit returns how long a master may take to answer, which is longer over a slow link.
func (l *Redlock) limit(m *master) time.Duration {
	return min(max(l.opts.limit, 2*m.took()), l.opts.limitMost())
}

// Acquire tries until it has a majority or ctx ends. It tries again when a message says that it is
// next, and after a random pause. When ctx ends, the error also wraps that of the last try:
// ErrHeld, or ErrNoQuorum with a NodeError for each master that did not answer as needed.
func (l *Redlock) Acquire(ctx context.Context) (*Hold, error) {
	h, end, err := l.session.begin(ctx, l.lock, &l.opts)
	if end == nil {
		return h, err
	}
	defer end()
	s := l.session
	leave, err := s.localQueue.enter(ctx, l.lock)
	if err != nil {
		return nil, acquireError(l.lock, fmt.Errorf("%w (%w)", err, ErrHeld))
	}
	defer leave()
	c := &candidate{l: l, name: s.newValue(l.opts.label)}
	defer c.close()
	var seen error // why the newest completed election failed
	for {
		h, failed := c.try(ctx)
		if h != nil {
			return h, nil
		}
		if ctx.Err() == nil || !errors.Is(failed, ctx.Err()) {
			seen = failed
		}
		if err := c.pause(ctx, failed); err != nil {
			if seen == nil {
				return nil, acquireError(l.lock, failed)
			}
			return nil, acquireError(l.lock, fmt.Errorf("%w (%w)", err, seen))
		}
	}
}

// TryAcquire asks the masters once. It returns ErrHeld when other clients have the key on so many masters that no
// majority was left, and ErrNoQuorum when too few answered.
func (l *Redlock) TryAcquire(ctx context.Context) (*Hold, error) {
	h, end, err := l.session.begin(ctx, l.lock, &l.opts)
	if end == nil {
		return h, err
	}
	defer end()
	e := l.newElection()
	e.requestAll()
	if h, err = e.decide(ctx); err != nil {
		return nil, acquireError(l.lock, err)
	}
	return h, nil
}

// candidate is one Acquire, with its name among the waiters.
type candidate struct {
	l       *Redlock
	name    string
	tries   int
	next    bool    // it was just notified that it is next
	lost    int     // elections in a row that were lost although the master that orders the waiters had voted for it
	since   int64   // its place among the waiters (see acquire.lua)
	orders  *master // the master that it asked first in its last try
	queued  []*vote // requests that may have queued it: each master's newest, and all unanswered ones
	waiting bool    // OnWaiting was called
	w       *waiter
}

// try holds one election, with a new value. If the lock was just contended, it first asks the
// master that orders the waiters, and the others only when that master agrees. A contender that was
// notified that it is next asks all at once.
func (c *candidate) try(ctx context.Context) (*Hold, error) {
	l, s := c.l, c.l.session
	e := l.newElection()
	c.tries++
	if c.tries == 1 && !s.contended.is(l.lock, s.clock.now()) {
		e.requestAll()
		return e.decide(ctx)
	}
	c.listen() // before a message can come
	first := e.first()
	first.queues, first.name, first.since, first.polite = true, c.name, c.since, c.tries == 1
	c.orders = first.master
	c.queued = slices.DeleteFunc(c.queued,
		func(v *vote) bool { return v.master == first.master && v.counted && v.at != 0 })
	c.queued = append(c.queued, first)
	h, err := e.hold(ctx, first, c.next)
	if first.counted && c.since == 0 {
		c.since = first.at
	}
	switch {
	case h != nil && first.gave: // a master that grants the key removes the waiter
		c.queued = slices.DeleteFunc(c.queued, func(v *vote) bool { return v == first })
	case slices.Contains(e.refusals, first):
		c.lost = 0
	default:
		c.lost++
	}
	return h, err
}

// hold asks the first master, and then, or at once, all others.
func (e *election) hold(ctx context.Context, first *vote, atOnce bool) (*Hold, error) {
	e.request(first)
	if !atOnce {
		if err := e.await(ctx, func() bool { return false }); err != nil {
			e.withdraw()
			return nil, err
		}
		if len(e.refusals) > 0 {
			e.withdraw()
			return nil, ErrHeld
		}
	}
	e.requestAll()
	return e.decide(ctx)
}

func (c *candidate) listen() {
	if c.w == nil {
		c.w = c.l.session.waiters.add(c.l.lock.name, c.name)
	}
}

const (
	// redlockFirst and redlockMost bound the random time to the next try where too few masters answer.
	redlockFirst = 10 * time.Millisecond
	redlockMost  = 200 * time.Millisecond
	// redlockLook is the mean time after which a waiter polls, in case a message was lost or the holder has died.
	redlockLook = 200 * time.Millisecond
)

// pause waits for the message that the contender is next, or for a random time, so that contenders
// do not split the votes again. A contender may be in no queue although the ordering master voted
// for it: other masters have not received the release yet. It tries again soon.
func (c *candidate) pause(ctx context.Context, failed error) error {
	s := c.l.session
	var news <-chan struct{}
	wait := time.Millisecond + rand.N(min(redlockFirst<<min(c.tries, 10), redlockMost))
	if errors.Is(failed, ErrHeld) {
		s.contended.mark(c.l.lock, s.clock.now())
		c.listen()
		news = c.w.news
		if !c.waiting {
			c.waiting = true
			c.l.opts.waiting(c.name)
		}
		switch {
		case c.orders == nil: // it is in no queue yet
			return nil
		case c.lost > 0:
			wait = rand.N(time.Millisecond << min(c.lost, 7))
		default:
			wait = redlockLook/2 + rand.N(redlockLook)
		}
		c.orders.subscriber.start()
	}
	if err := s.pause(ctx, wait, news); err != nil {
		return err
	}
	c.next = c.w != nil && c.w.take() != nil
	return nil
}

// close removes the candidate from the waiters of all masters, in the background.
func (c *candidate) close() {
	if c.w != nil {
		c.l.session.waiters.remove(c.name)
	}
	for _, v := range c.queued {
		c.l.session.goDo(func() { c.leave(v) })
	}
}

// leave removes the candidate from a master's waiters after its request is done, and again if that
// may have been executed late.
func (c *candidate) leave(v *vote) {
	l := c.l
	leave := func() error {
		return v.master.compare(context.Background(), turnScript, l.keyAndTurns, v.limit(), v.master.counts(), c.name)
	}
	v.requestMu.Lock()
	lateUntil := v.lateUntil
	v.requestMu.Unlock()
	if err := leave(); !settled(err) || l.session.clock.before(lateUntil) {
		l.session.removeLater(lateUntil, l.limit(v.master), leave)
	}
}

// recently remembers for a while which locks were contended.
type recently struct {
	mu sync.Mutex
	at map[lockKey]time.Time
}

const (
	// contendedFor is how long a lock counts as contended after a client waited for it.
	contendedFor = 100 * time.Millisecond
	// recentlyMost is the size at which old entries are swept out.
	recentlyMost = 64
)

func (r *recently) mark(lock lockKey, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = make(map[lockKey]time.Time)
	}
	if len(r.at) >= recentlyMost {
		maps.DeleteFunc(r.at, func(_ lockKey, at time.Time) bool { return now.Sub(at) > contendedFor })
	}
	r.at[lock] = now
}

func (r *recently) is(lock lockKey, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[lock]
	return ok && now.Sub(at) < contendedFor
}
