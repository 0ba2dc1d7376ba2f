package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
)

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
		if strings.HasPrefix(c.Name(), "eval") && !triesScripts(c) {
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
	long := strings.Repeat("v", 3000)
	all := append(slices.Clone(releases), releasing{name: "long-value", write: "SET lock:NAME " + long + " PX 60000", lock: "lock:NAME", owner: digest(long)})
	for n, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some wait to confirm a dead contender
			admin := server.Client(t)
			name, now := fmt.Sprintf("n%d", n), time.Now()
			named := strings.NewReplacer("NAME", name, "NOW", fmt.Sprint(now.UnixMilli()), "SOON", fmt.Sprint(now.Add(time.Minute).UnixMilli())).Replace
			command(t, admin, named(tt.write))
			request := Request{ID: inspect.ID{Backend: "redis", Path: named(tt.lock)}, Owner: inspect.Untrusted(tt.owner), Waiter: tt.waiter}
			for _, by := range []errorReply{"TRYAGAIN Multiple keys request during rehashing of slot", "LOADING Redis is loading the dataset in memory"} {
				for from, last := 1, false; !last; from++ {
					fault := &interrupted{by: by, from: from, most: 1 + 99*(from%2)}
					c := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ReadTimeout: time.Minute})
					c.AddHook(fault)
					releaser := onMaster(t, c, server.Addr)
					p := confirmed(t, releaser, request)
					result, err := releaser.Execute(t.Context(), p, "--yes")
					if err == nil || result.Released || result.Masters[0].Deleted || result.Reason != NoQuorum || !strings.Contains(err.Error(), string(by)) {
						t.Errorf("%s, also for answer %d after it: %+v, %v", by, from, result, err)
					}
					last = fault.seen < from
					c.Close()
				}
			}
		})
	}
}
