package act

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The outcome is unknown unless enough other masters still have the contender.
func TestUnansweredReleaseIsUnknown(t *testing.T) {
	t.Parallel()
	lost, stays := faulty{has: true, fails: errLostAnswer, lost: true, dead: true}, faulty{has: true, stays: true}
	denied := faulty{has: true, fails: errDenied, dead: true}
	checkAll(t, map[string]attempt{
		"one, lost":                               {masters: []faulty{lost}, unknown: true, detail: "after that"},
		"one, not sent":                           {masters: []faulty{unsent}, reason: NoQuorum},
		"one, refused":                            {masters: []faulty{denied}, reason: NoQuorum},
		"three, two lost":                         {masters: []faulty{obeys, lost, lost}, unknown: true},
		"three, one lost and one has it":          {masters: []faulty{obeys, lost, stays}, unknown: true},
		"three, one lost and one not sent":        {masters: []faulty{obeys, lost, unsent}, unknown: true},
		"three, two not sent":                     {masters: []faulty{obeys, unsent, unsent}, reason: NoQuorum},
		"three, one lost and two have it":         {masters: []faulty{lost, stays, stays}, reason: NoQuorum},
		"a value on one of three, lost":           {masters: []faulty{lost, {}, {}}, unknown: true},
		"a value on one of three, refused by one": {masters: []faulty{obeys, {fails: errDenied, dead: true}, {}}, done: true},
	})
}

// A value that still has a quorum after the release was not released.
func TestRemainingQuorumIsNotReleased(t *testing.T) {
	t.Parallel()
	stays := faulty{has: true, stays: true}
	result := attempt{masters: []faulty{obeys, stays, stays}, reason: NoQuorum}.check(t)
	must.True(t, result.Masters[0].Deleted && len(result.HoldersAfter) == 1, "result", result)
}

func TestSilentMasterDoesNotProveGone(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, time.Minute} {
		servers := servertest.StartEmbeddedMasters(t, 3)
		clients, releaser := onServers(t, servers...)
		must.Succeed(t, clients[0].Set(t.Context(), "lock:a", "v", 0).Err())
		request := ofKey("lock:a", "v")
		request.Waiter, request.TTL = true, ttl
		p := confirmed(t, releaser, request)
		servers[0].Stop(t)
		if result, err := releaser.Execute(t.Context(), p, "--yes"); result.Reason != "" || result.Released || result.Set || !errors.Is(err, ErrUnreachable) {
			t.Errorf("%+v, %v", result, err)
		}
	}
}

// Some clients reuse their value.
func TestALockTakenAgainWasReleased(t *testing.T) {
	t.Parallel()
	again := faulty{has: true, again: true}
	for _, masters := range [][]faulty{{again}, {again, again, again}} {
		result := attempt{masters: masters, done: true}.check(t)
		must.True(t, result.Detail == "taken again by the same value" && len(result.HoldersAfter) == 1,
			len(masters), "masters:", result)
	}
}

// A request whose connection broke may still run until its time limit, even after the key was read
// again.
func TestDelayedScriptLeavesOutcomeUnknown(t *testing.T) {
	t.Parallel()
	late, unsent := faulty{has: true, fails: errLostAnswer, slow: true}, faulty{has: true, fails: errRefusedDial}
	proxied := faulty{has: true, fails: errorReply("upstream failure"), slow: true}
	for _, ttl := range []time.Duration{0, time.Minute} {
		checkAll(t, map[string]attempt{
			"one":                              {ttl: ttl, masters: []faulty{late}, unknown: true},
			"one behind a proxy":               {ttl: ttl, masters: []faulty{proxied}, unknown: true},
			"one, not sent":                    {ttl: ttl, masters: []faulty{unsent}, reason: NoQuorum},
			"one of three":                     {ttl: ttl, masters: []faulty{obeys, obeys, late}, done: true},
			"two of three":                     {ttl: ttl, masters: []faulty{obeys, late, late}, unknown: true},
			"the deciding one of three":        {ttl: ttl, masters: []faulty{obeys, late, refuses}, unknown: true},
			"one, where a quorum still has it": {ttl: ttl, masters: []faulty{late, refuses, refuses}, reason: NoQuorum},
			"a value on one of three":          {ttl: ttl, masters: []faulty{late, {}, {}}, unknown: true},
		})
	}
}

