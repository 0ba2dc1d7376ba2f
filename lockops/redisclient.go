package lockops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
)

// clientName is shown in CLIENT LIST for connections whose options name none.
const clientName = "lockscope"

// dialClient makes a client that sends each request once, within its limit. dials counts its
// connections, since each may lead to a different server.
func dialClient(given *redis.UniversalOptions, limit time.Duration, dials *atomic.Uint64) redis.UniversalClient {
	o := *given
	o.Addrs = slices.Clone(given.Addrs)
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout = orElse(o.DialTimeout, limit)
	o.PoolTimeout = orElse(o.PoolTimeout, limit)
	o.ReadTimeout = orElse(o.ReadTimeout, 5*time.Second) // the context's deadline comes first
	o.WriteTimeout = orElse(o.WriteTimeout, 5*time.Second)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Protocol = cmp.Or(o.Protocol, 2) // every server supports it
	o.OnConnect = withName(o.ClientName, o.OnConnect)
	o.ClientName = ""
	c := redis.NewUniversalClient(&o)
	if cluster, ok := c.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(dialHook{dials}) })
	} else {
		c.AddHook(dialHook{dials})
	}
	return c
}

func orElse(given, standard time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return standard
}

// withName names a connection. go-redis itself would drop a connection whose user may not set a
// name.
func withName(name string, next func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	name = cmp.Or(name, clientName)
	return func(ctx context.Context, cn *redis.Conn) error {
		if err := cn.ClientSetName(ctx, name).Err(); err != nil && !answered(err) {
			return err
		}
		if next != nil {
			return next(ctx, cn)
		}
		return nil
	}
}

// dialHook counts connections and gives their handshake the time for connecting. It turns a failed dial into a
// connection that fails when it is used, since go-redis prints failed dials to the program's standard error.
type dialHook struct{ dials *atomic.Uint64 }

// DialHook implements redis.Hook.
func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		h.dials.Add(1)
		if err != nil {
			// go-redis unwraps errors of the handshake once, so the error gets an extra layer.
			return failedConn{err: worded{err.Error(), []error{err}}}, nil
		}
		return connect.BoundReplies(conn), nil
	}
}

// ProcessHook implements redis.Hook.
func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !greets(cmd) {
			return next(ctx, cmd)
		}
		return connecting(ctx, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook. Only the handshake is sent by pipelines.
func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return connecting(ctx, func() error { return next(ctx, cmds) })
	}
}

// failedConn is a connection that could not be made.
type failedConn struct {
	net.Conn
	err error
}

func (c failedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)      { return 0, c.err }
func (failedConn) Close() error                     { return nil }
func (failedConn) LocalAddr() net.Addr              { return nowhere{} }
func (failedConn) RemoteAddr() net.Addr             { return nowhere{} }
func (failedConn) SetDeadline(time.Time) error      { return nil }
func (failedConn) SetReadDeadline(time.Time) error  { return nil }
func (failedConn) SetWriteDeadline(time.Time) error { return nil }

type nowhere struct{}

func (nowhere) Network() string { return "none" }
func (nowhere) String() string  { return "not connected" }

// nodeName returns the name of a master in errors.
func nodeName(o *redis.UniversalOptions) string { return strings.Join(o.Addrs, ",") }

// adopted checks that a caller's client repeats no request and obeys deadlines, and returns its
// name.
func adopted(c redis.UniversalClient) (name string, err error) {
	var deadlines bool
	var retries int
	switch c := c.(type) {
	case *redis.Client:
		o := c.Options()
		name, deadlines, retries = o.Addr, o.ContextTimeoutEnabled, o.MaxRetries
	case *redis.ClusterClient:
		o := c.Options()
		name, deadlines, retries = strings.Join(o.Addrs, ","), o.ContextTimeoutEnabled, o.MaxRetries
	default:
		return "", fmt.Errorf("a %T cannot be adopted: its messages come from other servers than its keys (give a "+
			"*redis.Client or a *redis.ClusterClient)", c)
	}
	switch {
	case !deadlines:
		return "", errors.New("the client of " + name +
			" ignores the deadlines of contexts (set ContextTimeoutEnabled in its options)")
	case retries > 0:
		return "", errors.New("the client of " + name + " retries requests, so that a release whose answer was lost looks like a lost lock (set MaxRetries to -1 in its options)")
	}
	return name, nil
}

