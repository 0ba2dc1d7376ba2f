package lockops

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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
}

// An unanswered renewal is repeated soon, and within a second if the lock may be gone.
func TestUnansweredRenewalsAreRepeated(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serverless(t, &now)
	for _, tt := range []struct {
		ttl            time.Duration
		answer         error
		doubted, again bool
		least, most    time.Duration // until the next renewal
	}{
		{time.Minute, nil, true, false, 20 * time.Second, 20 * time.Second},
		{time.Minute, nil, false, true, 0, 10 * time.Millisecond},
		{time.Minute, errLate, false, false, 2 * time.Second, 2 * time.Second},
		{time.Minute, errLate, true, false, time.Second / 2, time.Second},
		{60 * time.Millisecond, errLate, false, false, 5 * time.Millisecond, 5 * time.Millisecond},
	} {
		renewed := false
		o := &options{ttl: tt.ttl, onRenew: func(time.Time) { renewed = true }}
		ask := func(context.Context) error { return tt.answer }
		l := newLease(s, newGrant(t.Context(), lockKey{}), o, ask, now, now.Add(tt.ttl))
		l.timer, l.renewing, l.doubted, l.again = time.NewTimer(time.Hour), true, tt.doubted, tt.again
		l.renew()
		next := l.renewAt.Sub(now)
		must.True(t, next >= tt.least && next <= tt.most, "next renewal after", next, "of", tt)
		must.Equal(t, l.doubted, tt.doubted && tt.answer != nil, "doubted, after", tt)
		must.Equal(t, renewed, tt.answer == nil, "OnRenew was called, after", tt)
	}
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

func TestContentionIsRememberedBriefly(t *testing.T) {
	t.Parallel()
	var r recently
	now, later := time.Now(), time.Now().Add(time.Hour)
	r.mark(lockKey{}, now)
	must.True(t, r.is(lockKey{}, now.Add(99*time.Millisecond)), "forgotten after 99 ms")
	must.True(t, !r.is(lockKey{}, now.Add(100*time.Millisecond)), "remembered after 100 ms")
	for i := range 64 {
		r.mark(lockKey{name: fmt.Sprint(i)}, later)
	}
	must.Equal(t, len(r.at), 64, "locks, once the old one was swept out")
}
