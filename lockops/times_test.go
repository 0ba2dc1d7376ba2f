package lockops

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
)

// A hold is renewed after a third of its TTL, or of what is left of it. A long one also listens after a
// second.
func TestLeasesPlanTheirWork(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serverless(t, &now)
	for _, tt := range []struct{ ttl, left, renew, listen time.Duration }{
		{ttl: time.Minute, left: time.Minute, renew: 20 * time.Second, listen: time.Second},
		{ttl: time.Minute, left: 30 * time.Second, renew: 10 * time.Second, listen: time.Second},
		{ttl: 3 * time.Second, left: 3 * time.Second, renew: time.Second},
		{ttl: time.Minute, left: early},
	} {
		o := &options{ttl: tt.ttl, renew: true}
		l := newLease(s, newGrant(t.Context(), lockKey{}), o, nil, now, now.Add(tt.left))
		err := l.run(t.Context())
		l.stop()
		must.Equal(t, errors.Is(err, errRanOut), tt.renew == 0, tt.left, "is too short")
		must.Equal(t, max(0, l.renewAt.Sub(now)), tt.renew, "time to the renewal of", tt.left, "of", tt.ttl)
		must.Equal(t, max(0, l.listenAt.Sub(now)), tt.listen, "until it listens, of", tt.left)
	}
	s.leases.lookForSleep(s.sleepClock)
	must.True(t, s.leases.watch == nil, "it looks for suspensions without a lease")
}

func TestSilentMastersRestLonger(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := &master{session: serverless(t, &now)}
	for failures, want := range []int64{0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		m.record(context.DeadlineExceeded)
		must.Equal(t, max(0, m.breakerOpenUntil.Sub(now)).Milliseconds(), want, "ms of rest after", failures+1)
	}
}

// A master of a Redlock has a twentieth of the TTL for its answer, within bounds.
func TestShortTTLsLeaveLessTime(t *testing.T) {
	for ttl, want := range map[time.Duration]int64{120: 40, 900: 50, 4000: 200, 60_000: 500} {
		l := NewRedlock(newRedisSession(nil), "lock", WithTTL(ttl*time.Millisecond))
		must.Equal(t, l.opts.limit.Milliseconds(), want, "ms for an answer, with a TTL in ms of", int64(ttl))
	}
}

// A master younger than the TTL does not vote, unless the others are as young.
func TestYoungMastersDoNotVote(t *testing.T) {
	t.Parallel()
	const ttl, old = 10 * time.Second, 12 * time.Second
	now := time.Now()
	for name, tt := range map[string]struct {
		ages            [3]time.Duration
		replaced, votes bool
	}{
		"old":                    {[3]time.Duration{old, 0, 0}, true, true},
		"just young enough":      {[3]time.Duration{ttl + time.Second, old, old}, false, false},
		"as young as the others": {[3]time.Duration{0, ttl + time.Second, old}, false, true},
		"replaced":               {[3]time.Duration{0, 0, 0}, true, false},
	} {
		s, reports := serverless(t, &now), 0
		s.lent, s.opts.onRestart = true, func(string, time.Time) { reports++ }
		for _, age := range tt.ages {
			s.masters = append(s.masters, &master{session: s, identity: identity{runID: "id", started: now.Add(-age)}})
		}
		s.masters[0].replaced = tt.replaced
		for range 2 {
			must.Equal(t, s.masters[0].mayVote(ttl) == nil, tt.votes, name, "votes")
		}
		must.Equal(t, reports == 1, !tt.votes, name, "was reported once, not", reports)
	}
	var owners identities
	a, b := &master{}, &master{}
	for i, other := range []*master{owners.claim("x", "", a), owners.claim("y", "x", a), owners.claim("x", "", b)} {
		must.True(t, other == nil, "claim", i, "of a free run id was refused")
	}
	must.True(t, owners.claim("y", "x", b) == a, "the run id of another master was free")
	must.Equal(t, infoField("run_id_x:1\r\nrun_id:2\r\n", "run_id"), "2")
}

// In a Cluster each slot has its own clock, read by a script, and a server counts only its own listeners.
func TestClustersHaveAClockPerSlot(t *testing.T) {
	t.Parallel()
	m := embeddedMasters(t, 1).masters[0]
	m.cluster, m.clocks = true, nil
	must.Be(t, m.meet(time.Minute), nil)
	must.Equal(t, len(m.clocks), 0, "clocks read by the first request")
	for _, key := range []string{"a", "b", "{a}b"} {
		c := must.Have(m.clockFor(key, time.Minute, false))(t)
		must.True(t, time.Since(time.UnixMicro(c.server)).Abs() < time.Hour, "clock of", key, c.server)
	}
	must.Equal(t, len(m.clocks), 2, "clocks of two slots")
	must.Equal(t, m.counts(), "0")
	m.session.closeClients()
	must.Be(t, m.meet(time.Minute), redis.ErrClosed)
	dial := &net.OpError{Op: "dial", Addr: &net.TCPAddr{Port: 7}, Err: ErrGone}
	must.Equal(t, m.failed(dial).(*NodeError).Node, ":7", "the server that could not be reached")
}
