package lockops

import (
	"context"
	"fmt"
	"strings"
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
	until, _ := m.reach(t.Context(), 0).Deadline()
	must.True(t, time.Until(until) > limit-time.Second, "an adopted client is not given the time to connect")
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
	s.masters[1].failures, s.masters[2].failures = breakerAfter, breakerAfter
	must.Equal(t, e.first(), &e.votes[0], "vote that orders the waiters, of silent masters")
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
	wire := servertest.StartWire(t, AnyRedis(t).Addr)
	one := sessionOn(t, []string{wire.Addr()}).masters[0]
	ask := func(limit time.Duration) error {
		_, err := one.eval(one.reach(t.Context(), limit), clockScript, []string{"key"})
		return err
	}
	must.Be(t, ask(30*time.Second), nil)
	must.True(t, one.took() > 0, "an answered request took", one.took())
	wire.Stop()
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
		m := AnyRedis(t)
		addrs, clients = append(addrs, m.Addr), append(clients, m.Client(t))
	}
	s := sessionOn(t, addrs, WithUncheckedMasters())
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
	must.Equal(t, clients[0].Get(t.Context(), "lock").Val(), h.Name(), "value of the key")
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
	w.beat = 300 * time.Millisecond
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
	must.Equal(t, len(w.news), 1, "signals to the waiter")
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

// Links that were too slow are measured again before a lock is refused. A majority must be near enough.
func TestFarMastersAreMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := embeddedMasters(t, 3)
	const never = time.Duration(1) // a TTL for which any link is too slow
	for _, tt := range []struct {
		name      string
		least     [3]time.Duration // the fastest answer so far
		ttl       time.Duration
		asks, far int // requests, and masters in the error
	}{
		{"slow only before", [3]time.Duration{time.Hour, time.Hour, time.Hour}, time.Hour, 3, 0},
		{"always slow, or not measured", [3]time.Duration{1, 0, 1}, never, 2 * tripsMeasured, 2},
		{"a majority not measured", [3]time.Duration{0, 0, 1}, never, 0, 0},
		{"just fast enough", [3]time.Duration{1, 1, 1}, tripsInTTL, 0, 0},
	} {
		for i, m := range s.masters {
			m.least.Store(int64(tt.least[i]))
		}
		before := s.Requests()
		err := s.nearEnough(t.Context(), &options{ttl: tt.ttl, limit: time.Hour, given: optLimit}, "lock")
		must.Equal(t, strings.Count(fmt.Sprint(err), ErrTooShort.Error()), tt.far, tt.name, "masters in", err)
		must.Equal(t, s.Requests()-before, uint64(tt.asks), tt.name, "requests")
	}
	s.closeClients()
	must.Be(t, s.masters[0].measure(&options{ttl: never}, "lock"), nil, "a master that does not answer")
}

// informed answers INFO for a master.
type informed struct {
	servertest.Hook
	info  string
	err   error
	later string // info from the first script on
}

func (i *informed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "info":
			cmd.(*redis.StringCmd).SetVal(i.info)
			return i.err
		case "evalsha":
			i.info = i.later
		}
		return next(ctx, cmd)
	}
}

// The run id shows that a master was replaced, or is another one too. The earliest known start counts.
func TestMastersAreKnownByRunID(t *testing.T) {
	t.Parallel()
	s, hook, now := embeddedMasters(t, 3), &informed{}, time.Now()
	s.opts.unchecked, s.clock.now = false, func() time.Time { return now }
	m, other := s.masters[0], s.masters[1]
	m.client.AddHook(hook)
	other.client.AddHook(hook)
	for _, tt := range []struct {
		info      string
		err       error
		asks, age int // requests, and seconds since its start
		replaced  bool
	}{
		{"run_id:a\r\nuptime_in_seconds:60", nil, 1, 60, false},
		{"", reply("LOADING"), 2, 60, false}, // asked again each time
		{"run_id:a\r\nuptime_in_seconds:59", nil, 1, 60, false},
		{"run_id:a\r\nuptime_in_seconds:61", nil, 1, 61, false},
		{"run_id:b\r\nuptime_in_seconds:5", nil, 1, 5, true},
	} {
		hook.info, hook.err = tt.info, tt.err
		m.dials.Add(1)
		before := m.requests.Load()
		for range 2 {
			must.Be(t, m.identify(time.Time{}, time.Minute), tt.err, tt.info)
		}
		must.Equal(t, m.requests.Load()-before, uint64(tt.asks), tt.info, "requests")
		must.Equal(t, now.Sub(m.identity.started), time.Duration(tt.age)*time.Second, tt.info, "since its start")
		must.Equal(t, m.replaced, tt.replaced, tt.info, "replaced")
	}
	must.Contain(t, fmt.Sprint(other.identify(time.Time{}, time.Minute)), m.name+" (run id b)")
}

// The master restarts after it identified itself but before it votes.
func TestL1_RestartedAdoptedMasterDoesNotVote(t *testing.T) {
	t.Parallel()
	s := embeddedMasters(t, 3)
	s.opts.unchecked, s.lent = false, true
	defer func() { s.lent = false }()
	hook := &informed{info: "run_id:a\r\nuptime_in_seconds:60", later: "run_id:b\r\nuptime_in_seconds:0"}
	s.masters[0].client.AddHook(hook)
	v := &NewRedlock(s, "lock", WithMasterLimit(time.Minute)).newElection().votes[0]
	v.set()
	taken, _, err := v.result()
	must.True(t, v.has && !taken, "the vote counts")
	must.Be(t, err, ErrRestarted)
}

// A server in a transient state is asked again.
func TestTransientStatesAreOutlasted(t *testing.T) {
	t.Parallel()
	s := embeddedMasters(t, 1)
	h := must.Have(NewRedisMutex(s, "lock", WithTTL(time.Hour), WithoutRenewal()).Acquire(t.Context()))(t)
	hook := &failing{errs: []error{reply("BUSY"), reply("LOADING")}}
	s.masters[0].client.AddHook(hook)
	must.Be(t, h.Extend(t.Context()), nil)
	hook.errs = []error{reply("WRONGTYPE")}
	must.Be(t, h.Extend(t.Context()), reply("WRONGTYPE"))
	hook.errs = []error{reply("WRONGTYPE")}
	must.Be(t, h.Release(t.Context()), reply("WRONGTYPE"))
}
