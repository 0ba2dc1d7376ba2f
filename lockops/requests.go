package lockops

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Requests counts the requests that the session has sent, pings and connect requests left out.
func (s *ZKSession) Requests() uint64 { return s.tap.Requests() }

// Requests counts the commands that the session has sent to its masters, a script as one, subscriptions too. What
// go-redis sends to set a connection up is left out.
func (s *RedisSession) Requests() uint64 {
	sum := s.wakeups.requests.Load()
	for _, m := range s.masters {
		sum += m.requests.Load()
	}
	return sum
}

// requestCounter is a hook of go-redis that counts commands.
type requestCounter struct{ *atomic.Uint64 }

// DialHook counts nothing.
func (c requestCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (c requestCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts the commands of a pipeline.
func (c requestCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.Add(uint64(len(cmds)))
		return next(ctx, cmds)
	}
}
