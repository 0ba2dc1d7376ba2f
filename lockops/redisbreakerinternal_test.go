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

// A silent master gets one request per time limit, and every request again once it answers.
func TestOneRequestProbesASilentMaster(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newRedisSession([]RedisOption{func(o *redisOptions) { o.clock.now = func() time.Time { return now } }})
	defer s.Close()
	s.lent = true // no client to close
	m := &master{session: s}
	s.masters = []*master{m, m, m}
	limit := s.opts.limit // for connecting
	for range breakerAfter {
		if !m.admit(0) || m.silent() {
			t.Error("silent after too few unanswered requests")
		}
		m.record(context.DeadlineExceeded)
	}
	if m.admit(0) || !m.silent() {
		t.Error("a silent master was asked without a pause")
	}
	now = now.Add(breakerFirst)
	must.True(t, m.admit(0), "no request was admitted after the pause")
	must.True(t, !m.admit(0), "a second request was admitted at once")
	if now = now.Add(limit - 1); m.admit(0) {
		t.Error("a second request was admitted within the limit of the first")
	}
	if now = now.Add(1); !m.admit(0) {
		t.Error("no second request was admitted after the limit of the first")
	}
	m.record(reply("NOPERM"))
	for range 2 {
		if !m.admit(0) || m.silent() {
			t.Error("a master that answers was not asked")
		}
	}
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
	if v := e.first(); v != &e.votes[1] {
		t.Errorf("master %d orders the waiters, want 1", slices.Index(s.masters, v.master))
	}
	silent.identity, silent.replaced = identity{known: true, runID: "new", started: time.Now()}, true
	must.Be(t, e.votes[0].entitled(time.Time{}), ErrRestarted, "vote of a restarted master")
}

// A renewal asks for a missing vote, which counts from the next renewal on.
func TestRenewalAsksForMissingVote(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{m.Addr}}}))(t)
	defer s.Close()
	v := &NewRedlock(s, "lock", WithMasterLimit(time.Minute)).newElection().votes[0]
	if err := v.prolongOnce(t.Context()); !errors.Is(err, errNoVote) || !v.has {
		t.Errorf("first renewal: %v, has the vote: %v", err, v.has)
	}
	must.Be(t, v.prolongOnce(t.Context()), nil, "second renewal")
}

// took measures requests, even those that got no answer.
func TestUnansweredRequestsAreTimed(t *testing.T) {
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
		t.Errorf("took %v: %v", one.took(), err)
	}
	m.Pause(t)
	defer m.Resume(t)
	const limit = 50 * time.Millisecond
	if err := ask(limit); err == nil || one.took() < limit/2 {
		t.Errorf("no answer within %v: took %v: %v", limit, one.took(), err)
	}
}

// A later renewal gets the skipped master's vote, so the release must delete the key there, too.
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
	for known := false; !known; { // a new session does not wait for its last master
		passed.mu.Lock()
		known = len(passed.clocks) > 0
		passed.mu.Unlock()
		time.Sleep(time.Millisecond) // no event to wait for
	}
	passed.mu.Lock()
	passed.failures, passed.breakerOpenUntil = breakerAfter, s.clock.now().Add(time.Hour)
	passed.mu.Unlock()
	h := must.Have(NewRedlock(s, "lock", WithTTL(10*time.Minute), WithMasterLimit(time.Minute)).Acquire(t.Context()))(t)
	has := func() bool { return clients[2].Exists(t.Context(), "lock").Val() == 1 }
	must.True(t, !has(), "the silent master was asked")
	passed.record(nil)
	for end := time.Now().Add(time.Minute); !has(); { // Extend does not wait for the last vote
		if err := h.Extend(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("the vote is still missing: %v", err)
		}
	}
	must.Be(t, h.Release(t.Context()), nil)
	s.Close() // waits for the rest of the release
	for i, c := range clients {
		must.Equal(t, c.Exists(t.Context(), "lock").Val(), 0, "keys left on master", i)
		c.Close()
	}
}
