package act

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// faulty is a master that fails when it is asked to act, and may be unreadable before or after that.
type faulty struct {
	servertest.Hook
	has   bool  // it has the contender at first
	fails error // the error of the script; nil if it answers
	lost  bool  // the script runs despite the error
	slow  bool  // the script runs after everything else
	ends  bool  // the contender's TTL runs out right before the script
	stays bool  // the script does nothing
	again bool  // a client takes the lock with the same value right after the script
	mute  bool  // unreadable before the script
	dead  bool  // unreadable after it

	asked bool
	later func()
	plain redis.UniversalClient
}

var (
	errLostAnswer  = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errRefusedDial = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errDenied      = errorReply("NOPERM User ops has no permissions to run the 'evalsha' command")
)

// Masters of most tests; each has the contender at first.
var (
	obeys   = faulty{has: true}
	refuses = faulty{has: true, fails: errDenied}
	silent  = faulty{has: true, fails: errLostAnswer, dead: true}
	unsent  = faulty{has: true, fails: errRefusedDial, dead: true}
)

func (f *faulty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if !acts(c) {
			if f.unread(c) {
				return errRefusedDial
			}
			return next(ctx, c)
		}
		if f.ends && !f.asked {
			f.plain.Del(ctx, "lock:a")
		}
		f.asked = true
		if f.slow {
			f.later = func() { _ = next(context.WithoutCancel(ctx), c) }
		}
		if f.stays {
			c.(*redis.Cmd).SetVal(int64(0))
			return nil
		}
		if f.fails != nil && !f.lost {
			return f.fails
		}
		err := next(ctx, c)
		if f.again {
			f.plain.SetNX(ctx, "lock:a", "v", time.Hour)
		}
		if f.fails == nil || redis.HasErrorPrefix(err, "NOSCRIPT") {
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
	clients, releaser := onServers(t, servers...)
	for i := range all {
		f := &all[i]
		f.plain = servers[i].Client(t)
		if f.has {
			must.Succeed(t, f.plain.Set(t.Context(), "lock:a", "v", 0).Err())
		}
		for _, script := range []string{"string", "expire"} {
			if f.slow { // otherwise later only learns that the server lacks the script
				must.Succeed(t, f.plain.ScriptLoad(t.Context(), scriptText(script)).Err())
			}
		}
		clients[i].AddHook(f)
	}
	return releaser
}

// attempt is an action on the value v of lock:a and its outcome: a release, or setting a TTL.
type attempt struct {
	masters       []faulty
	ttl           time.Duration
	done, unknown bool
	reason        Reason
	detail        string // a part of it
}

func (a attempt) check(t *testing.T) Result {
	t.Helper()
	masters := slices.Clone(a.masters)
	releaser, request := faultyMasters(t, masters), ofKey("lock:a", "v")
	request.Waiter, request.TTL = true, a.ttl
	result, err := perform(t, releaser, request)
	done, other := result.Released, result.Set
	if a.ttl > 0 {
		done, other = other, done
	}
	must.True(t, done == a.done && !other && result.Unknown == a.unknown && result.Reason == a.reason, result, err)
	must.True(t, !a.unknown || (errors.Is(err, ErrUnreachable) && result.Detail != ""), "unknown:", result.Detail, err)
	must.Contain(t, result.Detail, a.detail)
	last := lastAudited(t, releaser.audit)
	must.Equal(t, last["unknown"] == true, a.unknown, "audited as unknown in", last)
	for i := range masters {
		if m := &masters[i]; m.later != nil {
			m.later()
			must.True(t, m.plain.PTTL(t.Context(), "lock:a").Val() != -1, "master", i, "did not run the script")
		}
	}
	return result
}

func checkAll(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, a := range attempts {
		t.Run(name, func(t *testing.T) { a.check(t) })
	}
}

// A master that lacked the contender both before and after a lost reply never had it, so it has no
// part in the outcome. One that was unreadable before may have done the release.
func TestUninvolvedMasterDecidesNothing(t *testing.T) {
	t.Parallel()
	gone, never := faulty{has: true, ends: true}, faulty{fails: errLostAnswer, lost: true}
	unread, unasked := faulty{fails: errLostAnswer, lost: true, mute: true}, faulty{fails: errRefusedDial, mute: true}
	hidden := faulty{fails: errLostAnswer, dead: true}
	checkAll(t, map[string]attempt{
		"with a silent one":            {masters: []faulty{obeys, obeys, silent, never, never}, done: true},
		"with too many silent ones":    {masters: []faulty{silent, silent, silent, never, never}, unknown: true},
		"with two that have it":        {masters: []faulty{obeys, refuses, refuses, never, never}, done: true},
		"with a quorum that has it":    {masters: []faulty{refuses, refuses, refuses, never, never}, reason: NoQuorum},
		"with a value on one":          {masters: []faulty{obeys, never, never}, done: true},
		"unreadable after":             {masters: []faulty{obeys, hidden, hidden}, unknown: true},
		"with two where it expired":    {masters: []faulty{gone, gone, never}, reason: Gone},
		"expired except where refused": {masters: []faulty{gone, gone, refuses}, reason: NoQuorum},
		"a refused vote":               {masters: []faulty{refuses, {}, {}}, reason: NoQuorum},
		"gone, unreadable before":      {masters: []faulty{gone, gone, unread}, unknown: true, detail: "before that"},
		"gone, but deleted on another": {masters: []faulty{gone, obeys, unread}, done: true},
		"gone, not asked":              {masters: []faulty{gone, gone, unasked}, reason: Gone},
	})
}

// A master that shows a value only in part may have the contender, so it does not count as lacking
// it.
func TestUnreadableMasterMayHaveContender(t *testing.T) {
	seen := &inspect.Contender{Name: "v", State: inspect.Holding}
	hidden := inspect.Vote{Up: true, Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders}}}
	digested := &inspect.Contender{Name: "v", Special: inspect.Special{Digest: digest("value")}}
	must.True(t, !lacks(&inspect.Vote{Up: true, Present: true, Value: "v"}, digested), "only its first KiB was read")
	const pending = "whether it is removed on r1 is unknown: it was still there afterwards, " +
		"but the request got no answer and may still arrive"
	const lost = "whether it was removed on r1 is unknown: no answer came, and it could not be read after that"
	for name, tt := range map[string]struct {
		is    inspect.Vote
		lacks bool
		says  string
	}{
		"nothing":   {inspect.Vote{Up: true}, true, ""},
		"another":   {inspect.Vote{Up: true, Present: true, Value: "w"}, true, ""},
		"it":        {inspect.Vote{Up: true, Present: true, Value: "v"}, false, pending},
		"no answer": {inspect.Vote{}, false, lost},
		"in part":   {hidden, false, lost},
		"no lock":   {inspect.Vote{Up: true, Present: true, Foreign: true, Value: "v"}, true, ""},
	} {
		must.Equal(t, lacks(&tt.is, seen), tt.lacks, name)
		r := &Redis{masters: make([]redis.UniversalClient, 1)}
		before := reading{lock: &inspect.Lock{Quorum: 1, Masters: []inspect.Vote{{Up: true}}}}
		after := reading{lock: &inspect.Lock{Quorum: 1, Masters: []inspect.Vote{tt.is}}}
		masters := []MasterResult{{Addr: "r1", Err: errLostAnswer}}
		released, why := outcome(Preview{Seen: seen}, masters, after)
		must.True(t, !released && (why == NoQuorum) != tt.lacks, name, released, why)
		says, unknown := r.unanswered("string", seen, masters, before, after)
		must.True(t, unknown != tt.lacks, name, "unknown", unknown)
		must.Equal(t, says, tt.says, name)
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
	const inLater = "ERR Error running script (call to f_c0ffee): @user_script:7: user_script:7: refused ZREM: -READONLY a replica"
	must.Equal(t, r.removedNothing(0, "rueidislock", errorReply(inLater)), false, "of a script with several changes")
	must.Equal(t, r.removedNothing(0, "rueidislock", errorReply("NOPERM")), true, "of such a script that did not begin")
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"r1:1"}})
	t.Cleanup(func() { client.Close() })
	cluster := &Redis{masters: []redis.UniversalClient{client}}
	must.True(t, !cluster.removedNothing(0, "string", errorReply("READONLY a replica")), "perhaps a second try")
	must.True(t, cluster.removedNothing(0, "string", errDenied), "a Cluster's denial is of the first try, too")
	must.True(t, !cluster.unsent(0, errRefusedDial), "a second dial")
	must.True(t, r.unsent(0, &net.OpError{Op: "dial", Err: errors.New("refused")}), "a failed dial counts as sent")
}

