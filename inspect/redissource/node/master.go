package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// connections limits the connections to one master.
const connections = 2

// Master is one Redis master and our connections to it. Many fields track the current client, since
// clients come and go with Sentinel, Cluster and reconnects.
type Master struct {
	options redis.UniversalOptions
	timeout time.Duration
	now     func() time.Time
	slots   chan struct{} // limits the requests in flight
	sent    traffic
	typed   typedKeys
	clock   serverClock
	list    clientList
	servers servers      // belongs to the goroutine that reads the status
	Silent  atomic.Int32 // 1 while it does not answer

	borrowed, cluster bool // the client belongs to the caller; it is for a whole cluster
	// For cluster nodes: keys reads keys, which may move; siblings are all masters of the
	// cluster, this one included.
	keys     redis.UniversalClient
	siblings []*Master

	mu       sync.Mutex
	client   redis.UniversalClient // nil until it is needed
	clientAt []string              // the addresses of client
	// dropped is the last discarded client; droppedBy is the error that caused it.
	dropped   redis.UniversalClient
	droppedBy error
	addr      string // the displayed address; with Sentinel, the master's last address
	// namedAt and formerAt are when Sentinel last named this master and the previous one; zero if
	// never.
	namedAt, formerAt time.Time
	// quickest is the time of the fastest request so far, roughly the round-trip time; zero before
	// the first.
	quickest time.Duration
}

// Settings configures the requests to a master.
type Settings struct {
	Timeout time.Duration // of a request, the dial included
	Now     func() time.Time
	Named   string // the one key that a user asked for
	Patient bool   // wait to confirm dead entries, since there is no later read
}

// New returns a master that is displayed as addr. It does not connect.
func New(addr string, options redis.UniversalOptions, s Settings) *Master {
	timeout := s.Timeout
	options.DialTimeout, options.PoolTimeout = timeout, timeout
	options.ReadTimeout, options.WriteTimeout = timeout, timeout
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// Our own slots bound the connections. A pool that never fills starts no background dials
	// that outlive it.
	options.PoolSize, options.PipelinePoolSize, options.MinIdleConns = 64, -1, 0
	m := &Master{addr: addr, options: options, timeout: timeout, now: s.Now, slots: make(chan struct{}, connections)}
	m.typed.named, m.typed.patient = s.Named, s.Patient
	return m
}

// Join makes the master a cluster node. keys reads keys on any node; siblings are all masters of
// the cluster.
func (m *Master) Join(keys redis.UniversalClient, siblings []*Master) {
	m.keys, m.siblings = keys, siblings
}

// InCluster reports whether the master is a cluster node.
func (m *Master) InCluster() bool { return m.keys != nil }

// BySentinel reports whether the master is located through Sentinel.
func (m *Master) BySentinel() bool { return m.options.MasterName != "" }

// Traffic returns the numbers of commands and heartbeats sent.
func (m *Master) Traffic() (commands, heartbeats uint64) {
	return m.sent.commands.Load(), m.sent.heartbeats.Load()
}

// IsCluster reports whether the options are for a Redis Cluster.
func IsCluster(o *redis.UniversalOptions) bool {
	return o.IsClusterMode || len(o.Addrs) > 1 && o.MasterName == ""
}

// do runs one request or pipeline within the time limit. It discards a client whose connection
// failed, so that the next request dials again.
func (m *Master) do(ctx context.Context, request func(context.Context, redis.UniversalClient) error) error {
	return m.inTurn(ctx, func(ctx context.Context) error {
		client, err := m.connect(ctx)
		if err != nil {
			return err
		}
		asked := m.now()
		err = request(ctx, client)
		switch {
		case errors.Is(err, errNothingSent):
			return nil
		case err == nil || redisreply.Is(err):
			m.took(m.now().Sub(asked))
		case !m.borrowed:
			return m.drop(client, err)
		}
		return err
	})
}

// doKeys is do for a request about keys, which in a cluster may have moved to another node.
func (m *Master) doKeys(ctx context.Context, request func(context.Context, redis.UniversalClient) error) error {
	if m.keys == nil {
		return m.do(ctx, request)
	}
	return m.inTurn(ctx, func(ctx context.Context) error {
		if err := request(ctx, m.keys); !errors.Is(err, errNothingSent) {
			return err
		}
		return nil
	})
}

// errNothingSent is what an empty pipeline returns: it says nothing about the way to the server.
var errNothingSent = errors.New("nothing was sent")

