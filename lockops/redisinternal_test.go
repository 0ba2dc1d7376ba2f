package lockops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// reply is a server's error reply.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// Each line of testdata/replies.txt has what a reply means, and the reply. Servers name only the line of the
// script.
func TestRepliesAreUnderstood(t *testing.T) {
	t.Parallel()
	sc := newScript("local a = 1\nredis.call('SET', KEYS[1], 'x')")
	for line := range strings.Lines(string(must.Have(os.ReadFile("testdata/replies.txt"))(t))) {
		want, text, _ := strings.Cut(strings.TrimSpace(line), " | ")
		err := fmt.Errorf("node: %w", reply(text))
		got := map[bool]string{true: "transient", false: "refused"}[transient(err)]
		must.Equal(t, refused(err), got == "refused", text, "refused")
		var denied *DeniedError
		if errors.As(explain(reply(text), sc, []string{"lock"}), &denied) {
			got = strings.TrimSuffix(denied.Error(), ": "+text)
		}
		must.Equal(t, got, want, text)
	}
	for _, local := range []error{os.ErrDeadlineExceeded, redis.ErrClosed} {
		must.True(t, !transient(local) && !refused(local), local, "counts as a server's reply")
	}
	must.True(t, !refused(nil), "no error is a refusal")
}

// A refusal means that we have no key on the server, unless an earlier request may still arrive.
func TestLateRequestIsNotForgotten(t *testing.T) {
	t.Parallel()
	unanswered := func(life time.Duration) verdict {
		return verdict{err: os.ErrDeadlineExceeded, lateUntil: time.Now().Add(life)}
	}
	held := verdict{at: 1}
	taken := verdict{at: 2, taken: true}
	for _, c := range []struct {
		name    string
		answers []verdict
		maybe   bool
	}{
		{"nothing was sent", nil, false},
		{"held", []verdict{held}, false},
		{"unanswered", []verdict{unanswered(time.Hour)}, true},
		{"unanswered, then held while it may still arrive", []verdict{unanswered(time.Hour), held}, true},
		{"unanswered, then held after its time limit", []verdict{unanswered(-time.Hour), held}, false},
		{"unanswered, then another that certainly failed", []verdict{unanswered(-time.Hour), {err: errLate}}, true},
		{"taken", []verdict{taken}, true},
		{"an error reply, perhaps to a command after the SET", []verdict{{err: reply("WRONGTYPE")}}, true},
	} {
		k := &redisKey{session: &RedisSession{clock: processClock()}}
		a := &redisAttempt{k: k, since: notInQueue}
		var last time.Time
		for _, got := range c.answers {
			a.record(got)
			if got.lateUntil.After(last) {
				last = got.lateUntil
			}
		}
		must.Equal(t, a.maybe, c.maybe, c.name, "maybe")
		must.True(t, a.lateUntil.Equal(last) && !a.queued, c.name, "late until", a.lateUntil, "want", last, "queued", a.queued)
	}
	a := &redisAttempt{k: &redisKey{}}
	a.record(held)
	must.True(t, a.queued && a.since == 1, "queued", a.queued, "since", a.since)
	a.record(verdict{at: 7})
	must.Equal(t, a.since, 1, "since after a second refusal")
}

