package act

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// silenced is a master that stops answering once it is asked to delete, whether or not it deletes.
type silenced struct {
	servertest.Hook
	by     error
	silent bool
}

var (
	errLostAnswer  = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errRefusedDial = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

func (s *silenced) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if triesScripts(cmd) {
			return next(ctx, cmd)
		}
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			if s.silent {
				return errRefusedDial
			}
			return next(ctx, cmd)
		}
		if errors.Is(s.by, errLostAnswer) {
			if err := next(ctx, cmd); redis.HasErrorPrefix(err, "NOSCRIPT") {
				return err
			}
		}
		s.silent = true
		return s.by
	}
}

func (s *silenced) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !s.silent {
			return next(ctx, cmds)
		}
		for _, c := range cmds {
			c.SetErr(errRefusedDial)
		}
		return errRefusedDial
	}
}

// The outcome is unknown unless enough other masters still have the contender.
func TestUnansweredReleaseIsUnknown(t *testing.T) {
	t.Parallel()
	deny := errorReply("NOPERM User ops has no permissions to run the 'evalsha' command")
	stays := errors.New("it does nothing")
	for name, tt := range map[string]struct {
		by      []error // how each master fails; nil if it deletes
		waiter  bool    // the value is on the first master only
		unknown bool
		reason  Reason
	}{
		"one, lost":                               {by: []error{errLostAnswer}, unknown: true},
		"one, not sent":                           {by: []error{errRefusedDial}, reason: NoQuorum},
		"one, refused":                            {by: []error{deny}, reason: NoQuorum},
		"three, two lost":                         {by: []error{nil, errLostAnswer, errLostAnswer}, unknown: true},
		"three, one lost and one has it":          {by: []error{nil, errLostAnswer, stays}, unknown: true},
		"three, one lost and one not sent":        {by: []error{nil, errLostAnswer, errRefusedDial}, unknown: true},
		"three, two not sent":                     {by: []error{nil, errRefusedDial, errRefusedDial}, reason: NoQuorum},
		"three, one lost and two have it":         {by: []error{errLostAnswer, stays, stays}, reason: NoQuorum},
		"a value on one of three, lost":           {by: []error{errLostAnswer, nil, nil}, waiter: true, unknown: true},
		"a value on one of three, refused by one": {by: []error{nil, deny, nil}, waiter: true},
	} {
		t.Run(name, func(t *testing.T) {
			servers := servertest.StartEmbeddedMasters(t, len(tt.by))
			clients, addrs := redisMastersOf(t, servers)
			for i, by := range tt.by {
				if i == 0 || !tt.waiter {
					must.Succeed(t, clients[i].Set(t.Context(), "lock:a", "v", 0).Err())
				}
				switch {
				case errors.Is(by, stays):
					clients[i] = &unwilling{clients[i]}
				case by != nil:
					clients[i].AddHook(&silenced{by: by})
				}
			}
			releaser, request := onMasters(t, clients, addrs), ofKey("lock:a", "v")
			request.Waiter = tt.waiter
			result, err := perform(t, releaser, request)
			done := !tt.unknown && tt.reason == ""
			if result.Unknown != tt.unknown || result.Reason != tt.reason || result.Released != done || tt.unknown && (!errors.Is(err, ErrUnreachable) || result.Detail == "") {
				t.Errorf("%+v, %v", result, err)
			}
			if last := lastAudited(t, releaser.audit); last["unknown"] == true != tt.unknown {
				t.Errorf("audit %v", last)
			}
		})
	}
}

func TestSilentMasterDoesNotProveGone(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, time.Minute} {
		servers := servertest.StartEmbeddedMasters(t, 3)
		clients, addrs := redisMastersOf(t, servers)
		must.Succeed(t, clients[0].Set(t.Context(), "lock:a", "v", 0).Err())
		releaser := onMasters(t, clients, addrs)
		p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", Waiter: true, TTL: ttl})
		servers[0].Stop(t)
		if result, err := releaser.Execute(t.Context(), p, "--yes"); result.Reason != "" || result.Released || result.Set || !errors.Is(err, ErrUnreachable) {
			t.Errorf("%+v, %v", result, err)
		}
	}
}

