package redissource_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// before is called before each round trip of a read.
type before struct {
	servertest.Hook
	do func()
}

func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error { b.do(); return next(ctx, c) }
}

func (b before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { b.do(); return next(ctx, cmds) }
}

// While a lock is read, a lock of another type replaces it, once or at each round trip. The key is
// never free or foreign, and its holder is one of the two.
func TestTypeChangeNeverLooksFree(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key, text, member = "lock:a", "MDEyMzQ1Njc4OWFiY2RlZg==", "MDEyMzQ1Njc4OWFiY2RlZvCfgqEgp5yRhf/+gIHH2JM="
	soon := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	locks := [][]any{
		{"set", key, text},
		{"hset", key, uuidA + ":57", 1},
		{"zadd", key, soon, "__write__", soon, member},
	}
	write := func(n int) {
		_, err := admin.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Del(t.Context(), key)
			p.Do(t.Context(), locks[n]...)
			p.PExpire(t.Context(), key, time.Hour)
			return nil
		})
		must.Succeed(t, err)
	}
	read := func(do func()) *inspect.Lock {
		c := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
		defer c.Close()
		c.AddHook(before{do: do})
		vote := must.Have(node.ReadKey(t.Context(), time.Now, c, server.Addr, key, 30*time.Second))(t)
		return inspect.KeyLock(inspect.ID{Backend: "redis", Path: key}, []inspect.Vote{vote}, time.Now())
	}
	alone := make([]*inspect.Lock, len(locks))
	for n := range locks {
		write(n)
		if alone[n] = read(func() {}); alone[n].State != inspect.StateHeld {
			t.Fatalf("%v: %+v", locks[n], alone[n])
		}
	}
	for from := range locks {
		for to := range locks {
			if from == to {
				continue
			}
			for trip := 1; trip <= 8; trip++ {
				for _, again := range []bool{false, true} {
					write(from)
					trips, now := 0, from
					l := read(func() {
						if trips++; trips == trip || again && trips > trip {
							now = from + to - now
							write(now)
						}
					})
					what := fmt.Sprintf("%v to %v at round trip %d, again %v", locks[from][0], locks[to][0], trip, again)
					if l.State != inspect.StateHeld && l.State != inspect.StateUnknown || l.Masters[0].Foreign {
						t.Errorf("%s: %s, %+v", what, l.State, l.Masters[0])
					}
					for _, h := range l.Holders {
						_, before := alone[from].Contender(h.Name)
						_, after := alone[to].Contender(h.Name)
						must.True(t, before || after, what, "held by", h.Name)
					}
				}
			}
		}
	}
}
