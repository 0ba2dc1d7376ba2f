package node

import (
	"context"
	"net"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// readOnly is the go-redis hook that every command passes through, including those that set up a
// connection. It counts the permitted ones.
type readOnly struct{ sent *traffic }

// traffic counts requests: each command of each pipeline, and the heartbeats on push connections.
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

// ProcessPipelineHook refuses a whole pipeline if one of its commands is refused.
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
		err := next(ctx, cmds)
		notSent(cmds, err)
		return err
	}
}

// setupError means that the server refused HELLO, AUTH or SELECT on a new connection. Nothing
// else was sent on it.
type setupError struct{ refused error }

func (e setupError) Error() string { return "the connection was refused: " + e.refused.Error() }
func (e setupError) Unwrap() error { return e.refused }

// notSent sets the error on the commands of a pipeline that was never sent. go-redis (9.23) does so
// only for failed connections. After a refused login, the commands would seem to have empty
// replies.
func notSent(cmds []redis.Cmder, err error) {
	if err == nil || slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Err() != nil }) {
		return
	}
	for _, cmd := range cmds {
		cmd.SetErr(setupError{err})
	}
}
