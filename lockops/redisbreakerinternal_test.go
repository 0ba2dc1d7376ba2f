package lockops

import (
	"context"
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
