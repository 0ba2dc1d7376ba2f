package lockops_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// beforeVote is a client hook. Once armed, it blocks the next script until proceed is closed.
type beforeVote struct {
	servertest.Hook
	armed            atomic.Bool
	reached, proceed chan struct{}
}

func (b *beforeVote) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); (name == "eval" || name == "evalsha") && b.armed.CompareAndSwap(true, false) {
			close(b.reached)
			<-b.proceed
		}
		return next(ctx, cmd)
	}
}

// The master restarts after it identified itself but before it votes.
func TestL1_RestartedAdoptedMasterDoesNotVote(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	hook := &beforeVote{reached: make(chan struct{}), proceed: make(chan struct{})}
	clients := adoptable(t, masters)
	clients[1].AddHook(hook)
	s := must.Have(lockops.AdoptRedis(within(t), clients))(t)
	defer s.Close()
	l := lockops.NewRedlock(s, "lock", lockops.WithTTL(time.Minute), lockops.WithMasterLimit(30*time.Second))
	must.Become(t, "all masters voted", func() bool { // learns the masters' identities
		h := acquire(t, l)
		defer release(t, h)
		return votes(t, masters, "lock") == 3
	})
	must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
	redisClient(t, masters[0]).Set(within(t), "lock", "somebody else's", time.Minute)
	hook.armed.Store(true)
	tried := make(chan error, 1)
	ctx := within(t)
	go func() {
		_, err := l.TryAcquire(ctx)
		tried <- err
	}()
	<-hook.reached
	masters[1].Restart(t) // it and the first were another client's majority
	close(hook.proceed)
	if err := <-tried; !errors.Is(err, lockops.ErrHeld) && !errors.Is(err, lockops.ErrNoQuorum) {
		t.Errorf("TryAcquire with the vote of a restarted master: %v", err)
	}
}

// adoptable returns clients that a session may adopt.
func adoptable(t *testing.T, masters []*servertest.Redis) (clients []redis.UniversalClient) {
	for _, m := range masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		clients = append(clients, c)
	}
	return clients
}
