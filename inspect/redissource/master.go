package redissource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockscope/inspect"
	"lockscope/internal/connect"
)

// connections is how many connections to one master there are at most.
const connections = 2

// master is one Redis master and our connections to it.
type master struct {
	options redis.UniversalOptions
	timeout time.Duration
	slots   chan struct{} // a place for each request at the same time
	sent    traffic
	digests digests
	typed   typedKeys
	// borrowed: the client is somebody else's, cluster: it is one of a cluster.
	borrowed, cluster bool
	offset            atomic.Int64 // the server's clock minus ours, in nanoseconds
	// clock is why that is not known; nil when it is.
	clock atomic.Pointer[inspect.Unseen]
	// listRefused is why it is not known who is connected, who is not asked for before listAfter; of the goroutine that asks
	// for the status.
	listRefused *inspect.Unseen
	listAfter   time.Time

	mu     sync.Mutex
	client redis.UniversalClient // nil until it is needed
	// clientAt is where it connects to.
	clientAt []string
	addr     string // how it is shown; with Sentinel where the master was last found
}

func newMaster(addr string, options redis.UniversalOptions, timeout time.Duration) *master {
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = timeout, timeout, timeout, timeout
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// Our own slots bound the connections. A pool that is never full starts no goroutine that dials in the background
	// and outlives it.
	options.PoolSize, options.PipelinePoolSize, options.MinIdleConns = 64, -1, 0
	return &master{addr: addr, options: options, timeout: timeout, slots: make(chan struct{}, connections)}
}

// isCluster says that the master is a cluster of them.
func (m *master) isCluster() bool {
	return m.cluster || m.options.IsClusterMode || len(m.options.Addrs) > 1 && m.options.MasterName == ""
}

// do runs one request, or one pipeline, within the time limit. A client whose connection failed is thrown away, so
// that the next request dials again.
func (m *master) do(ctx context.Context, request func(context.Context, redis.UniversalClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return m.explain(ctx.Err())
	}
	client, err := m.connect(ctx)
	if err != nil {
		return fmt.Errorf("master %s: %w", m.address(), err)
	}
	err = request(ctx, client)
	if err != nil && !isReply(err) && !m.borrowed {
		m.drop(client)
	}
	return m.explain(err)
}

// address is how the master is shown.
func (m *master) address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// connect is a client of the master; with Sentinel it is first found.
func (m *master) connect(ctx context.Context) (redis.UniversalClient, error) {
	m.mu.Lock()
	client := m.client
	m.mu.Unlock()
	if client != nil {
		return client, nil
	}
	options, err := m.direct(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		m.client, m.clientAt = newClient(options, readOnly{&m.sent}), options.Addrs
	}
	return m.client, nil
}

// direct are the options of a connection to the master itself, which with Sentinel is found first.
func (m *master) direct(ctx context.Context) (redis.UniversalOptions, error) {
	o := m.options
	if o.MasterName == "" {
		return o, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	addr, err := connect.SentinelMaster(ctx, o, readOnly{&m.sent})
	if err != nil {
		return o, err
	}
	m.mu.Lock()
	m.addr = addr
	m.mu.Unlock()
	o.Addrs, o.MasterName = []string{addr}, ""
	return o, nil
}

// follow drops the connection to a master that the sentinels have replaced.
func (m *master) follow(ctx context.Context) {
	if m.options.MasterName == "" {
		return
	}
	now, err := m.direct(ctx)
	if err != nil {
		return // whoever reads will tell
	}
	m.mu.Lock()
	client := m.client
	replaced := client != nil && !slices.Equal(m.clientAt, now.Addrs)
	m.mu.Unlock()
	if replaced {
		m.drop(client)
	}
}

func (m *master) drop(client redis.UniversalClient) {
	m.mu.Lock()
	if m.client == client {
		m.client = nil
	}
	m.mu.Unlock()
	client.Close()
}

func (m *master) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// newClient is redis.NewUniversalClient with the hook on every client that sends commands, a cluster's nodes included.
func newClient(o redis.UniversalOptions, hook redis.Hook) redis.UniversalClient {
	var client redis.UniversalClient
	switch {
	case o.MasterName != "":
		client = redis.NewFailoverClient(o.Failover())
	case len(o.Addrs) > 1 || o.IsClusterMode:
		cluster := o.Cluster()
		cluster.NewClient = func(node *redis.Options) *redis.Client {
			c := redis.NewClient(node)
			c.AddHook(hook)
			return c
		}
		// Commands are checked, and counted, on the nodes; nothing goes around them.
		return redis.NewClusterClient(cluster)
	default:
		client = redis.NewClient(o.Simple())
	}
	client.AddHook(hook)
	return client
}

// eachNode runs f on the master, or on each master of a cluster, one after the other.
func eachNode(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.Cmdable) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	var mu sync.Mutex
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		return f(ctx, c)
	})
}

// isReply says that the server answered, if only with an error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// Errors of replies by their first word.
func isDenied(err error) bool    { return replyStarts(err, "NOPERM") }
func isWrongType(err error) bool { return replyStarts(err, "WRONGTYPE") }
func isLogin(err error) bool     { return replyStarts(err, "NOAUTH", "WRONGPASS") }

func replyStarts(err error, words ...string) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, w := range words {
		if strings.HasPrefix(reply.Error(), w) {
			return true
		}
	}
	return false
}

// user is who we are to the server.
func (m *master) user() string {
	if m.options.Username == "" {
		return "default"
	}
	return m.options.Username
}

// late is the error of a request that took too long.
type late struct {
	limit time.Duration
	err   error
}

func (l late) Error() string { return fmt.Sprintf("no answer within %v", l.limit) }
func (l late) Unwrap() error { return l.err }

// explain names the master, and the user where the login failed; never a password.
func (m *master) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isLogin(err):
		advice := "check LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD"
		return fmt.Errorf("master %s: user %q: the server refused the login: %w (%s)", m.address(), m.user(), err, advice)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("master %s: %w", m.address(), late{m.timeout, err})
	default:
		return fmt.Errorf("master %s: %w", m.address(), connect.Plain(err))
	}
}
