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

// A silent master gets one request per time limit, and every request again once it answers.
func TestOneRequestProbesASilentMaster(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serverless(t, &now)
	s.lent = true // no client to close
	m := &master{session: s}
	s.masters = []*master{m, m, m}
	limit := s.opts.limit // for connecting
	for range breakerAfter {
		must.True(t, m.admit(0) && !m.silent(), "silent after too few unanswered requests")
		m.record(context.DeadlineExceeded)
	}
	must.True(t, !m.admit(0) && m.silent(), "a silent master was asked without a pause")
	now = now.Add(breakerFirst)
	must.True(t, m.admit(0), "no request was admitted after the pause")
	must.True(t, !m.admit(0), "a second request was admitted at once")
	now = now.Add(limit - 1)
	must.True(t, !m.admit(0), "a second request was admitted within the limit of the first")
	now = now.Add(1)
	must.True(t, m.admit(0), "no second request was admitted after the limit of the first")
	m.record(reply("NOPERM"))
	for range 2 {
		must.True(t, m.admit(0) && !m.silent(), "a master that answers was not asked")
	}
	done := m.releasing("key")
	awaitReleases(m.releases("key"), time.Millisecond) // ends although the vote has not been taken back
	must.Equal(t, len(m.releases("key")), 1, "votes that are being taken back")
	done()
	must.Equal(t, len(m.releases("key")), 0, "votes that are being taken back after the last")
}

// A silent master does not order the waiters. Its vote counts only if it is entitled to vote.
func TestASilentMasterSetsNoOrder(t *testing.T) {
	t.Parallel()
	s := newRedisSession(nil)
	for range 3 {
		s.masters = append(s.masters, &master{session: s, identity: identity{known: true, runID: "old", started: time.Now().Add(-time.Hour)}})
	}
	silent := s.masters[0]
	silent.failures = breakerAfter
	e := (&Redlock{session: s, opts: options{ttl: time.Minute}}).newElection()
	must.Equal(t, e.first(), &e.votes[1], "vote that orders the waiters")
	silent.identity, silent.replaced = identity{known: true, runID: "new", started: time.Now()}, true
	must.Be(t, e.votes[0].entitled(time.Time{}), ErrRestarted, "vote of a restarted master")
}

// The next waiter is woken once, when a majority of the votes has been taken back.
func TestAFreeMajorityWakesOneWaiter(t *testing.T) {
	t.Parallel()
	e := NewRedlock(embeddedMasters(t, 3), "lock").newElection()
	for votes, waits := range []bool{false, true, false} {
		e.tookBack(waits)
		must.Equal(t, e.woken, votes >= 1, "woken after votes:", votes+1)
		e.l.session.work.Wait()
	}
	must.Equal(t, e.votes[0].master.requests.Load(), 3, "requests")
	few := NewRedlock(e.l.session, "lock").newElection()
	few.tookBack(true)
	must.True(t, !few.woken, "woken by one vote of three")
}

// A renewal asks for a missing vote, which counts from the next renewal on.
func TestRenewalAsksForMissingVote(t *testing.T) {
	t.Parallel()
	_, s := onRedis(t)
	v := &NewRedlock(s, "lock", WithMasterLimit(time.Minute)).newElection().votes[0]
	must.Be(t, v.prolongOnce(t.Context()), errNoVote, "first renewal")
	must.True(t, v.has, "the first renewal did not ask for the vote")
	must.Be(t, v.prolongOnce(t.Context()), nil, "second renewal")
}

// took measures requests, even those that got no answer.
func TestUnansweredRequestsAreTimed(t *testing.T) {
	t.Parallel()
	m, s := onRedis(t)
	one := s.masters[0]
	ask := func(limit time.Duration) error {
		_, err := one.eval(one.reach(t.Context(), limit), clockScript, []string{"key"})
		return err
	}
	must.Be(t, ask(30*time.Second), nil)
	must.True(t, one.took() > 0, "an answered request took", one.took())
	servertest.RequireReal(t)
	m.Pause(t)
	defer m.Resume(t)
	const limit = 50 * time.Millisecond
	must.True(t, ask(limit) != nil, "a paused server answered")
	must.True(t, one.took() >= limit/2, "an unanswered request took", one.took())
}

