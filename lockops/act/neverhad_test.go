package act

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// faulty is a master that fails when it is asked to delete, and may be unreadable before or after
// that.
type faulty struct {
	servertest.Hook
	has   bool  // it has the contender at first
	fails error // the error of the script; nil if it answers
	lost  bool  // the script runs despite the error
	slow  bool  // the script runs when the test calls later
	ends  bool  // the contender's TTL runs out right before the script
	mute  bool  // unreadable before the script
	dead  bool  // unreadable after it

	asked bool
	later func()
	plain redis.UniversalClient
	key   string
}

func (f *faulty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if triesScripts(c) {
			return next(ctx, c)
		}
		switch c.Name() {
		case "evalsha", "eval":
		default:
			if f.unread(c) {
				return errRefusedDial
			}
			return next(ctx, c)
		}
		if f.ends && !f.asked {
			f.plain.Del(ctx, f.key)
		}
		f.asked = true
		if f.slow {
			f.later = func() { _ = next(context.WithoutCancel(ctx), c) }
		}
		if f.fails != nil && !f.lost {
			return f.fails
		}
		if err := next(ctx, c); f.fails == nil || redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		return f.fails
	}
}

// unread reports whether a command fails. The set-up of a connection and TIME succeed.
func (f *faulty) unread(c redis.Cmder) bool {
	return (f.mute && !f.asked || f.dead && f.asked) && !slices.Contains([]string{"hello", "client", "time"}, c.Name())
}

func (f *faulty) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !f.unread(cmds[0]) {
			return next(ctx, cmds)
		}
		for _, c := range cmds {
			c.SetErr(errRefusedDial)
		}
		return errRefusedDial
	}
}

// faultyMasters returns a Releaser for these masters. Those with has set hold the value v of
// lock:a.
func faultyMasters(t *testing.T, all []faulty) *Redis {
	t.Helper()
	servers := servertest.StartEmbeddedMasters(t, len(all))
	clients, addrs := redisMastersOf(t, servers)
	plain, _ := redisMastersOf(t, servers)
	for i := range all {
		f := &all[i]
		f.key, f.plain = "lock:a", plain[i]
		if f.has {
			must.Succeed(t, plain[i].Set(t.Context(), f.key, "v", 0).Err())
		}
		clients[i].AddHook(f)
	}
	return onMasters(t, clients, addrs)
}

