package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/each"
)

// ErrNoSuchMaster is wrapped by the error of SentinelMaster when the sentinels that answer know no master of that name.
var ErrNoSuchMaster = errors.New("no sentinel knows a master of that name")

// ErrSentinelsDisagree is wrapped by the error of SentinelMaster when no majority of the answering
// sentinels names the same master, as briefly happens during a failover.
var ErrSentinelsDisagree = errors.New("the sentinels disagree about who the master is")

// SentinelMaster asks the sentinels of o, all at once, for the current address of the master
// o.MasterName, as host:port. The majority decides, since a sentinel that was cut off or has just
// restarted may name the previous master for a while. The sentinels get half of the time left in
// ctx; then the majority of the answers decides. hooks see the commands sent.
func SentinelMaster(ctx context.Context, o redis.UniversalOptions, hooks ...redis.Hook) (string, error) {
	ctx, cancel := halfOf(ctx)
	type answer struct {
		i   int
		at  string
		err error
	}
	answers := make(chan answer, len(o.Addrs))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for i, addr := range o.Addrs {
		asking.Go(func() {
			at, err := querySentinel(ctx, o, addr, hooks)
			answers <- answer{i, at, err}
		})
	}
	votes, said, failed := map[string]int{}, make([]error, len(o.Addrs)), make([]error, len(o.Addrs))
	answered, unknown := 0, 0
	for range o.Addrs {
		a := <-answers
		switch {
		case a.err == nil:
			answered++
			said[a.i] = fmt.Errorf("sentinel %s names %s", o.Addrs[a.i], a.at)
			if votes[a.at]++; votes[a.at] > len(o.Addrs)/2 {
				return a.at, nil
			}
		case errors.Is(a.err, redis.Nil):
			unknown++
			failed[a.i] = fmt.Errorf("sentinel %s knows no master named %q", o.Addrs[a.i], o.MasterName)
		case isLoginReply(a.err):
			failed[a.i] = fmt.Errorf("sentinel %s: %w (set LOCKSCOPE_REDIS_SENTINEL_PASSWORD, "+
				"and _USERNAME where it has users, or sentinel: in the profile)", o.Addrs[a.i], a.err)
		default:
			failed[a.i] = fmt.Errorf("sentinel %s: %w", o.Addrs[a.i], Plain(a.err))
		}
	}
	for at, n := range votes {
		if n > answered/2 {
			return at, nil
		}
	}
	err := several(failed)
	switch {
	case answered > 0:
		return "", fmt.Errorf("%w: %w", ErrSentinelsDisagree, several(said))
	case unknown > 0:
		return "", fmt.Errorf("%w: %w (SENTINEL MASTERS lists those that it knows)", ErrNoSuchMaster, err)
	}
	return "", err
}

// severally joins errors of several servers on one line, since a line feed would be shown escaped.
type severally []error

// several joins the errors that are not nil; nil if there are none.
func several(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return severally(errs)
}

func (s severally) Error() string {
	return strings.Join(each.Of(s, error.Error), "; ")
}

// Unwrap returns all of them.
func (s severally) Unwrap() []error { return s }

// halfOf returns a context with half of the remaining time, and leaves the rest for the next step.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// querySentinel returns redis.Nil if the sentinel knows no such master.
func querySentinel(ctx context.Context, o redis.UniversalOptions, addr string, hooks []redis.Hook) (string, error) {
	o.Addrs, o.DB, o.OnConnect = []string{addr}, 0, nil
	o.CredentialsProviderContext = nil // the master's; CredentialsProvider is ours
	name := o.MasterName
	o.MasterName, o.Username, o.Password = "", o.SentinelUsername, o.SentinelPassword
	o.MaxRetries = -1 // on top of the dial's own retries, these would use up a short time and hide the reason
	c := redis.NewSentinelClient(o.Simple())
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })() // go-redis ignores a context's cancellation
	for _, h := range hooks {
		c.AddHook(h)
	}
	at, err := c.GetMasterAddrByName(ctx, name).Result()
	switch {
	case err != nil:
		return "", err
	case len(at) != 2:
		return "", redis.Nil
	}
	return net.JoinHostPort(at[0], at[1]), nil
}

func isLoginReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		(strings.HasPrefix(reply.Error(), "NOAUTH") || strings.HasPrefix(reply.Error(), "WRONGPASS"))
}
