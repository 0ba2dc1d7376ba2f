package contend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/lockops"
)

// Redis is a lock in one Redis, or on several masters, for a run.
type Redis struct {
	Site
	Masters []*redis.UniversalOptions
	Session []lockops.RedisOption
}

// NewRedis makes the target of such a lock. The keys that remain when the lock is free are removed
// at the end of the run, unless they existed before.
func NewRedis(r Redis) Target {
	r.Label = labelOf(r.Label)
	return &redisTarget{Redis: r}
}

type redisTarget struct {
	Redis
	clients []redis.UniversalClient // one per master, separate from the contenders'
	ours    bool                    // the lock's auxiliary keys did not exist before
	unread  bool                    // too few masters answered, so nothing was made
}

// clientLimit bounds each request of the target to one master, including the connect.
const clientLimit = 5 * time.Second

func (a *redisTarget) Describe() Description {
	if a.Kinds[0].On == lockops.OnRedisMasters {
		return a.describe(OrderOfCalls)
	}
	return a.describe("the master's clock when it first saw each attempt")
}

// auxiliaryKeys returns the keys that remain when the lock is free.
func (a *redisTarget) auxiliaryKeys() (keys []string) {
	for _, k := range a.Kinds {
		for _, key := range k.AuxiliaryKeys(a.Name) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Open checks that the lock exists on no master that answers; a majority must answer.
func (a *redisTarget) Open(ctx context.Context) error {
	for _, m := range a.Masters {
		o := *m
		o.Addrs = slices.Clone(m.Addrs)
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = clientLimit, clientLimit, clientLimit
		a.clients = append(a.clients, redis.NewUniversalClient(&o))
	}
	found, failed := each(ctx, a, func(ctx context.Context, c redis.UniversalClient) (bool, error) {
		n, err := c.Exists(ctx, a.Name).Result()
		return n > 0, err
	})
	if n := len(a.clients) - len(failed); n <= len(a.clients)/2 {
		a.unread = true
		if len(a.clients) == 1 {
			return fmt.Errorf("redis %s: %w", a.Name, oneSilent{failed[0]})
		}
		return fmt.Errorf("redis %s: %w", a.Name, errors.Join(append([]error{lockops.ErrNoQuorum}, failed...)...))
	}
	exists := slices.Contains(found, true)
	if keys := a.auxiliaryKeys(); len(keys) > 0 { // only for kinds on one master
		there, err := a.clients[0].Exists(ctx, keys...).Result()
		if err != nil {
			return fmt.Errorf("redis %s: %w", a.Name, err)
		}
		exists = exists || there > 0
		a.ours = !exists
	}
	if exists && !a.Existing {
		return fmt.Errorf("redis %s: %w", a.Name, ErrExists)
	}
	return nil
}

// oneSilent is ErrNoQuorum for a single Redis, with the text of that server's error.
type oneSilent struct{ error }

func (e oneSilent) Unwrap() []error { return []error{e.error, lockops.ErrNoQuorum} }

// each asks all masters at once. The failures are NodeErrors.
func each[T any](
	ctx context.Context, a *redisTarget, ask func(context.Context, redis.UniversalClient) (T, error),
) (answers []T, failed []error) {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	answers = make([]T, len(a.clients))
	failures := make([]error, len(a.clients))
	var all sync.WaitGroup
	for i, c := range a.clients {
		all.Go(func() { answers[i], failures[i] = ask(ctx, c) })
	}
	all.Wait()
	for i, err := range failures {
		if err != nil {
			failed = append(failed, &lockops.NodeError{Node: strings.Join(a.Masters[i].Addrs, ","), Err: err})
		}
	}
	return answers, failed
}

// Join opens a session with all masters and makes the lock on it.
func (a *redisTarget) Join(ctx context.Context, contender int) (Member, error) {
	session, err := lockops.NewRedisSession(ctx, a.Masters, a.Session...)
	if err != nil {
		return nil, err
	}
	m := &redisMember{session: session}
	options := append(slices.Clone(a.Options), lockops.WithLabel(labelled(a.Label, contender)))
	if a.Kinds[0].On != lockops.OnRedisMasters {
		options = append(options, lockops.OnAsked(func(at time.Time) { m.arrived(at.UnixMicro()) }))
	}
	if m.lock, err = a.kind(contender).New(session, a.Name, options...); err != nil {
		session.Close()
		return nil, err
	}
	return m, nil
}

// redisMember is a contender with its session.
type redisMember struct {
	session *lockops.RedisSession
	lock    lockops.Locker
	arrived func(place int64) // of the current Acquire
}

func (m *redisMember) Acquire(ctx context.Context, arrived func(place int64)) (Hold, error) {
	m.arrived = arrived
	h, err := m.lock.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (m *redisMember) Requests() uint64 { return m.session.Requests() }

func (m *redisMember) Close() { m.session.Close() }

// Close looks for a leftover value of a contender, and removes the keys that the run made. If another
// client holds the lock, they stay until they expire.
func (a *redisTarget) Close(ctx context.Context) (left []string, err error) {
	defer func() {
		for _, c := range a.clients {
			_ = c.Close() // no requests are running
		}
	}()
	if a.unread {
		return nil, nil
	}
	owners, failed := each(ctx, a, a.owner)
	if slices.Contains(owners, ourOwn) {
		left = []string{a.Name}
	}
	if a.ours && slices.Max(owners) == noOwner {
		failed = append(failed, a.clients[0].Del(ctx, a.auxiliaryKeys()...).Err())
	}
	if err := errors.Join(failed...); err != nil {
		return left, fmt.Errorf("redis %s: %w", a.Name, err)
	}
	return left, nil
}

// owner distinguishes our keys from others', which a run must not touch.
type owner int

const (
	noOwner owner = iota
	ourOwn
	stranger
)

func (a *redisTarget) owner(ctx context.Context, c redis.UniversalClient) (owner, error) {
	value, err := c.Get(ctx, a.Name).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return noOwner, nil
	case err == nil && strings.HasPrefix(recipe.DecodeToken(a.Name, value).Label, a.Label+"#"):
		return ourOwn, nil
	case err == nil, errors.As(err, new(redis.Error)): // not a type of our locks
		return stranger, nil
	}
	return stranger, err
}