// A lost reply makes the outcome unknown if it depends on that reply. If the key is gone, the TTL
// was not set.
func TestUnansweredTTLIsUnknown(t *testing.T) {
	t.Parallel()
	lost, unrun := faulty{has: true, fails: errLostAnswer, lost: true}, faulty{has: true, fails: errLostAnswer}
	gone := faulty{has: true, fails: errLostAnswer, ends: true}
	const mayBe = " did not answer: the TTL may have been set there, or may still be"
	const unsure = "no master is known to have set the TTL: connection reset"
	for name, a := range map[string]attempt{
		"one, set":                          {masters: []faulty{lost}, unknown: true, detail: mayBe},
		"one, unread":                       {masters: []faulty{silent}, unknown: true},
		"one still without a TTL":           {masters: []faulty{unrun}, unknown: true},
		"one, not sent":                     {masters: []faulty{unsent}, reason: NoQuorum},
		"one, refused":                      {masters: []faulty{refuses}, reason: NoQuorum, detail: "TTL: the user"},
		"one that is gone":                  {masters: []faulty{gone}, reason: Gone},
		"one of three":                      {masters: []faulty{obeys, obeys, silent}, done: true},
		"two of three":                      {masters: []faulty{obeys, lost, silent}, unknown: true},
		"the deciding one of three":         {masters: []faulty{obeys, lost, refuses}, unknown: true},
		"one, where too many refuse":        {masters: []faulty{silent, refuses, refuses}, reason: NoQuorum, detail: unsure},
		"one of five, where others refuse":  {masters: []faulty{obeys, silent, refuses, refuses, refuses}, reason: NoQuorum},
		"a value on one, of three":          {masters: []faulty{silent, {}, {}}, unknown: true},
		"a value on two, of five, one lost": {masters: []faulty{obeys, silent, {}, {}, {}}, unknown: true},
	} {
		a.ttl = time.Minute
		t.Run(name, func(t *testing.T) { a.check(t) })
	}
}

// A TTL may come from the request whose reply was lost, or from the holder.
func TestExistingTTLProvesNothing(t *testing.T) {
	t.Parallel()
	releaser := faultyMasters(t, []faulty{{has: true, fails: errLostAnswer}})
	must.Succeed(t, releaser.masters[0].PExpire(t.Context(), "lock:a", time.Hour).Err())
	request := ofKey("lock:a", "v")
	request.TTL = time.Minute
	result, err := perform(t, releaser, request)
	if !result.Unknown || result.Set || result.Masters[0].After.ExpiresAt.IsZero() || !errors.Is(err, ErrUnreachable) {
		t.Errorf("%+v, %v", result, err)
	}
}

// timeless is a master that answers TIME a few times, and then refuses it a few times.
type timeless struct {
	servertest.Hook
	by           error
	after, times int
	asked        int
	scripts      int
}

func (m *timeless) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		switch {
		case c.Name() == "time":
			if m.asked++; m.asked > m.after && m.asked <= m.after+m.times {
				return m.by
			}
		case acts(c):
			m.scripts++
		}
		return next(ctx, c)
	}
}

