package redissource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// ErrRefused is wrapped by the error of every command that is not on the list of reading commands. Such a command is
// not sent.
var ErrRefused = errors.New("not a reading command: refused before it was sent")

// reading are the commands that may be sent, and for those that take one the subcommands that may. nil: the command
// has none that matter.
var reading = map[string][]string{
	"scan": nil, "type": nil, "exists": nil, "pttl": nil, "get": nil, "getrange": nil, "strlen": nil,
	"hlen": nil, "hgetall": nil, "hscan": nil, "lrange": nil, "llen": nil, "zrange": nil, "zcard": nil,
	"sscan": nil, "scard": nil, "memory": {"usage"},
	"info": nil, "time": nil, "role": nil, "ping": nil,
	"hello": nil, "auth": nil, "select": nil,
	"client":  {"tracking", "list"},
	"pubsub":  {"channels", "numsub", "numpat", "shardchannels", "shardnumsub"},
	"cluster": {"slots", "shards", "nodes", "info", "myid"},
	"command": {}, // how a cluster client learns where a command's keys stand
}

// check says why a command may not be sent; nil when it may.
func check(args []any) error {
	name := word(args, 0)
	subcommands, ok := reading[name]
	if !ok {
		return fmt.Errorf("redissource: %.20q: %w", name, ErrRefused)
	}
	sub := word(args, 1)
	if subcommands == nil || name == "command" && (sub == "" || sub == "info" || sub == "docs") {
		return nil
	}
	for _, s := range subcommands {
		if s == sub {
			return nil
		}
	}
	return fmt.Errorf("redissource: %.20q %.20q: %w", name, sub, ErrRefused)
}

func word(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, ok := args[i].(string)
	if !ok {
		return ""
	}
	return strings.ToLower(s)
}

// readOnly is the go-redis hook through which every command goes, those of a connection's start included. It counts
// what it lets pass.
type readOnly struct{ sent *traffic }

// traffic counts what was sent: commands, and round trips, of which a pipeline is one.
type traffic struct{ commands, trips atomic.Uint64 }

func (t *traffic) add(commands int) {
	t.commands.Add(uint64(commands))
	t.trips.Add(1)
}

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