// The error of a clock reading grows with its age, so the clock is read again after ten seconds and
// on a new connection.
func TestOldClockIsReadAgain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := clockReading{server: 1e15, before: now, after: now.Add(3 * time.Millisecond)}
	server, slack := c.latest(now.Add(10 * time.Second))
	must.Equal(t, server, 1e15+10_010_000, "server's clock after 10 s")
	must.Equal(t, slack, 23*time.Millisecond, "slack after 10 s")
	wire := servertest.StartWire(t, AnyRedis(t).Addr)
	s := sessionOn(t, []string{wire.Addr()})
	one := s.masters[0]
	read := func() uint64 {
		before := one.requests.Load()
		must.Have(one.clockFor("key", time.Minute, false))(t)
		return one.requests.Load() - before
	}
	read()
	must.Equal(t, read(), 0, "requests with a fresh reading")
	age := func(by time.Duration) {
		one.mu.Lock()
		defer one.mu.Unlock()
		c := one.clocks[0]
		c.before, c.after = c.before.Add(-by), c.after.Add(-by)
		one.clocks[0] = c
	}
	age(time.Hour)
	must.Equal(t, read(), 1, "requests with a reading from an hour ago")
	one.dials.Add(1)
	must.Equal(t, read(), 1, "requests with a reading from an earlier connection")
	age(24 * time.Hour)
	wire.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := NewRedisMutex(s, "lock", WithMasterLimit(100*time.Millisecond)).Acquire(ctx)
	must.True(t, err != nil, "acquired a lock from a paused server")
	start := time.Now()
	s.Close()
	must.True(t, time.Since(start) < 2*time.Minute, "Close took", time.Since(start)) // a day-old reading's slack is 173 s
	wire.Heal()
	must.Equal(t, otherClient(t, s).Exists(t.Context(), "lock").Val(), 0, "keys left by a late request")
}

// The deadline of a handed-over lock counts from the handoff, relative to our newest request, and
// never from the arrival of the message.
func TestDeadlineCountsFromHandoff(t *testing.T) {
	t.Parallel()
	const ms, grant = time.Millisecond, time.Second
	for name, c := range map[string]struct {
		sent, later time.Duration // how long ago we asked, and the handoff after that by the server's clock
		took        time.Duration // by a renewal
		slept       time.Duration // by the machine, noticed now
		fixed       bool          // not renewed
		left        time.Duration // 0: not trusted
	}{
		"at once":                         {sent: 100 * ms, later: 100 * ms, left: 987 * ms},
		"the message took 300 ms":         {sent: 400 * ms, later: 100 * ms, left: 687 * ms},
		"the server's clock was set":      {later: time.Hour, left: grant - drift(grant)}, // so it counts from now
		"the message took 900 ms of 1 s":  {sent: 900 * ms},
		"a 350 ms link":                   {sent: 400 * ms, later: 100 * ms, took: 350 * ms},
		"a suspension":                    {sent: 100 * ms, later: 40_100 * ms, slept: 40_000 * ms, left: 587 * ms},
		"handed over before our request":  {later: -300 * ms},
		"the short TTL without a renewal": {fixed: true},
	} {
		now, slept := time.Now(), time.Duration(0)
		k := clock{func() time.Time { return now }, func() time.Duration { return slept }}
		m := &RedisFairMutex{redisKey{session: &RedisSession{clock: k, sleepClock: newSleepClock(k)}, master: &master{}}}
		m.opts.renew = !c.fixed
		m.master.newest.Store(int64(c.took))
		slept = c.slept
		a := &redisAttempt{sent: now.Add(-c.sent), at: 1e15}
		until, ok := m.handed(a, &turn{token: 7, at: 1e15 + c.later.Microseconds(), grant: grant})
		must.True(t, ok == (c.left > 0) && (!ok || until.Sub(now) == c.left), name, until.Sub(now), ok, "want", c.left)
		must.True(t, !ok || a.token == 7 && a.maybe, name, "token", a.token, "maybe", a.maybe)
		for what, said := range map[string]*turn{"no message": nil, "a message to look again": {grant: grant}} {
			_, ok := m.handed(&redisAttempt{sent: now, at: 1}, said)
			must.True(t, !ok, name, "trusted", what)
		}
	}
}

// Error replies, refusals and silence are not votes. Half of the masters is not a quorum, and a
// majority does not wait for the rest.
func TestVotesAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		votes string // y yes, n no, e error, - none yet
		want  error
	}{
		{"yyy--", nil},
		{"yynny", nil},
		{"yynn-", context.DeadlineExceeded},
		{"nnn--", ErrHeld},
		{"yynnn", ErrHeld},
		{"yyeen", ErrHeld},
		{"yyeee", ErrNoQuorum},
		{"eee--", ErrNoQuorum},
		{"yy---", context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) { // the timeout fires once all goroutines are idle
			e := electionOf(c.votes)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			must.Be(t, e.count(ctx), c.want, c.votes)
		})
	}
}

