package lockops

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestOneRequestProbesASilentMaster: when the breaker lets a caller through, it is one until that request's
// limit has passed; an answer lets in all.
func TestOneRequestProbesASilentMaster(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newRedisSession([]RedisOption{func(o *redisOptions) { o.clock.now = func() time.Time { return now } }})
	defer s.Close()
	s.lent = true // no client to close
	m := &master{session: s}
	s.masters = []*master{m, m, m}
	limit := s.opts.limit // of connecting
	for range breakerAfter {
		if !m.admit(0) || m.silent() {
			t.Error("silent, before it had left enough requests unanswered")
		}
		m.record(context.DeadlineExceeded)
	}
	if m.admit(0) || !m.silent() {
		t.Error("a master that does not answer was asked at once")
	}
	now = now.Add(breakerFirst)
	must.True(t, m.admit(0), "no request was let through")
	must.True(t, !m.admit(0), "a second one, behind the first")
	if now = now.Add(limit - 1); m.admit(0) {
		t.Error("a second one, while the first may be answered")
	}
	if now = now.Add(1); !m.admit(0) {
		t.Error("no other, though nothing came of the first")
	}
	m.record(reply("NOPERM"))
	for range 2 {
		if !m.admit(0) || m.silent() {
			t.Error("it answers, and is not asked")
		}
	}
}

// TestASilentMasterOrdersNobody: a silent master orders no waiters. If it does vote after all, its
// vote counts only if it may vote.
func TestASilentMasterOrdersNobody(t *testing.T) {
	t.Parallel()
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
	must.Be(t, e.votes[0].entitled(time.Time{}), ErrRestarted, "a master that was restarted may vote")
}

// TestAMissingVoteIsAskedFor when the hold is prolonged, and counts from the next renewal on.
func TestAMissingVoteIsAskedFor(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}))(t)
	defer s.Close()
	v := &NewRedlock(s, "lock", WithMasterLimit(time.Minute)).newElection().votes[0]
	if err := v.prolongOnce(t.Context()); !errors.Is(err, errNoVote) || !v.has {
		t.Errorf("the first time: %v, and it has a vote: %v", err, v.has)
	}
	must.Be(t, v.prolongOnce(t.Context()), nil, "the next time")
}

// TestWhatARequestTookIsKnown, also of one that was not answered.
func TestWhatARequestTookIsKnown(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}))(t)
	defer s.Close()
	one := s.masters[0]
	ask := func(limit time.Duration) error {
		_, err := one.eval(one.reach(t.Context(), limit), clockScript, []string{"key"})
		return err
	}
	if err := ask(30 * time.Second); err != nil || one.took() <= 0 {
		t.Errorf("%v: %v", one.took(), err)
	}
	m.Pause(t)
	defer m.Resume(t)
	const limit = 50 * time.Millisecond
	if err := ask(limit); err == nil || one.took() < limit/2 {
		t.Errorf("without an answer within %v: %v, %v", limit, one.took(), err)
	}
}

// A renewal had asked the skipped master for its vote after all.
func TestSkippedMasterIsReleased(t *testing.T) {
	t.Parallel()
	var options []*redis.UniversalOptions
	var clients []*redis.Client
	for range 3 {
		addr := servertest.StartRedis(t).Addr
		options = append(options, &redis.UniversalOptions{Addrs: []string{addr}})
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	s := must.Have(NewRedisSession(t.Context(), options))(t)
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
	h := must.Have(NewRedlock(s, "lock", WithTTL(10*time.Minute), WithMasterLimit(time.Minute)).Acquire(t.Context()))(t)
	has := func() bool { return clients[2].Exists(t.Context(), "lock").Val() == 1 }
	must.True(t, !has(), "it was asked, though it is silent")
	passed.record(nil)
	for end := time.Now().Add(time.Minute); !has(); { // an extension does not wait for the last vote
		if err := h.Extend(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("its vote was not made up for: %v", err)
		}
	}
	must.Be(t, h.Release(t.Context()), nil)
	s.Close() // waits for what the release left to the background
	for i, c := range clients {
		must.Equal(t, c.Exists(t.Context(), "lock").Val(), 0, "the key was left on master", i)
		c.Close()
	}
}
