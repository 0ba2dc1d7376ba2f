package lockops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockscope/internal/connect"
)

// clientName shows in CLIENT LIST for connections whose options name none.
const clientName = "lockscope"

// dialClient makes a client that sends each request once, within its limit. dials counts its connections: each
// may lead to another server than the one before.
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
	if o.Protocol == 0 {
		o.Protocol = 2 // every server knows it
	}
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

// withName names a connection. go-redis itself would give a connection up whose user may not do that.
func withName(name string, next func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	if name == "" {
		name = clientName
	}
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

// dialHook counts connections and gives their handshake the time for connecting. It makes a failed dial a
// connection that fails when it is used: go-redis prints failed dials to the program's standard error.
type dialHook struct{ dials *atomic.Uint64 }

// DialHook implements redis.Hook.
func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		h.dials.Add(1)
		if err != nil {
			// Not to be unwrapped by go-redis, which takes a layer off what fails while it greets the server.
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

// nodeName is a master in errors.
func nodeName(o *redis.UniversalOptions) string { return strings.Join(o.Addrs, ",") }

// adopted checks that a caller's client repeats no request and keeps to deadlines, and returns its name.
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
		return "", fmt.Errorf("a %T cannot be adopted: its messages come from other servers than its keys (give a *redis.Client or a *redis.ClusterClient)", c)
	}
	switch {
	case !deadlines:
		return "", errors.New("the client of " + name + " ignores the deadlines of contexts (set ContextTimeoutEnabled in its options)")
	case retries > 0:
		return "", errors.New("the client of " + name + " repeats requests by itself, so that a release whose answer was lost looks like a lost lock (set MaxRetries to -1 in its options)")
	}
	return name, nil
}
