package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoSuchMaster is wrapped by the error of SentinelMaster when the sentinels that answer know no master of that name.
var ErrNoSuchMaster = errors.New("no sentinel knows a master of that name")

// SentinelMaster asks the sentinels of o, one after the other, where the master o.MasterName is now, as host:port. Each gets
// its share of the time that ctx leaves. hooks see what is sent to them.
func SentinelMaster(ctx context.Context, o redis.UniversalOptions, hooks ...redis.Hook) (string, error) {
	var failed []error
	unknown := 0
	for i, addr := range o.Addrs {
		at, err := askSentinel(ctx, o, addr, len(o.Addrs)-i, hooks)
		switch {
		case err == nil && len(at) == 2:
			return net.JoinHostPort(at[0], at[1]), nil
		case errors.Is(err, redis.Nil), err == nil:
			unknown++
			failed = append(failed, fmt.Errorf("sentinel %s knows no master named %q", addr, o.MasterName))
		case isLoginReply(err):
			failed = append(failed, fmt.Errorf("sentinel %s: %w (set LOCKSCOPE_REDIS_SENTINEL_PASSWORD, and _USERNAME where it has users)", addr, err))
		default:
			failed = append(failed, fmt.Errorf("sentinel %s: %w", addr, Plain(err)))
		}
	}
	err := errors.Join(failed...)
	if unknown > 0 {
		return "", fmt.Errorf("%w: %w (see which it knows: SENTINEL MASTERS)", ErrNoSuchMaster, err)
	}
	return "", err
}

// askSentinel asks one of so many that are left.
func askSentinel(ctx context.Context, o redis.UniversalOptions, addr string, left int, hooks []redis.Hook) ([]string, error) {
	if end, ok := ctx.Deadline(); ok {
		share, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
		ctx = share
	}
	o.Addrs, o.DB, o.OnConnect = []string{addr}, 0, nil
	name := o.MasterName
	o.MasterName, o.Username, o.Password = "", o.SentinelUsername, o.SentinelPassword
	c := redis.NewSentinelClient(o.Simple())
	defer c.Close()
	for _, h := range hooks {
		c.AddHook(h)
	}
	return c.GetMasterAddrByName(ctx, name).Result()
}

func isLoginReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "NOAUTH") || strings.HasPrefix(reply.Error(), "WRONGPASS"))
}
