package node

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// splitPipeline ends a key before the questions about it, and has it be another's until its value is read again.
type splitPipeline struct {
	server *redis.Client
	key    string
}

func (splitPipeline) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (splitPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (s splitPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		taken := false
		for i, cmd := range cmds {
			if cmd.Name() == "exists" && !taken { // one that asks whether it is there
				taken = true
				s.server.Set(ctx, s.key, "next", 0)
			}
			if err := next(ctx, cmds[i:i+1]); err != nil {
				return err
			}
			if cmd.Name() == "exists" || cmd.Name() == "pttl" {
				s.server.Del(ctx, s.key)
			}
		}
		return nil
	}
}

// A key that runs out, is taken and given back while it is read, is held by nobody: the value that was not
// there is nobody's name.
func TestAKeyThatIsGivenBackWhileItIsReadIsFree(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key = "lock:a"
	if err := admin.Set(t.Context(), key, "before", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	reader := server.Client(t)
	reader.AddHook(splitPipeline{admin, key})
	vote, err := ReadKey(t.Context(), time.Now, reader, server.Addr, key, 30*time.Second)
	if err != nil || vote.Present && vote.Value == "" {
		t.Errorf("%+v, %v", vote, err)
	}
}
