package act

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// again sets a key again right behind the script that deletes it, as a client does whose value is its host's name.
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

// TestALockTakenAgainWasReleased, though its client takes it by the same value each time.
func TestALockTakenAgainWasReleased(t *testing.T) {
	for _, n := range []int{1, 3} {
		servers := servertest.StartEmbeddedMasters(t, n)
		clients, addrs := redisMastersOf(t, servers)
		plain, _ := redisMastersOf(t, servers)
		audit, _ := openAudit(t)
		var requests []Request
		for _, key := range []string{"lock:a", "lock:b"} {
			requests = append(requests, Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: "host-1"})
			for i, c := range clients {
				c.AddHook(&again{plain: plain[i], key: key, value: "host-1"})
				must.Succeed(t, plain[i].Set(t.Context(), key, "host-1", time.Hour).Err())
			}
		}
		r := NewRedis(clients, Target{Name: "redis", Servers: addrs}, time.Minute, audit)
		for _, request := range requests {
			p := must.Have(r.Preview(t.Context(), request))(t)
			result, err := r.Execute(t.Context(), p, "--yes")
			again := result.Detail == "taken again by the same value" && len(result.HoldersAfter) == 1
			if err != nil || !result.Released || !again {
				t.Errorf("%d masters: %+v, %v", n, result, err)
			}
		}
	}
}