// again sets a key again right after the script that deletes it, like a client with a fixed value.
type again struct {
	servertest.Hook
	plain      redis.UniversalClient
	key, value string
}

func (a *again) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		err := next(ctx, c)
		if c.Name() == "evalsha" || c.Name() == "eval" {
			a.plain.SetNX(ctx, a.key, a.value, time.Hour)
		}
		return err
	}
}

func TestALockTakenAgainWasReleased(t *testing.T) {
	for _, n := range []int{1, 3} {
		servers := servertest.StartEmbeddedMasters(t, n)
		clients, addrs := redisMastersOf(t, servers)
		plain, _ := redisMastersOf(t, servers)
		keys := []string{"lock:a", "lock:b"}
		for _, key := range keys {
			for i, c := range clients {
				c.AddHook(&again{plain: plain[i], key: key, value: "host-1"})
				must.Succeed(t, plain[i].Set(t.Context(), key, "host-1", time.Hour).Err())
			}
		}
		r := onMasters(t, clients, addrs)
		for _, key := range keys {
			result, err := perform(t, r, ofKey(key, "host-1"))
			again := result.Detail == "taken again by the same value" && len(result.HoldersAfter) == 1
			if err != nil || !result.Released || !again {
				t.Errorf("%d masters: %+v, %v", n, result, err)
			}
		}
	}
}

// A request whose connection broke may still run until its time limit, even after the key was read
// again.
func TestDelayedScriptLeavesOutcomeUnknown(t *testing.T) {
	t.Parallel()
	deletes, refuses := faulty{has: true}, faulty{has: true, fails: errorReply("NOPERM User ops has no permissions to run the 'evalsha' command")}
	late, proxied := faulty{has: true, fails: errLostAnswer, slow: true}, faulty{has: true, fails: errorReply("upstream failure"), slow: true}
	unsent := faulty{has: true, fails: errRefusedDial}
	for name, tt := range map[string]struct {
		masters       []faulty
		done, unknown bool
	}{
		"one":                              {masters: []faulty{late}, unknown: true},
		"one behind a proxy":               {masters: []faulty{proxied}, unknown: true},
		"one, not sent":                    {masters: []faulty{unsent}},
		"one of three":                     {masters: []faulty{deletes, deletes, late}, done: true},
		"two of three":                     {masters: []faulty{deletes, late, late}, unknown: true},
		"the deciding one of three":        {masters: []faulty{deletes, late, refuses}, unknown: true},
		"one, where a quorum still has it": {masters: []faulty{late, refuses, refuses}},
		"a value on one of three":          {masters: []faulty{late, {}, {}}, unknown: true},
	} {
		for _, ttl := range []time.Duration{0, time.Minute} {
			t.Run(name+" "+ttl.String(), func(t *testing.T) {
				releaser := faultyMasters(t, tt.masters)
				for i := range tt.masters {
					for _, script := range []string{"string", "expire"} {
						must.Succeed(t, tt.masters[i].plain.ScriptLoad(t.Context(), scriptText(script)).Err())
					}
				}
				p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", Waiter: true, TTL: ttl})
				result, err := releaser.Execute(t.Context(), p, "--yes")
				done := result.Released || result.Set
				if done != tt.done || result.Unknown != tt.unknown || (result.Reason == NoQuorum) != (!tt.done && !tt.unknown) || tt.unknown && (!errors.Is(err, ErrUnreachable) || result.Detail == "") {
					t.Errorf("%+v, %v", result, err)
				}
				for i := range tt.masters {
					if m := &tt.masters[i]; m.later != nil {
						m.later()
						must.True(t, m.plain.PTTL(t.Context(), "lock:a").Val() != -1, "master", i, "did not run the script")
					}
				}
			})
		}
	}
}