// reach is the context of one request to a master. The request's limit starts once it is connected. Connecting has its
// own limit (WithRequestLimit).
type reach struct {
	context.Context
	master *master
	limit  time.Duration
	brief  bool // the limit includes connecting
	began  time.Time

	mu    sync.Mutex
	since time.Time // the limit counts from here
	until time.Time
}

func (m *master) reach(ctx context.Context, limit time.Duration) *reach {
	now := time.Now()
	r := &reach{Context: ctx, master: m, limit: limit, began: now, since: now, until: now.Add(limit)}
	if m.session.lent && m.unanswered() > 0 { // an adopted client does not show whether it has to connect
		r.until = r.until.Add(m.session.opts.limit)
	}
	return r
}

// Deadline implements context.Context. It moves later while a connection is made.
func (r *reach) Deadline() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.Context.Deadline(); ok && d.Before(r.until) {
		return d, true
	}
	return r.until, true
}

// reachKey finds a reach through Value, since clients wrap contexts.
type reachKey struct{}

// Value implements context.Context.
func (r *reach) Value(key any) any {
	if key == (reachKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// restart makes the limit count from now.
func (r *reach) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = time.Now()
	r.until = r.since.Add(r.limit)
}

// connect runs a step of the handshake within the time left for connecting. The request limit then
// counts from its end.
func (r *reach) connect(step func() error) error {
	if r.brief {
		return step()
	}
	r.mu.Lock()
	r.until = r.began.Add(r.master.session.opts.limit)
	r.mu.Unlock()
	defer r.restart()
	return step()
}

// waited returns how long the request could not be sent, because its connection was not made yet or
// its script was unknown.
func (r *reach) waited() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since.Sub(r.began)
}

// took returns the duration of the newest request, from when it could be sent until it was answered
// or given up.
func (m *master) took() time.Duration { return time.Duration(m.newest.Load()) }

// done records the answer, or its absence, and how long that took.
func (r *reach) done(err error) {
	m, took := r.master, int64(time.Since(r.began)-r.waited())
	m.record(err)
	m.newest.Store(took)
	if least := m.least.Load(); answered(err) && (least == 0 || took < least) {
		m.least.Store(took)
	}
}

// connecting runs in the context of a request that needs a new connection.
func connecting(ctx context.Context, step func() error) error {
	if r, ok := ctx.Value(reachKey{}).(*reach); ok {
		return r.connect(step)
	}
	return step()
}

// greets reports whether go-redis sends a command to set a connection up.
func greets(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client":
		return true
	}
	return false
}

const (
	// tripsInTTL round trips have to fit into a TTL: the lock is taken and renewed, each twice if
	// an answer was lost.
	tripsInTTL = 4
	// tripsMeasured are timed before a TTL is refused.
	tripsMeasured = 3
	// limitMost is the default bound for an answer.
	limitMost = time.Second
)

// nearEnough returns an error when too few masters can answer in time for a lock. It measures the
// links before it fails.
func (s *RedisSession) nearEnough(ctx context.Context, o *options, key string) error {
	far := each.Where(s.masters, func(m *master) bool { return m.far(o) != nil })
	if len(s.masters)-len(far) >= s.quorum() {
		return nil
	}
	answers := make(chan error, len(far))
	for _, m := range far {
		s.goDo(func() { answers <- m.measure(o, key) })
	}
	var bad []error
	for range far {
		select {
		case err := <-answers:
			if err != nil {
				bad = append(bad, err)
			}
		case <-ctx.Done():
			return because(ctx)
		}
	}
	if len(s.masters)-len(bad) >= s.quorum() {
		return nil
	}
	return nodeErrors(bad)
}

// measure times a few requests, until one is fast enough for a lock.
func (m *master) measure(o *options, key string) error {
	for range tripsMeasured {
		if _, err := m.readClock(m.session.ctx, key, m.session.opts.limit); err != nil || m.far(o) == nil {
			return nil
		}
	}
	return m.far(o)
}

// far returns an error while no answer of a master has come fast enough for a lock.
func (m *master) far(o *options) error {
	const step = 100 * time.Millisecond
	least, limit := time.Duration(m.least.Load()), o.limitMost()
	took := least.Round(time.Millisecond)
	switch {
	case least*tripsInTTL > o.ttl:
		would := (least * (tripsInTTL + 1)).Truncate(step) + step
		return m.failed(fmt.Errorf("TTL %v is %w: the fastest answer took %v (a TTL of %v would do)", o.ttl,
			ErrTooShort, took, would))
	case least > limit:
		return m.failed(fmt.Errorf("master limit %v is %w: the fastest answer took %v", limit, ErrTooShort, took))
	}
	return nil
}
