package lockops

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// TestOneRequestProbesASilentMaster: when the breaker lets somebody through, it is one until that request's limit has passed;
// an answer lets in all.
func TestOneRequestProbesASilentMaster(t *testing.T) {
	now := time.Now()
	s := newRedisSession([]RedisOption{func(o *redisOptions) { o.clock.now = func() time.Time { return now } }})
	defer s.Close()
	m := &master{session: s}
	const limit = time.Second
	for range breakerAfter {
		if !m.admit(limit) || m.silent() {
			t.Error("silent, before it had left enough requests unanswered")
		}
		m.record(context.DeadlineExceeded)
	}
	if m.admit(limit) || !m.silent() {
		t.Error("a master that does not answer was asked at once")
	}
	now = now.Add(breakerFirst)
	if !m.admit(limit) {
		t.Error("no request was let through")
	}
	if m.admit(limit) {
		t.Error("a second one, behind the first")
	}
	if now = now.Add(limit - 1); m.admit(limit) {
		t.Error("a second one, while the first may be answered")
	}
	if now = now.Add(1); !m.admit(limit) {
		t.Error("no other, though nothing came of the first")
	}
	m.record(reply("NOPERM"))
	for range 2 {
		if !m.admit(limit) || m.silent() {
			t.Error("it answers, and is not asked")
		}
	}
}

// TestASilentMasterOrdersNobody, and its vote counts only if it may vote, when it gives one after all.
func TestASilentMasterOrdersNobody(t *testing.T) {
	s := newRedisSession(nil)
	for range 3 {
		s.masters = append(s.masters, &master{session: s, identity: identity{known: true, runID: "old", started: time.Now().Add(-time.Hour)}})
	}
	silent := s.masters[0]
	silent.failures = breakerAfter
	e := (&Redlock{session: s, opts: options{ttl: time.Minute}}).newElection()
	if v := e.first(); v != &e.votes[1] {
		t.Errorf("the first is number %d", slices.Index(s.masters, v.master))
	}
	silent.identity, silent.replaced = identity{known: true, runID: "new", started: time.Now()}, true
	if err := e.votes[0].entitled(time.Time{}); !errors.Is(err, ErrRestarted) {
		t.Errorf("a master that was restarted may vote: %v", err)
	}
}

// TestAMissingVoteIsAskedFor when the hold is prolonged, and counts from the next time on.
func TestAMissingVoteIsAskedFor(t *testing.T) {
	m := servertest.StartRedis(t)
	s, err := NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v := &NewRedlock(s, "lock", WithMasterLimit(time.Minute)).newElection().votes[0]
	if err := v.prolongOnce(t.Context()); !errors.Is(err, errNoVote) || !v.has {
		t.Errorf("the first time: %v, and it has a vote: %v", err, v.has)
	}
	if err := v.prolongOnce(t.Context()); err != nil {
		t.Errorf("the next time: %v", err)
	}
}

// TestARequestIsMadeByTheCallerWhereAnswersAreQuick, and by a goroutine that it can leave where they are not, or where its
// context may end first.
func TestARequestIsMadeByTheCallerWhereAnswersAreQuick(t *testing.T) {
	s := newRedisSession(nil)
	defer s.Close()
	s.lent = true // no client to close
	s.masters = []*master{{session: s}}
	k := newRedisKey(s, "redis", "lock", redisMutexKeeps, []Option{WithMasterLimit(time.Second)})
	canEnd, cancel := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	defer cancel()
	near, cancelNear := context.WithTimeout(t.Context(), promptly)
	defer cancelNear()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		took  time.Duration
		limit time.Duration
		here  bool
	}{
		{"quick", canEnd, promptly/10 - 1, promptly, true},
		{"slow", canEnd, promptly / 10, promptly, false},
		{"slow, and nothing can end the wait", context.Background(), time.Minute, time.Second, true},
		{"ended", ended, 0, promptly, false},
		{"about to end", near, 0, promptly, false},
	} {
		k.master.newest.Store(int64(c.took))
		if limit, here := k.soon(c.ctx); here != c.here || here && limit != c.limit {
			t.Errorf("%s: %v %v", c.name, limit, here)
		}
	}
}