type errorReply string

func (r errorReply) Error() string { return string(r) }
func (errorReply) RedisError()     {}

// interrupted lets a server refuse the release and some of the requests after it.
type interrupted struct {
	servertest.Hook
	by         errorReply
	from, most int
	began      bool
	seen       int
}

func (i *interrupted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if acts(c) {
			i.began = true
			c.SetErr(i.by)
			return i.by
		}
		if err := next(ctx, c); err != nil {
			return err
		}
		i.answer(c)
		return c.Err()
	}
}

func (i *interrupted) answer(c redis.Cmder) {
	if !i.began {
		return
	}
	if i.seen++; i.seen >= i.from && i.seen < i.from+i.most {
		c.SetErr(i.by)
	}
}

func (i *interrupted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		_ = next(ctx, cmds)
		for _, c := range cmds {
			i.answer(c)
		}
		if at := slices.IndexFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }); at >= 0 {
			return cmds[at].Err()
		}
		return nil
	}
}

// A cluster node may refuse the release and some later reads while a slot moves or its data loads.
// Nothing is released or reported as released.
func TestTransientRefusalReleasesNothing(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	value := strings.Repeat("v", 3000)
	long := redisLock{Name: "long-value", Write: []string{"SET lock:long " + value}, Lock: "lock:long", Owner: digest(value)}
	for i, tt := range append(redisLocks(t, "a"), long) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel() // some wait to confirm a dead contender
			l := append(redisLocks(t, fmt.Sprint("n", i)), long)[i]
			command(t, server.Client(t), l.Write...)
			for _, by := range []errorReply{
				"TRYAGAIN Multiple keys request during rehashing of slot", "LOADING Redis is loading the dataset in memory",
			} {
				for from, last := 1, false; !last; from++ {
					fault := &interrupted{by: by, from: from, most: 1 + 99*(from%2)}
					clients, releaser := onServers(t, server)
					clients[0].AddHook(fault)
					result, err := perform(t, releaser, l.request())
					if err == nil || result.Released || result.Masters[0].Deleted || result.Reason != NoQuorum ||
						!strings.Contains(err.Error(), string(by)) {
						t.Errorf("%s, also for answer %d after it: %+v, %v", by, from, result, err)
					}
					last = fault.seen < from
					clients[0].Close()
				}
			}
		})
	}
}
