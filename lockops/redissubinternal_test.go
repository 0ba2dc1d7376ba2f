package lockops

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// listeningSession is a session of one Redis that hears messages, by a clock that a test may set ahead.
func listeningSession(t *testing.T) (s *RedisSession, ahead func(time.Duration)) {
	t.Helper()
	var by atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	m := servertest.StartRedis(t)
	byClock := func(o *redisOptions) { o.clock.now = now }
	s = must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}, byClock))(t)
	t.Cleanup(s.Close)
	if ok, err := s.masters[0].subscriber.ready(t.Context(), time.Minute); !ok || err != nil {
		t.Fatalf("no messages: %v", err)
	}
	return s, func(d time.Duration) { by.Add(int64(d)) }
}

// heard returns the number of lock channels that a server's clients have subscribed to.
func heard(t *testing.T, s *RedisSession) (n int) {
	t.Helper()
	channels := must.Have(s.masters[0].client.PubSubChannels(t.Context(), recipe.LockscopeChannel("lock:*")).Result())(t)
	return len(channels)
}

// TestSubscriptionsEndInABusySession, on which something is heard all the time.
func TestSubscriptionsEndInABusySession(t *testing.T) {
	t.Parallel()
	s, ahead := listeningSession(t)
	w := s.masters[0].subscriber
	const locks = 20
	for i := range locks {
		w.listen(fmt.Sprintf("lock:%d", i))()
	}
	must.Become(t, "all are subscribed to", func() bool { return heard(t, s) == locks })
	busy, stop := context.WithCancel(t.Context())
	var speaker sync.WaitGroup
	speaker.Go(func() {
		for busy.Err() == nil {
			s.masters[0].client.Publish(busy, w.own, "0 0 0 0 nobody")
			time.Sleep(100 * time.Millisecond) // much less than the silence in which it looked
		}
	})
	ahead(lingers + subscriberBeat)
	must.Become(t, "none are subscribed to", func() bool { return heard(t, s) == 0 })
	stop()
	speaker.Wait()
}

// A listener that comes just before its channel is pruned gets
// the messages.
func TestListenerDuringPruneGetsMessages(t *testing.T) {
	t.Parallel()
	s, _ := listeningSession(t)
	w := s.masters[0].subscriber
	const lock = "lock:one"
	w.requestMu.Lock() // as prune does, which has taken the lock out
	defer w.listen(lock)()
	for end := time.Now().Add(500 * time.Millisecond); heard(t, s) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // nothing is to happen
	}
	w.request(w.pubsub.Unsubscribe, recipe.LockscopeChannel(lock))
	must.Become(t, "the channel is given up", func() bool { return heard(t, s) == 0 })
	w.requestMu.Unlock()
	must.Become(t, "the lock is heard of", func() bool { return heard(t, s) == 1 })
}

// Messages to the one before may have been missed.
func TestResubscribingWakesWaiters(t *testing.T) {
	t.Parallel()
	s, _ := listeningSession(t)
	m := s.masters[0]
	w := s.waiters.add("lock", "value")
	for range breakerAfter {
		m.record(context.DeadlineExceeded)
	}
	m.subscriber.receive(&redis.Subscription{Kind: "subscribe", Channel: m.subscriber.own})
	select {
	case <-w.news:
	default:
		t.Error("the session's waiters do not look")
	}
	must.True(t, !m.silent(), "the server is heard from, and counts as silent")
}

// TestASingleRedisIsAlwaysAsked: there is no other to ask meanwhile.
func TestASingleRedisIsAlwaysAsked(t *testing.T) {
	t.Parallel()
	s, _ := listeningSession(t)
	for range 10 * breakerAfter {
		s.masters[0].record(context.DeadlineExceeded)
		if !s.masters[0].admit(time.Hour) {
			t.Fatal("a lock of one Redis waits for its breaker")
		}
	}
}