// TestWhatARequestTookIsKnown, also of one that was not answered.
func TestWhatARequestTookIsKnown(t *testing.T) {
	m := servertest.StartRedis(t)
	s, err := NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one := s.masters[0]
	if _, err := one.eval(within(30*time.Second), clockScript, keysOf("key")); err != nil || one.took() <= 0 {
		t.Errorf("%v: %v", one.took(), err)
	}
	m.Pause(t)
	defer m.Resume(t)
	const limit = 50 * time.Millisecond
	if _, err := one.eval(within(limit), clockScript, keysOf("key")); err == nil || one.took() < limit/2 {
		t.Errorf("without an answer within %v: %v, %v", limit, one.took(), err)
	}
}

// TestMastersArePassedOver that are silent or far behind, unless the others are too few; whether a silent one answers again
// is found out all the same.
func TestMastersArePassedOver(t *testing.T) {
	server := servertest.StartRedis(t)
	s := newRedisSession([]RedisOption{WithUncheckedMasters()})
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	defer client.Close()
	s.lent = true
	for range 3 {
		s.masters = append(s.masters, &master{session: s, client: client})
	}
	e := NewRedlock(s, "lock", WithMasterLimit(30*time.Second)).newElection()
	v := &e.votes[0]
	silence := func(n int) {
		for i, m := range s.masters {
			m.failures, m.breakerOpenUntil = 0, s.clock.now().Add(time.Hour)
			if i < n {
				m.failures = breakerAfter
			}
		}
	}
	for _, c := range []struct {
		silent, behind int
		over           bool
	}{{0, 0, false}, {0, mostBehind, false}, {0, mostBehind + 1, true}, {1, 0, true}, {2, 0, false}} {
		silence(c.silent)
		if got := e.passOver(v, c.behind); got != c.over {
			t.Errorf("%d silent, %d behind: %v", c.silent, c.behind, got)
		}
		if requests := v.master.requests.Load(); requests != 0 {
			t.Errorf("%d silent, %d behind: %d requests", c.silent, c.behind, requests)
		}
	}
	silence(1)
	v.master.breakerOpenUntil = time.Time{} // its time is over
	e.request(v)
	if got := <-e.cast; got != v || !errors.Is(v.err, ErrDead) {
		t.Errorf("the election waits for it: %v", v.err)
	}
	s.Close() // waits for the probe
	if v.master.silent() || v.master.requests.Load() != 1 {
		t.Errorf("nobody has asked it again (%d requests)", v.master.requests.Load())
	}
}

// TestAMasterThatWasPassedOverIsFreed, when it has been asked for its vote after all, by a renewal.
func TestAMasterThatWasPassedOverIsFreed(t *testing.T) {
	var options []*redis.UniversalOptions
	var clients []*redis.Client
	for range 3 {
		addr := servertest.StartRedis(t).Addr
		options = append(options, &redis.UniversalOptions{Addrs: []string{addr}})
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	s, err := NewRedisSession(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	passed := s.masters[2]
	for known := false; !known; { // a session does not wait for the last master: it was met, and nothing of that is on its way
		passed.mu.Lock()
		known = len(passed.clocks) > 0
		passed.mu.Unlock()
		time.Sleep(time.Millisecond) // a session has no event for it
	}
	passed.mu.Lock()
	passed.failures, passed.breakerOpenUntil = breakerAfter, s.clock.now().Add(time.Hour)
	passed.mu.Unlock()
	h, err := NewRedlock(s, "lock", WithTTL(10*time.Minute)).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has := func() bool { return clients[2].Exists(t.Context(), "lock").Val() == 1 }
	if has() {
		t.Error("it was asked, though it is silent")
	}
	passed.record(nil)
	for end := time.Now().Add(time.Minute); !has(); { // an extension does not wait for the last vote
		if err := h.Extend(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("its vote was not made up for: %v", err)
		}
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close() // waits for what the release left to the background
	for i, c := range clients {
		if n := c.Exists(t.Context(), "lock").Val(); n != 0 {
			t.Errorf("the key was left on master %d", i)
		}
		c.Close()
	}
}