// A script needs a deadline by the master's clock. Without a reply to TIME it is not sent, since it
// could run after the operator was told that it did not. If only the right to TIME is missing, it
// is sent.
func TestUnansweredTimeRequestBlocksScript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		by    error
		times int
		sent  bool
	}{
		"a lost connection": {errLostAnswer, 1, true},
		"no answer":         {errLostAnswer, 2, false},
		"no right":          {errorReply("NOPERM User ops has no permissions to run the 'time' command"), 2, true},
	} {
		for _, ttl := range []time.Duration{0, time.Minute} {
			t.Run(name, func(t *testing.T) {
				releaser, m := faultyMasters(t, []faulty{{has: true}}), &timeless{by: tt.by}
				releaser.masters[0].AddHook(m)
				request := ofKey("lock:a", "v")
				request.TTL = ttl
				p := confirmed(t, releaser, request)
				m.after, m.times = 2*m.asked, tt.times // the read before the script asks as often as the preview
				result, err := releaser.Execute(t.Context(), p, "--yes")
				if done := result.Released || result.Set; done != tt.sent || m.scripts > 0 != tt.sent || result.Unknown {
					t.Errorf("%+v, %v; %d scripts", result, err, m.scripts)
				}
				must.True(t, tt.sent || (result.Reason == NoQuorum && errors.Is(err, errNotSent)), result, err)
			})
		}
	}
}

// endsItself ends the lock right after the script's reply, as its TTL or holder might. With lost,
// the reply does not arrive. With late, the script's time limit has passed.
func endsItself(end func(), lost, late bool) atScripts {
	return func(ctx context.Context, c redis.Cmder, send redis.ProcessHook) error {
		if args := c.Args(); late {
			args[len(args)-1] = 1 // ms since 1970
		}
		err := send(ctx, c)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		if end(); lost {
			return context.DeadlineExceeded
		}
		return err
	}
}

// If a lock ends after a refused request, the request did not release it. If the request may have
// run, the cause is unknown.
func TestNaturalEndIsNotARelease(t *testing.T) {
	t.Parallel()
	const value = "0123456789abcdefghijklmn"
	const rueidis = "SET rueidislock:0:lock " + value + ";SET rueidislock:1:lock " + value
	const itself, somehow = "gone, not by this request (", "gone; by this request or on its own ("
	const noDel, lost = "the user may not run DEL (grant +del))", "no answer in time)"
	const late = "it reached the master too late, and was not executed)"
	eachOwnRedis(t, func(t *testing.T, server *servertest.Redis, admin *redis.Client, _ *Redis) {
		for _, tt := range []struct {
			name, write, lock, owner, denied string
			lost, late                       bool
			detail                           string
		}{
			{"no right to delete", "SET lock v", "lock", "v", "del", false, false, itself + noDel},
			{"no right to delete a hash", "HSET lock " + ownerA + " 1", "lock", ownerA, "del", false, false, itself + noDel},
			{"too late", "SET lock v", "lock", "v", "", false, true, itself + late},
			{"no answer", "SET lock v", "lock", "v", "", true, false, somehow + lost},
			{"no answer, too late", "SET lock v", "lock", "v", "", true, true, somehow + lost},
			{"one of several deletes may be refused", rueidis, "rueidislock:0:lock", value, "del", false, false, somehow + noDel},
		} {
			deny(t, server, tt.denied)
			command(t, admin, tt.write)
			clients, releaser := onServers(t, server)
			clients[0].AddHook(endsItself(func() { admin.FlushDB(t.Context()) }, tt.lost, tt.late))
			result, err := perform(t, releaser, ofKey(tt.lock, tt.owner))
			m, unknown := result.Masters[0], strings.HasPrefix(tt.detail, somehow)
			must.Equal(t, result.Detail, tt.detail, tt.name)
			must.True(t, !result.Released && !m.Deleted && m.Err != nil && result.Unknown == unknown, tt.name, result, err)
			ended, reason := Ended("itself"), Gone
			if unknown {
				ended, reason = "somehow", ""
			}
			must.True(t, m.Ended == ended && result.Reason == reason && errors.Is(err, ErrUnreachable) == unknown,
				tt.name, "ended", m.Ended, result.Reason, err)
			last := lastAudited(t, releaser.audit)
			must.True(t, last["released"] == false && last["unknown"] == true == unknown && last["detail"] == tt.detail,
				tt.name, "audited", last)
		}
	})
}