// A later renewal gets the skipped master's vote, so the release must delete the key there, too.
func TestSkippedMasterIsReleased(t *testing.T) {
	t.Parallel()
	var addrs []string
	var clients []*redis.Client
	for range 3 {
		m := servertest.StartRedis(t)
		addrs, clients = append(addrs, m.Addr), append(clients, m.Client(t))
	}
	s := sessionOn(t, addrs)
	passed := s.masters[2]
	must.Become(t, "the last master is known", func() bool { // a new session does not wait for it
		passed.mu.Lock()
		defer passed.mu.Unlock()
		return len(passed.clocks) > 0
	})
	passed.mu.Lock()
	passed.failures, passed.breakerOpenUntil = breakerAfter, s.clock.now().Add(time.Hour)
	passed.mu.Unlock()
	h := must.Have(NewRedlock(s, "lock", WithTTL(10*time.Minute), WithMasterLimit(time.Minute)).Acquire(t.Context()))(t)
	has := func() bool { return clients[2].Exists(t.Context(), "lock").Val() == 1 }
	must.True(t, !has(), "the silent master was asked")
	passed.record(nil)
	must.Become(t, "the vote is there", func() bool { // Extend does not wait for the last vote
		must.Succeed(t, h.Extend(t.Context()))
		return has()
	})
	must.Be(t, h.Release(t.Context()), nil)
	s.Close() // waits for the rest of the release
	for i, c := range clients {
		must.Equal(t, c.Exists(t.Context(), "lock").Val(), 0, "keys left on master", i)
	}
}

// A connection closed between two requests does not cost a lock.
func TestIdleDisconnectCostsNoLock(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	s := sessionOn(t, []string{server.Addr})
	killer := server.Client(t)
	kill := func() {
		t.Helper()
		must.Succeed(t, killer.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	}
	mutex := NewRedisMutex(s, "lock:a", WithTTL(10*time.Second))
	for range 20 {
		h := must.Have(mutex.Acquire(t.Context()))(t)
		kill()
		must.Be(t, h.Release(t.Context()), nil, "release on a closed connection")
		kill()
	}
}

// A check for a lost lock that gets no answer is retried soon, however long the TTL is.
func TestUnansweredRenewalIsRetriedSoon(t *testing.T) {
	t.Parallel()
	s := embeddedMasters(t, 1)
	other := otherClient(t, s)
	h := must.Have(NewRedisMutex(s, "lock", WithTTL(time.Hour)).Acquire(t.Context()))(t)
	awaitRestOfRenewals(t, s)
	s.masters[0].client.AddHook(&failing{errs: []error{context.DeadlineExceeded}, then: func() {
		must.Be(t, other.FlushAll(context.Background()).Err(), nil)
	}})
	s.leases.check("")
	Await(t, "the loss is reported", h.Context().Done())
	must.Be(t, context.Cause(h.Context()), ErrLost, "cause")
}

// awaitRestOfRenewals waits until the session is subscribed, which renews all leases, and no lease
// is due for a renewal soon.
func awaitRestOfRenewals(t *testing.T, s *RedisSession) {
	t.Helper()
	must.Become(t, "the session is subscribed", func() bool {
		w := s.masters[0].subscriber
		w.mu.Lock()
		confirmed := w.confirmed
		w.mu.Unlock()
		for _, l := range s.leases.of("") {
			l.mu.Lock()
			confirmed = confirmed && !l.renewing && l.unlisten != nil && s.clock.until(l.renewAt) > time.Minute
			l.mu.Unlock()
		}
		return confirmed
	})
}

// listeningSession returns a subscribed session with one Redis, and a function that sets its clock
// ahead.
func listeningSession(t *testing.T) (s *RedisSession, ahead func(time.Duration)) {
	t.Helper()
	var by atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	m := AnyRedis(t)
	byClock := func(o *redisOptions) { o.clock.now = now }
	s = must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}, byClock))(t)
	t.Cleanup(s.Close)
	must.True(t, must.Have(s.masters[0].subscriber.ready(t.Context(), time.Minute))(t), "not subscribed")
	return s, func(d time.Duration) { by.Add(int64(d)) }
}

// heard returns the number of lock channels with subscribers.
func heard(t *testing.T, s *RedisSession) (n int) {
	t.Helper()
	return len(must.Have(s.masters[0].client.PubSubChannels(t.Context(), recipe.LockscopeChannel("lock:*")).Result())(t))
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

// A server that is gone without a word is noticed by an unanswered ping. All channels are then
// subscribed on a new connection.
func TestAHungSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	wire := servertest.StartWire(t, server.Addr)
	s := sessionOn(t, []string{wire.Addr()})
	w := s.masters[0].subscriber
	w.listen("lock:one")
	channels := func() int { return len(server.Mini.PubSubChannels(recipe.LockscopeChannel("lock:*"))) }
	must.Become(t, "the lock's channel is subscribed", func() bool { return channels() == 1 })
	wire.HalfOpen()
	must.Become(t, "the subscription has ended", func() bool { return channels() == 0 })
	must.Become(t, "the lock's channel is subscribed again", func() bool { return channels() == 1 })
	must.True(t, must.Have(w.ready(t.Context(), time.Minute))(t), "no messages arrive")
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
		must.True(t, s.masters[0].admit(time.Hour), "a request to a single Redis was not admitted")
	}
}
