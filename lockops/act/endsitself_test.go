package act

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/servertest"
)

// endsItself ends the lock right after the script's reply, as its TTL or holder might. With lost,
// the reply does not arrive. With late, the script's time limit has passed.
type endsItself struct {
	redis.UniversalClient
	end        func()
	lost, late bool
}

func (e *endsItself) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if len(keys) == 0 {
		return e.UniversalClient.EvalSha(ctx, sha, keys, args...)
	}
	return e.Eval(ctx, "", keys, append([]any{sha}, args...)...)
}

func (e *endsItself) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	if len(keys) == 0 && text != "" {
		return e.UniversalClient.Eval(ctx, text, keys, args...)
	}
	var c *redis.Cmd
	if args = slices.Clone(args); e.late {
		args[len(args)-1] = 1 // ms since 1970
	}
	if text == "" {
		c = e.UniversalClient.EvalSha(ctx, args[0].(string), keys, args[1:]...)
	} else {
		c = e.UniversalClient.Eval(ctx, text, keys, args...)
	}
	if redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
		return c
	}
	if e.end(); e.lost {
		c.SetErr(context.DeadlineExceeded)
	}
	return c
}

// If a lock ends after a refused request, the request did not release it. If the request may have
// run, the cause is unknown.
func TestNaturalEndIsNotARelease(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin, _ := redisMastersOf(t, []*servertest.Redis{server})
	const rueidis = "SET rueidislock:0:lock 0123456789abcdefghijklmn PX 60000;SET rueidislock:1:lock 0123456789abcdefghijklmn PX 60000;SET rueidislock:2:lock 0123456789abcdefghijklmn PX 60000"
	for _, tt := range []struct {
		name, write, lock, owner, denied string
		lost, late                       bool
		unknown                          bool
	}{
		{name: "no right to delete", write: "SET lock v PX 60000", lock: "lock", owner: "v", denied: "-del"},
		{name: "no right to delete a hash", write: "HSET lock " + ownerA + " 1", lock: "lock", owner: ownerA, denied: "-del"},
		{name: "too late", write: "SET lock v PX 60000", lock: "lock", owner: "v", late: true},
		{name: "no answer", write: "SET lock v PX 60000", lock: "lock", owner: "v", lost: true, unknown: true},
		{name: "no answer, too late", write: "SET lock v PX 60000", lock: "lock", owner: "v", lost: true, late: true, unknown: true},
		{name: "one of several deletes may be refused", write: rueidis, lock: "rueidislock:0:lock", owner: "0123456789abcdefghijklmn", denied: "-del", unknown: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			command(t, admin[0], "FLUSHDB;"+tt.write)
			rights := []any{"~*", "&*", "+@all"}
			if tt.denied != "" {
				rights = append(rights, tt.denied)
			}
			ends := &endsItself{aclUser(t, server, "ops", rights...), func() { admin[0].FlushDB(t.Context()) }, tt.lost, tt.late}
			releaser := onMaster(t, ends, server.Addr)
			result, err := perform(t, releaser, ofKey(tt.lock, tt.owner))
			m, words := result.Masters[0], "gone, not by this request"
			if tt.unknown {
				words = "gone; by this request or on its own"
			}
			if result.Released || m.Deleted || m.Err == nil || result.Unknown != tt.unknown || !strings.HasPrefix(result.Detail, words) {
				t.Errorf("result %+v, %v", result, err)
			}
			if tt.unknown && (result.Reason != "" || !errors.Is(err, ErrUnreachable) || m.Ended != EndedSomehow) || !tt.unknown && (result.Reason != Gone || err != nil || m.Ended != EndedItself) {
				t.Errorf("reason %q, error %v, ended %q", result.Reason, err, m.Ended)
			}
			last := lastAudited(t, releaser.audit)
			if detail, _ := last["detail"].(string); last["released"] != false || last["unknown"] == true != tt.unknown || !strings.HasPrefix(detail, words) {
				t.Errorf("audit %v", last)
			}
		})
	}
}