// pipelined sends the commands that fill queues, if any, in one round trip. An error means that the
// server cannot be read.
func (m *Master) pipelined(ctx context.Context, fill func(context.Context, redis.Pipeliner)) error {
	return m.do(ctx, pipeline(fill, serverError))
}

// pipelinedKeys is pipelined for commands about keys.
func (m *Master) pipelinedKeys(ctx context.Context, fill func(context.Context, redis.Pipeliner)) error {
	return m.doKeys(ctx, pipeline(fill, m.serverError))
}

func pipeline(
	fill func(context.Context, redis.Pipeliner), failed func(error, []redis.Cmder) error,
) func(context.Context, redis.UniversalClient) error {
	return func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		if fill(ctx, p); p.Len() == 0 {
			return errNothingSent
		}
		cmds, err := p.Exec(ctx)
		return failed(err, cmds)
	}
}

// inTurn waits for a free slot and runs a request, within the time limit.
func (m *Master) inTurn(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return m.explain(ctx.Err())
	}
	return m.explain(request(ctx))
}

// took records the duration of a request.
func (m *Master) took(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quickest == 0 || d < m.quickest {
		m.quickest = d
	}
}

// way returns the duration of the fastest request so far.
func (m *Master) way() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quickest
}

// Address returns the displayed name of the master.
func (m *Master) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// connect returns a client for the master. With Sentinel, it locates the master first.
func (m *Master) connect(ctx context.Context) (redis.UniversalClient, error) {
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

// direct returns the options for a direct connection to the master. With Sentinel, it locates the
// master first.
func (m *Master) direct(ctx context.Context) (redis.UniversalOptions, error) {
	o := m.options
	if o.MasterName == "" {
		return o, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	asked := m.now()
	addr, err := connect.SentinelMaster(ctx, o, readOnly{&m.sent})
	if err != nil {
		return o, err
	}
	m.mu.Lock()
	if addr != m.addr {
		m.formerAt = m.namedAt
	}
	m.addr, m.namedAt = addr, asked
	m.mu.Unlock()
	o.Addrs, o.MasterName = []string{addr}, ""
	return o, nil
}

// follow drops the connection to a master that Sentinel has replaced.
func (m *Master) follow(ctx context.Context) {
	if m.options.MasterName == "" {
		return
	}
	now, err := m.direct(ctx)
	if err != nil {
		return // the next read reports it
	}
	m.mu.Lock()
	client := m.client
	replaced := client != nil && !slices.Equal(m.clientAt, now.Addrs)
	m.mu.Unlock()
	if replaced {
		_ = m.drop(client, errReplaced)
	}
}

// ReplacedAfter returns when the previous master was last known to be the master; zero if there
// was none.
func (m *Master) ReplacedAfter() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.formerAt
}

// errReplaced ends requests to a demoted master.
var errReplaced = errors.New("the sentinels name another master")

// drop discards a client because of an error. It returns the error that first discarded the
// client, since other requests only find it closed.
func (m *Master) drop(client redis.UniversalClient, why error) error {
	m.mu.Lock()
	if m.client == client {
		m.client, m.dropped, m.droppedBy = nil, client, why
	}
	if m.dropped == client && (errors.Is(why, net.ErrClosed) || errors.Is(why, redis.ErrClosed)) {
		why = m.droppedBy
	}
	m.mu.Unlock()
	client.Close()
	return why
}

// Close closes the connection. A later request opens a new one.
func (m *Master) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// newClient returns a client for one server, with the hook installed.
func newClient(o redis.UniversalOptions, hook redis.Hook) *redis.Client {
	client := redis.NewClient(o.Simple())
	client.AddHook(hook)
	return client
}

// User returns the user name that we log in with.
func (m *Master) User() string {
	if m.options.Username == "" {
		return "default"
	}
	return m.options.Username
}

// late is the error of a request that timed out.
type late struct {
	limit time.Duration
	err   error
}

func (l late) Error() string { return fmt.Sprintf("no answer within %v", l.limit) }
func (l late) Unwrap() error { return l.err }

// explain adds the master to an error, and the user if the login failed. It never adds a
// password.
func (m *Master) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case redisreply.Login(err):
		advice := "check the profile's username and password_file, password_command or password, or " +
			"LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD"
		return fmt.Errorf("master %s: user %q: the server refused the login: %w (%s)",
			m.Address(), m.User(), err, advice)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("master %s: %w", m.Address(), late{m.timeout, err})
	default:
		return fmt.Errorf("master %s: %w", m.Address(), connect.Plain(err))
	}
}