// electionOf makes an election with these votes: y yes, n no, e error, - none yet.
func electionOf(votes string) *election {
	s := newRedisSession(nil)
	for range votes {
		s.masters = append(s.masters, &master{session: s})
	}
	e := (&Redlock{session: s}).newElection()
	for i, cast := range votes {
		vote := &e.votes[i]
		e.open++
		switch cast {
		case 'y':
			vote.has = true
		case 'e':
			vote.has, vote.err = true, &NodeError{Node: "x", Err: reply("ERR no")} // its key may exist, but it does not count
		case '-':
			continue
		}
		e.cast <- vote
	}
	return e
}

// A waiter polls as soon as the holder's TTL ends, and otherwise less and less often.
func TestPollsEndWithTTL(t *testing.T) {
	t.Parallel()
	for range 100 {
		must.Equal(t, pollAfter(3*time.Millisecond, 5), 4*time.Millisecond, "poll 1 ms after the TTL")
		must.Equal(t, pollAfter(0, 5), time.Millisecond, "poll when the TTL ends")
		first, late := pollAfter(-time.Millisecond, 0), pollAfter(time.Hour, 1000)
		must.True(t, first >= pollFirst/2 && first <= pollFirst*3/2, "the first poll after", first)
		must.True(t, late >= pollMost/2 && late <= pollMost*3/2, "a late poll after", late)
	}
}

// A waiter of a fair lock is dead after two beats of silence. Two of three heartbeats may be lost before.
func TestHeartbeatsMayBeLost(t *testing.T) {
	t.Parallel()
	queued := &RedisFairMutex{redisKey{beat: time.Second}}
	for range 100 {
		next := queued.nextBeat(-1)
		must.True(t, next >= 400*time.Millisecond && 3*next < 2*queued.beat, "a heartbeat after", next)
	}
	must.Equal(t, queued.nextBeat(0), time.Millisecond, "a heartbeat when the TTL ends")
}

// An extension counts from when it was sent, however long the answer takes.
func TestExtensionCountsFromSendTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serverless(t, &now)
	o := options{ttl: time.Minute}
	l := newLease(s, newGrant(t.Context(), lockKey{s, "redis", "lock"}), &o, func(context.Context) error {
		now = now.Add(10 * time.Second) // until the answer
		return nil
	}, now, now.Add(30*time.Second))
	sent := now
	must.Succeed(t, l.extend(t.Context()))
	until, _ := l.deadline()
	must.Equal(t, until.Sub(sent), o.ttl-drift(o.ttl), "deadline after the extension was sent")
}

// The server may have answered before the lock was lost or the machine was suspended, so another
// renewal must follow.
func TestSignalDuringRenewalRenewsAgain(t *testing.T) {
	t.Parallel()
	for name, come := range map[string]func(*RedisSession, *lease){
		"a message":    func(s *RedisSession, _ *lease) { s.look("lock") },
		"a suspension": func(_ *RedisSession, l *lease) { l.wake() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newRedisSession(nil)
			defer s.Close()
			g := newGrant(t.Context(), lockKey{s, "redis", "lock"})
			asked := make(chan struct{})
			now, ttl := time.Now(), time.Hour
			l := newLease(s, g, &options{ttl: ttl, renew: true}, func(context.Context) error {
				asked <- struct{}{}
				<-asked
				return nil
			}, now, now.Add(ttl))
			must.Succeed(t, l.run(t.Context()))
			defer l.stop()
			s.look("lock")
			<-asked // the server has answered
			come(s, l)
			asked <- struct{}{} // the answer arrives
			Await(t, "a second renewal", asked)
			asked <- struct{}{}
		})
	}
}

