package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

const (
	RetryEvery = time.Second // how often a dead master is tried
	rearmEvery = time.Minute // how often a master that refused to push is asked again
)

// refusal means that a running master refuses to push. Tracking is retried every rearmEvery.
type refusal struct{ inspect.Unseen }

func (r refusal) Error() string { return r.Reason }

// refuse builds the refusal from a failed command. right would allow the command, unless the
// reply names another right.
func (p *Pusher) refuse(why string, cmd redis.Cmder, right string) refusal {
	u := inspect.Unseen{
		Aspect: inspect.AspectChanges, Where: p.Master.Address(), Read: "CLIENT TRACKING", Reason: why, Right: right,
	}
	if cmd != nil && cmd.Err() != nil {
		u.Reason += ": " + inspect.Untrusted(cmd.Err().Error()).Cut(120)
		u.Right = cmp.Or(rightFor(cmd, ""), right)
	}
	return refusal{u}
}

// errLost ends a tracking connection that go-redis has replaced. Pushes were lost meanwhile.
var errLost = errors.New("the tracking connection was lost")

// Pusher receives the changed keys of one master over a separate connection. It uses the
// invalidation messages of client-side caching in broadcast mode
// (https://redis.io/docs/latest/develop/reference/client-side-caching/).
type Pusher struct {
	Master   *Master
	Prefixes []string
	Wanted   func(key string) bool
	Rate     Limit // of pushed keys, wanted or not
	News     func(keys []string)
	Flushed  func()
	Heard    func(asked time.Time) // a ping sent at asked was answered
	Late     func()                // called while a ping is overdue

	mu     sync.Mutex
	pinged time.Time // the unanswered ping; zero if none
}

// Run keeps the connection open until the context ends, and reports its state.
func (p *Pusher) Run(ctx context.Context, report func(armed bool, refused *inspect.Unseen)) {
	for ctx.Err() == nil {
		began, armed := p.Master.now(), false
		err := p.session(ctx, func() {
			report(true, nil)
			armed = true
		})
		if ctx.Err() != nil {
			return
		}
		rest := time.Millisecond
		if !armed || p.Master.now().Sub(began) < RetryEvery {
			rest = RetryEvery // the connection ended at once
		}
		if r, ok := errors.AsType[refusal](err); ok {
			rest = rearmEvery
			report(false, &r.Unseen)
		} else {
			report(false, nil)
		}
		if sourcekit.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// session runs one connection and returns why it ended.
func (p *Pusher) session(ctx context.Context, armed func()) error {
	var connected atomic.Bool
	options, err := p.Master.direct(ctx)
	if err != nil {
		return err
	}
	options.Protocol = 3
	options.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		if connected.Swap(true) {
			return errLost
		}
		return p.arm(ctx, c)
	}
	client := newClient(options, readOnly{&p.Master.sent})
	defer client.Close()
	h := &invalidations{Pusher: p}
	if err := client.RegisterPushNotificationHandler("invalidate", h, false); err != nil {
		return fmt.Errorf("redissource: %w", err)
	}
	conn := client.Subscribe(ctx) // without a channel, only to receive pushes
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := p.ping(ctx, conn); err != nil {
		return err
	}
	return p.listen(ctx, conn, h, sync.OnceFunc(armed))
}

// arm turns tracking on. It fails if the server refuses.
func (p *Pusher) arm(ctx context.Context, c *redis.Conn) error {
	hello := c.Do(ctx, "hello", 3)
	reply, err := hello.Result()
	fields, _ := reply.(map[any]any)
	switch {
	case err != nil && !redisreply.Is(err):
		return err
	case err != nil || fields["proto"] != int64(3):
		return p.refuse("the server does not speak RESP3, which change notifications need", hello, inspect.NewerRedis)
	}
	args := []any{"client", "tracking", "on", "bcast"}
	for _, prefix := range p.Prefixes {
		if prefix != "" {
			args = append(args, "prefix", prefix)
		}
	}
	tracking := c.Do(ctx, args...)
	switch err := tracking.Err(); {
	case err == nil:
		return nil
	case redisreply.Denied(err):
		return p.refuse("our user may not run CLIENT TRACKING", tracking, "")
	case redisreply.Is(err):
		return p.refuse("the server does not report which keys change (CLIENT TRACKING)", tracking, inspect.NewerRedis)
	default:
		return err
	}
}

// ping sends a heartbeat. listen receives the answer.
func (p *Pusher) ping(ctx context.Context, conn *redis.PubSub) error {
	ctx, cancel := context.WithTimeout(ctx, p.Master.timeout)
	defer cancel()
	p.Master.sent.heartbeats.Add(1) // the hook does not see it
	p.mu.Lock()
	p.pinged = p.Master.now()
	p.mu.Unlock()
	return conn.Ping(ctx)
}

// waiting returns how long a ping has gone unanswered; zero if none is pending.
func (p *Pusher) waiting() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pinged.IsZero() {
		return 0
	}
	return max(1, p.Master.now().Sub(p.pinged))
}

