package redissource

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// readOnly is the go-redis hook through which every command goes, those of a connection's start included. It counts
// what it lets pass.
type readOnly struct{ sent *traffic }

// traffic counts what was sent: every command of every pipeline, and the signs of life on connections that are pushed to.
type traffic struct{ commands, heartbeats atomic.Uint64 }

func (t *traffic) add(commands int) { t.commands.Add(uint64(commands)) }

func (readOnly) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r readOnly) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := check(cmd.Args()); err != nil {
			cmd.SetErr(err)
			return err
		}
		r.sent.add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook refuses a pipeline as a whole when one command in it is refused.
func (r readOnly) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := check(cmd.Args()); err != nil {
				for _, c := range cmds {
					c.SetErr(err)
				}
				return err
			}
		}
		r.sent.add(len(cmds))
		return next(ctx, cmds)
	}
}
