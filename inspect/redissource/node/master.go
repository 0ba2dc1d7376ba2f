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

// connections to one master, at most.
const connections = 2

// Master is one Redis master and our connections to it. Half of its many fields are about which client is in use:
// clients come and go with Sentinel, Cluster and reconnects.
type Master struct {
	options redis.UniversalOptions
	timeout time.Duration
	now     func() time.Time
	slots   chan struct{} // a place for each request at the same time
	sent    traffic
	typed   typedKeys
	clock   serverClock
	list    clientList
	servers servers      // of the goroutine that asks for the status
	Silent  atomic.Int32 // 1 while it does not answer

	// borrowed: the client is the caller's, cluster: it is one of a cluster.
	borrowed, cluster bool
	// Of a node of a cluster: keys reads keys, which may move, siblings are all masters of it, this one too.
	keys     redis.UniversalClient
	siblings []*Master

	mu       sync.Mutex
	client   redis.UniversalClient // nil until it is needed
	clientAt []string              // the addresses that it connects to
	// dropped is the newest discarded client, droppedBy the error that caused it.
	dropped   redis.UniversalClient
	droppedBy error
	addr      string // how it is shown; with Sentinel where the master was last found
	// namedAt and formerAt date Sentinel's last answers with this master and with the one before it; zero: none.
	namedAt, formerAt time.Time
	// quickest is the time of the quickest request so far, about the way to the server and back; zero before the first.
	quickest time.Duration
}

// Settings of how a master is asked.
type Settings struct {
	Timeout time.Duration // of a request, the dial included
	Now     func() time.Time
	Named   string // the one key that a user asked for
	Patient bool   // wait to confirm what looks dead: there is no second look
}

// New is a master that is shown as addr. It does not connect.
func New(addr string, options redis.UniversalOptions, s Settings) *Master {
	timeout := s.Timeout
	options.DialTimeout, options.PoolTimeout = timeout, timeout
	options.ReadTimeout, options.WriteTimeout = timeout, timeout
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// Our own slots bound the connections. A pool that is never full starts no goroutine that dials in the background
	// and outlives it.
	options.PoolSize, options.PipelinePoolSize, options.MinIdleConns = 64, -1, 0
	m := &Master{addr: addr, options: options, timeout: timeout, now: s.Now, slots: make(chan struct{}, connections)}
	m.typed.named, m.typed.patient = s.Named, s.Patient
	return m
}

// Join makes the master a node of a cluster: keys reads keys wherever they are, siblings are all its masters.
func (m *Master) Join(keys redis.UniversalClient, siblings []*Master) {
	m.keys, m.siblings = keys, siblings
}

// InCluster reports whether it is a node of a cluster.
func (m *Master) InCluster() bool { return m.keys != nil }

// BySentinel reports whether sentinels say where the master is.
func (m *Master) BySentinel() bool { return m.options.MasterName != "" }

// Traffic returns how many commands and signs of life were sent.
func (m *Master) Traffic() (commands, heartbeats uint64) {
	return m.sent.commands.Load(), m.sent.heartbeats.Load()
}

// IsCluster reports whether these options are of a Redis Cluster.
func IsCluster(o *redis.UniversalOptions) bool {
	return o.IsClusterMode || len(o.Addrs) > 1 && o.MasterName == ""
}

// do runs one request, or one pipeline, within the time limit. A client whose connection failed is thrown away, so
// that the next request dials again.
func (m *Master) do(ctx context.Context, request func(context.Context, redis.UniversalClient) error) error {
	return m.inTurn(ctx, func(ctx context.Context) error {
		client, err := m.connect(ctx)
		if err != nil {
			return err
		}
		asked := m.now()
		err = request(ctx, client)
		if err == nil || redisreply.Is(err) {
			m.took(m.now().Sub(asked))
		} else if !m.borrowed {
			err = m.drop(client, err)
		}
		return err
	})
}

// doKeys is do for a request about keys: of a cluster they may be on another node by now.
func (m *Master) doKeys(ctx context.Context, request func(context.Context, redis.UniversalClient) error) error {
	if m.keys == nil {
		return m.do(ctx, request)
	}
	return m.inTurn(ctx, func(ctx context.Context) error { return request(ctx, m.keys) })
}

// pipelined sends what fill asks for, if anything, in one round trip. An error means that the server answers nothing.
func (m *Master) pipelined(ctx context.Context, fill func(context.Context, redis.Pipeliner)) error {
	return m.do(ctx, pipeline(fill, serverError))
}

// pipelinedKeys is pipelined for questions about keys.
func (m *Master) pipelinedKeys(ctx context.Context, fill func(context.Context, redis.Pipeliner)) error {
	return m.doKeys(ctx, pipeline(fill, m.serverError))
}

func pipeline(
	fill func(context.Context, redis.Pipeliner), failed func(error, []redis.Cmder) error,
) func(context.Context, redis.UniversalClient) error {
	return func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		if fill(ctx, p); p.Len() == 0 {
			return nil
		}
		cmds, err := p.Exec(ctx)
		return failed(err, cmds)
	}
}

// inTurn runs a request once a place for it is free, within the time limit.
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

// way returns the time of the quickest request so far.
func (m *Master) way() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quickest
}

// Address returns the master's name for the screen.
func (m *Master) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// connect is a client of the master; with Sentinel it is first found.
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

// direct are the options of a connection to the master itself, which with Sentinel is found first.
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

// follow drops the connection to a master that the sentinels have replaced.
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

// ReplacedAfter returns the last instant at which the master before the present one was known to be the master; zero:
// there was none.
func (m *Master) ReplacedAfter() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.formerAt
}

// errReplaced ends the requests to a demoted master.
var errReplaced = errors.New("the sentinels name another master")

// drop throws a client away because of an error, and returns that. The other requests on it, which find it
// closed, get the error of the first.
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

// Close ends the connection; a later request makes another.
func (m *Master) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// newClient is a client of one server with the hook on it.
func newClient(o redis.UniversalOptions, hook redis.Hook) *redis.Client {
	client := redis.NewClient(o.Simple())
	client.AddHook(hook)
	return client
}

// User returns our user's name.
func (m *Master) User() string {
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
