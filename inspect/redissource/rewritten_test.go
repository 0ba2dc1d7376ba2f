package redissource_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/redissource"
	"lockscope/internal/servertest"
)

// ranOut makes the first value that is read look as that of a key which runs out between two commands does.
type ranOut struct{ times int }

func (*ranOut) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (*ranOut) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (r *ranOut) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if value, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "getrange" && r.times == 0 {
				r.times++
				value.SetVal("")
			}
		}
		return err
	}
}

// A key that runs out while it is read, and is taken by the next client at once, is no empty string: it is read again.
func TestAKeyThatIsTakenWhileItIsReadIsReadAgain(t *testing.T) {
	addr := servertest.StartEmbeddedRedis(t).Addr
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	for value, want := range map[string]int{"the-next-one": 1, "": 0} {
		if err := client.Set(t.Context(), "lock:a", value, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		once := &ranOut{times: 1 - want}
		reader := redis.NewClient(&redis.Options{Addr: addr})
		reader.AddHook(once)
		vote, err := redissource.ReadKey(t.Context(), time.Now, reader, addr, "lock:a", 30*time.Second)
		if err != nil || !vote.Present || vote.Value.Raw() != value || once.times != 1 {
			t.Errorf("%q: %+v, %v", value, vote, err)
		}
		reader.Close()
	}
}
