package act

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A lost reply makes the outcome unknown if it depends on that reply. If the key is gone, the TTL
// was not set.
func TestUnansweredTTLIsUnknown(t *testing.T) {
	t.Parallel()
	sets, refuses := faulty{has: true}, faulty{has: true, fails: errorReply("NOPERM User ops has no permissions to run the 'evalsha' command")}
	lost, unrun := faulty{has: true, fails: errLostAnswer, lost: true}, faulty{has: true, fails: errLostAnswer}
	silent, unsent := faulty{has: true, fails: errLostAnswer, dead: true}, faulty{has: true, fails: errRefusedDial, dead: true}
	gone := faulty{has: true, fails: errLostAnswer, ends: true}
	for name, tt := range map[string]struct {
		masters      []faulty
		set, unknown bool
		reason       Reason
	}{
		"one, set":                          {masters: []faulty{lost}, unknown: true},
		"one, unread":                       {masters: []faulty{silent}, unknown: true},
		"one still without a TTL":           {masters: []faulty{unrun}, unknown: true},
		"one, not sent":                     {masters: []faulty{unsent}, reason: NoQuorum},
		"one, refused":                      {masters: []faulty{refuses}, reason: NoQuorum},
		"one that is gone":                  {masters: []faulty{gone}, reason: Gone},
		"one of three":                      {masters: []faulty{sets, sets, silent}, set: true},
		"two of three":                      {masters: []faulty{sets, lost, silent}, unknown: true},
		"the deciding one of three":         {masters: []faulty{sets, lost, refuses}, unknown: true},
		"one, where too many refuse":        {masters: []faulty{silent, refuses, refuses}, reason: NoQuorum},
		"one of five, where others refuse":  {masters: []faulty{sets, silent, refuses, refuses, refuses}, reason: NoQuorum},
		"a value on one, of three":          {masters: []faulty{silent, {}, {}}, unknown: true},
		"a value on two, of five, one lost": {masters: []faulty{sets, silent, {}, {}, {}}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			releaser := faultyMasters(t, tt.masters)
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", Waiter: true, TTL: time.Minute})
			result, err := releaser.Execute(t.Context(), p, "--yes")
			if result.Set != tt.set || result.Unknown != tt.unknown || result.Reason != tt.reason || tt.unknown && (!errors.Is(err, ErrUnreachable) || result.Detail == "") {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// A TTL may come from the request whose reply was lost, or from the holder.
func TestExistingTTLProvesNothing(t *testing.T) {
	t.Parallel()
	releaser := faultyMasters(t, []faulty{{has: true, fails: errLostAnswer}})
	must.Succeed(t, releaser.masters[0].PExpire(t.Context(), "lock:a", time.Hour).Err())
	p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", TTL: time.Minute})
	if result, err := releaser.Execute(t.Context(), p, "--yes"); !result.Unknown || result.Set || result.Masters[0].After.ExpiresAt.IsZero() || !errors.Is(err, ErrUnreachable) {
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
		switch c.Name() {
		case "time":
			if m.asked++; m.asked > m.after && m.asked <= m.after+m.times {
				return m.by
			}
		case "evalsha", "eval":
			if !triesScripts(c) {
				m.scripts++
			}
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
				p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", TTL: ttl})
				m.after, m.times = 2*m.asked, tt.times // the read before the script asks as often as the preview
				result, err := releaser.Execute(t.Context(), p, "--yes")
				if done := result.Released || result.Set; done != tt.sent || m.scripts > 0 != tt.sent || result.Unknown {
					t.Errorf("%+v, %v; %d scripts", result, err, m.scripts)
				}
				if !tt.sent && (result.Reason != NoQuorum || !errors.Is(err, errNotSent)) {
					t.Errorf("%+v, %v", result, err)
				}
			})
		}
	}
}