// An extension after the deadline is a loss, since another client may have held the lock in
// between.
func TestAnExtensionMayComeTooLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := serverless(t, &now)
	until := now.Add(time.Minute)
	g := newGrant(t.Context(), lockKey{s, "redis", "lock"})
	l := newLease(s, g, &options{ttl: time.Hour}, func(context.Context) error {
		now = until
		return nil
	}, now, until)
	ranOut(t, l.extend(t.Context()))
	l.prolong = func(context.Context) error { return ErrDead }
	must.Be(t, l.extendNow(t.Context()), errRanOut)
	got, _ := l.deadline()
	must.Equal(t, got.Sub(until), 0, "move of the deadline")
}

// A request that arrives after its time limit, by the server's clock, does nothing.
func TestLateRequestsAreRefused(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		s := sessionOn(t, []string{masters[0].Addr})
		m := s.masters[0]
		for _, l := range []*redisKey{
			&NewRedisMutex(s, servertest.UniqueName(t)).redisKey, &NewRedisFairMutex(s, servertest.UniqueName(t)).redisKey,
		} {
			r := request{script: l.acquire, keys: l.keys, value: s.newValue(""), ttl: time.Minute, since: notInQueue, beat: l.beat}
			c := must.Have(m.clockFor(l.lock.name, 30*time.Second, false))(t)
			c.server -= time.Hour.Microseconds()
			m.setClock(l.lock.name, c)
			v := m.acquire(r, 30*time.Second)
			must.Be(t, v.err, errLate, l.lock.kind)
			must.True(t, !v.taken && v.lateUntil.IsZero(), l.lock.kind, v)
			must.Equal(t, m.client.Exists(t.Context(), l.lock.name).Val(), 0, l.lock.kind, "a late request took the lock")
			v = m.acquire(r, 30*time.Second) // the late answer corrected the clock
			must.True(t, v.taken, l.lock.kind, v, "want a grant")
		}
	})
}

// A cancelled poll still returns ErrHeld if the previous answer did.
func TestCanceledAttemptReportsHolder(t *testing.T) {
	t.Parallel()
	_, s := onRedis(t)
	m := NewRedisMutex(s, "lock")
	h := must.Have(m.Acquire(t.Context()))(t)
	ended, end := context.WithCancel(t.Context())
	end()
	a := m.attempt(0)
	_, err := a.try(ended)
	must.True(t, errors.Is(err, context.Canceled) && !errors.Is(err, ErrHeld), "before any answer", err)
	for i, ctx := range []context.Context{t.Context(), ended} {
		_, err := a.try(ctx)
		must.Be(t, err, ErrHeld, "attempt", i)
	}
	must.Be(t, h.Release(t.Context()), nil)
}

// A brief clock reading ends within its limit, even if a new connection hangs.
func TestBriefReadingsConnectBriefly(t *testing.T) {
	t.Parallel()
	wire := servertest.StartWire(t, servertest.StartEmbeddedRedis(t).Addr)
	o := &redis.UniversalOptions{Addrs: []string{wire.Addr()}, DialTimeout: time.Hour, ReadTimeout: time.Hour}
	s := must.Have(NewRedisSession(t.Context(), []*redis.UniversalOptions{o}, WithRequestLimit(time.Hour)))(t)
	t.Cleanup(s.Close)
	wire.Stop()
	wire.Reset()
	s.masters[0].dials.Add(1) // the reading is from an earlier connection
	ended := make(chan error, 1)
	go func() {
		_, err := s.masters[0].clockFor("key", 50*time.Millisecond, true)
		ended <- err
	}()
	must.True(t, Await(t, "the reading ends", ended) != nil, "read the clock of a hung server")
	wire.Heal()
}

// ranOut checks that an error reports the end of a TTL.
func ranOut(t *testing.T, err error) {
	t.Helper()
	must.Be(t, err, ErrLost)
	must.Be(t, err, errRanOut)
}