// answered records an answer to a ping, even an error. It returns false if no ping was pending.
func (p *Pusher) answered() bool {
	p.mu.Lock()
	asked := p.pinged
	p.pinged = time.Time{}
	p.mu.Unlock()
	if !asked.IsZero() {
		p.Heard(asked)
	}
	return !asked.IsZero()
}

// refusesPing reports whether a server refuses only PING. A server with a failing disk refuses
// PING as it does writes (MISCONF), but still answers reads and pushes. Our user may also lack
// the right, or PING may be renamed. All other errors (LOADING, MASTERDOWN, BUSY) affect keys
// too.
func refusesPing(err error) bool {
	if redisreply.Denied(err) {
		return redisreply.DeniedCommand(err.Error()) == "ping"
	}
	return redisreply.Starts(err, "MISCONF") || redisreply.UnknownCommand(err)
}

// silentFor is the number of timeouts after which a silent tracking connection is dropped.
const silentFor = 3

// keepAlive pings until the connection ends. It closes a silent connection, and one to a master
// that Sentinel has replaced.
func (p *Pusher) keepAlive(ctx context.Context, conn *redis.PubSub, at string) {
	defer conn.Close()
	limit := p.Master.timeout
	for sourcekit.Sleep(ctx, limit/2) == nil && p.Master.Address() == at {
		switch waited := p.waiting(); {
		case waited >= silentFor*limit:
			return
		case waited >= limit:
			p.Late()
		case waited == 0 && p.ping(ctx, conn) != nil:
			return
		}
	}
}

// listen handles pushes. It calls armed at the first answer to a ping, since a server may allow
// tracking and refuse everything else.
func (p *Pusher) listen(ctx context.Context, conn *redis.PubSub, h *invalidations, armed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	var beats sync.WaitGroup
	defer beats.Wait()
	defer cancel()
	at := p.Master.Address() // the address of this connection, which direct has just found
	beats.Go(func() { p.keepAlive(ctx, conn, at) })
	for {
		message, err := connect.Receive(ctx, conn, 2*silentFor*p.Master.timeout)
		if _, isPong := message.(*redis.Pong); isPong || refusesPing(err) {
			if p.answered() {
				armed()
				err = nil
			}
		}
		switch {
		case h.over.Load():
			why := fmt.Sprintf("more than %.0f keys a second change", 1/p.Rate.Every.Seconds())
			return p.refuse(why, nil, "match=PREFIX* in the target, so that fewer changes are pushed")
		case err != nil:
			return err
		}
	}
}

// invalidations handles the messages of one connection.
type invalidations struct {
	*Pusher
	spent time.Time   // the state of the rate limit
	over  atomic.Bool // the rate was exceeded
}

// HandlePushNotification implements push.NotificationHandler. An "invalidate" message has a list
// of keys, or none if the database was flushed.
func (h *invalidations) HandlePushNotification(
	_ context.Context, _ push.NotificationHandlerContext, message []any,
) error {
	if len(message) < 2 {
		return nil
	}
	list, ok := message[1].([]any)
	if !ok {
		h.Flushed()
		return nil
	}
	now := h.Master.now()
	if h.Rate.Ready(h.spent, now).After(now) {
		h.over.Store(true) // handled at the next answer to a ping
		return nil
	}
	h.spent = h.Rate.Spend(h.spent, now, len(list))
	var keys []string
	for _, item := range list {
		if key, ok := item.(string); ok && h.Wanted(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		h.News(keys)
	}
	return nil
}