// A master that lacked the contender both before and after a lost reply never had it, so it has no
// part in the outcome. One that was unreadable before may have done the release.
func TestUninvolvedMasterDecidesNothing(t *testing.T) {
	t.Parallel()
	deletes, refuses := faulty{has: true}, faulty{has: true, fails: errorReply("NOPERM User ops has no permissions to run the 'evalsha' command")}
	gone, silent := faulty{has: true, ends: true}, faulty{has: true, fails: errLostAnswer, dead: true}
	never := faulty{fails: errLostAnswer, lost: true}
	unread, unsent := faulty{fails: errLostAnswer, lost: true, mute: true}, faulty{fails: errRefusedDial, mute: true}
	for name, tt := range map[string]struct {
		masters           []faulty
		released, unknown bool
		reason            Reason
	}{
		"with a silent one":            {masters: []faulty{deletes, deletes, silent, never, never}, released: true},
		"with too many silent ones":    {masters: []faulty{silent, silent, silent, never, never}, unknown: true},
		"with two that have it":        {masters: []faulty{deletes, refuses, refuses, never, never}, released: true},
		"with a quorum that has it":    {masters: []faulty{refuses, refuses, refuses, never, never}, reason: NoQuorum},
		"with a value on one":          {masters: []faulty{deletes, never, never}, released: true},
		"unreadable after":             {masters: []faulty{deletes, {fails: errLostAnswer, dead: true}, {fails: errLostAnswer, dead: true}}, unknown: true},
		"with two where it expired":    {masters: []faulty{gone, gone, never}, reason: Gone},
		"expired except where refused": {masters: []faulty{gone, gone, refuses}, reason: NoQuorum},
		"a refused vote":               {masters: []faulty{refuses, {}, {}}, reason: NoQuorum},
		"gone, unreadable before":      {masters: []faulty{gone, gone, unread}, unknown: true},
		"gone, but deleted on another": {masters: []faulty{gone, deletes, unread}, released: true},
		"gone, not asked":              {masters: []faulty{gone, gone, unsent}, reason: Gone},
	} {
		t.Run(name, func(t *testing.T) {
			releaser := faultyMasters(t, tt.masters)
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v", Waiter: true})
			result, err := releaser.Execute(t.Context(), p, "--yes")
			if result.Released != tt.released || result.Unknown != tt.unknown || result.Reason != tt.reason || tt.unknown && (!errors.Is(err, ErrUnreachable) || result.Detail == "") {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// A master that shows a value only in part may have the contender, so it does not count as lacking
// it.
func TestUnreadableMasterMayHaveContender(t *testing.T) {
	seen := &inspect.Contender{Name: "v", State: inspect.Holding}
	hidden := inspect.Vote{Up: true, Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders}}}
	for name, tt := range map[string]struct {
		is    inspect.Vote
		lacks bool
	}{
		"nothing":   {inspect.Vote{Up: true}, true},
		"another":   {inspect.Vote{Up: true, Present: true, Value: "w"}, true},
		"it":        {inspect.Vote{Up: true, Present: true, Value: "v"}, false},
		"no answer": {inspect.Vote{}, false},
		"in part":   {hidden, false},
	} {
		must.Equal(t, lacks(&tt.is, seen), tt.lacks, name)
		r := &Redis{masters: make([]redis.UniversalClient, 1)}
		before := reading{lock: &inspect.Lock{Quorum: 1, Masters: []inspect.Vote{{Up: true}}}}
		after := reading{lock: &inspect.Lock{Quorum: 1, Masters: []inspect.Vote{tt.is}}}
		masters := []MasterResult{{Err: errLostAnswer}}
		if released, why := outcome(Preview{Seen: seen}, masters, after); released || (why == NoQuorum) == tt.lacks {
			t.Errorf("%s: %v, %q", name, released, why)
		}
		if _, unknown := r.unanswered("string", seen, masters, before, after); unknown == tt.lacks {
			t.Errorf("%s: unknown %v", name, unknown)
		}
	}
}

// A proxy's own error says nothing about the server behind it, which may have run the request.
func TestAProxysOwnErrorProvesNothing(t *testing.T) {
	r := &Redis{masters: []redis.UniversalClient{redis.NewClient(&redis.Options{})}}
	t.Cleanup(func() { r.masters[0].Close() })
	for text, proof := range map[string]bool{
		"ERR Connection timed out":                                                               false, // twemproxy
		"ERR Connection reset by peer":                                                           false,
		"upstream failure":                                                                       false, // Envoy
		"ERR server connection closed":                                                           false,
		"ERR handle request, backend conn reset":                                                 false, // Codis
		"READONLY You can't write against a read only slave.":                                    true,
		"LOADING Redis is loading the dataset in memory":                                         true,
		"NOPERM this user has no permissions to run the 'evalsha' command":                       true,
		"ERR unknown command 'evalsha'":                                                          true,
		"ERR refused DEL: OOM command not allowed script: c0ffee, on @user_script:9.":            true,
		"ERR Error running script (call to f_c0ffee): @user_script:12: user_script:12: too much": true,
		"ERR Error running script (call to f_c0ffee): @user_script:7: user_script:7: refused DEL: -READONLY a replica": true,
	} {
		must.Equal(t, r.removedNothing(0, "string", errorReply(text)), proof, text)
	}
	if !r.unsent(0, &net.OpError{Op: "dial", Err: errors.New("refused")}) {
		t.Error("a failed dial counts as sent")
	}
}
