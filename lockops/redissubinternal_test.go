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

// listeningSession returns a subscribed session with one Redis, and a function that sets its clock
// ahead.
func listeningSession(t *testing.T) (s *RedisSession, ahead func(time.Duration)) {
	t.Helper()
	var by atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	m := servertest.StartRedis(t)
	byClock := func(o *redisOptions) { o.clock.now = now }
	s = must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}, byClock))(t)
	t.Cleanup(s.Close)
	if ok, err := s.masters[0].subscriber.ready(t.Context(), time.Minute); !ok || err != nil {
		t.Fatalf("not subscribed: %v", err)
	}
	return s, func(d time.Duration) { by.Add(int64(d)) }
}

// heard returns the number of lock channels with subscribers.
func heard(t *testing.T, s *RedisSession) (n int) {
	t.Helper()
	channels := must.Have(s.masters[0].client.PubSubChannels(t.Context(), recipe.LockscopeChannel("lock:*")).Result())(t)
	return len(channels)
}

// Unused subscriptions end even if the session receives messages all the time.
func TestSubscriptionsEndInABusySession(t *testing.T) {
	t.Parallel()
	s, ahead := listeningSession(t)
	w := s.masters[0].subscriber
	const locks = 20
	for i := range locks {
		w.listen(fmt.Sprintf("lock:%d", i))()
	}
	must.Become(t, "all channels are subscribed", func() bool { return heard(t, s) == locks })
	busy, stop := context.WithCancel(t.Context())
	var speaker sync.WaitGroup
	speaker.Go(func() {
		for busy.Err() == nil {
			s.masters[0].client.Publish(busy, w.own, "0 0 0 0 nobody")
			time.Sleep(100 * time.Millisecond) // so that the subscriber is never idle
		}
	})
	ahead(lingers + subscriberBeat)
	must.Become(t, "no channels are subscribed", func() bool { return heard(t, s) == 0 })
	stop()
	speaker.Wait()
}

// A listener added while its channel is being pruned still gets messages.
func TestListenerDuringPruneGetsMessages(t *testing.T) {
	t.Parallel()
	s, _ := listeningSession(t)
	w := s.masters[0].subscriber
	const lock = "lock:one"
	w.requestMu.Lock() // as prune does after dropping the channel
	defer w.listen(lock)()
	for end := time.Now().Add(500 * time.Millisecond); heard(t, s) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // nothing should happen
	}
	w.request(w.pubsub.Unsubscribe, recipe.LockscopeChannel(lock))
	must.Become(t, "the channel is unsubscribed", func() bool { return heard(t, s) == 0 })
	w.requestMu.Unlock()
	must.Become(t, "the channel is subscribed again", func() bool { return heard(t, s) == 1 })
}

// Messages may have been missed before the new subscription.
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
		t.Error("the waiters were not woken")
	}
	must.True(t, !m.silent(), "a server that sends messages counts as silent")
}

// A single Redis has no breaker, since there is no other master to ask.
func TestASingleRedisIsAlwaysAsked(t *testing.T) {
	t.Parallel()
	s, _ := listeningSession(t)
	for range 10 * breakerAfter {
		s.masters[0].record(context.DeadlineExceeded)
		if !s.masters[0].admit(time.Hour) {
			t.Fatal("a request to a single Redis was not admitted")
		}
	}
}
