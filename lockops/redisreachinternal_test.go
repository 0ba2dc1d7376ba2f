package lockops

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

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
	select {
	case <-h.Context().Done():
		must.Be(t, context.Cause(h.Context()), ErrLost, "cause")
	case <-time.After(time.Minute):
		t.Error("the loss was not reported within a minute")
	}
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
