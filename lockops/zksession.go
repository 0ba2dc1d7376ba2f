package lockops

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// ZKOption changes a ZooKeeper session.
type ZKOption func(*zkOptions)

type zkOptions struct {
	timeout time.Duration
	tls     *tls.Config
	dialer  func(ctx context.Context, network, addr string) (net.Conn, error)
	auth    []string // digest credentials, user:password
	acl     []zk.ACL // nil means the parent's
	chroot  string
	dials   bool // an option about connecting was given
	clock   clock
}

// WithSessionTimeout asks for a session timeout, default 10 s. The server bounds it to between 2 and 20 of its ticks.
func WithSessionTimeout(timeout time.Duration) ZKOption {
	return func(o *zkOptions) { o.timeout, o.dials = timeout, true }
}

// WithTLS connects with TLS. An empty ServerName is filled in with each server's name.
func WithTLS(config *tls.Config) ZKOption {
	return func(o *zkOptions) { o.tls, o.dials = config, o.dials || config != nil }
}

// WithDialContext replaces the net.Dialer, for a proxy or a tunnel. TLS, if any, runs over the connection that
// dial returns.
func WithDialContext(dial func(ctx context.Context, network, addr string) (net.Conn, error)) ZKOption {
	return func(o *zkOptions) { o.dialer, o.dials = dial, true }
}

// WithDigest authenticates as user by ZooKeeper's digest scheme. The password goes over the wire: use it with TLS.
func WithDigest(user, password string) ZKOption {
	return func(o *zkOptions) { o.auth = append(o.auth, user+":"+password) }
}

// WithACL sets the access list of created nodes. Without it they inherit the list of the directory
// above them, so that a protected tree stays protected; see the package documentation.
func WithACL(acl ...zk.ACL) ZKOption { return func(o *zkOptions) { o.acl = acl } }

// WithChroot puts a path before the paths of all locks of the session.
func WithChroot(path string) ZKOption {
	return func(o *zkOptions) { o.chroot = strings.TrimRight(path, "/") }
}

const (
	defaultSessionTimeout = 10 * time.Second
	maxReplySize          = 4 << 20
	sendBuffer            = 256 << 10 // above the 128 KiB in which go-zookeeper re-arms watches
)

// ZKSession is a session with a ZooKeeper ensemble. It may be shared by any number of locks and goroutines; a lock
// never closes it.
type ZKSession struct {
	conn    *zk.Conn
	tap     *zkwire.Tap
	adopted bool
	servers string
	opts    zkOptions
	clock   clock
	sleep   *sleepClock
	watches zkWatches
	held    heldNodes
	ctx     context.Context // ends with ErrClosed when Close begins
	end     context.CancelCauseFunc
	gone    context.Context // ends when clean-up has to stop
	endGone context.CancelFunc

	mu      sync.Mutex
	closed  bool           // no new Acquire begins
	drained bool           // no new background work begins
	changed chan struct{}  // closed when the connection is made or lost
	work    sync.WaitGroup // added under mu, so never after drained
}

// silent is a zk.Logger that drops everything: the tap reports what matters.
type silent struct{}

func (silent) Printf(string, ...any) {}

// NewZKSession connects to an ensemble given as host:port (port 2181 when left out) and waits until
// it has a session or ctx ends. The error names the servers and why the last of them could not be
// reached. Close ends the session.
func NewZKSession(ctx context.Context, servers []string, opts ...ZKOption) (*ZKSession, error) {
	s := newZKSession(opts)
	s.servers = strings.Join(servers, ",")
	s.tap = &zkwire.Tap{TLS: s.opts.tls, DialContext: s.opts.dialer}
	s.tap.Listen(s.fire, s.recordChange)
	conn, events, err := zk.Connect(servers, s.opts.timeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(new(zkwire.ServerList)), zk.WithLogger(silent{}),
		zk.WithLogInfo(false),
		zk.WithMaxBufferSize(maxReplySize), zk.WithMaxConnBufferSize(sendBuffer))
	if err != nil {
		s.end(ErrClosed)
		s.endGone()
		return nil, fmt.Errorf("zookeeper %s: %w", s.servers, err)
	}
	s.conn = conn
	s.goDo(func() {
		for range events { // unused, since the tap sees more; ends with go-zookeeper
		}
	})
	s.goDo(s.keepHolds)
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newZKSession(opts []ZKOption) *ZKSession {
	o := zkOptions{timeout: defaultSessionTimeout, clock: processClock()}
	for _, opt := range opts {
		opt(&o)
	}
	s := &ZKSession{
		opts: o, clock: o.clock, sleep: newSleepClock(o.clock), changed: make(chan struct{}),
		held: heldNodes{
			holds: make(map[*zkGrant]struct{}), next: o.clock.now().Add(idle),
			wake: make(chan struct{}, 1),
		},
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.gone, s.endGone = context.WithCancel(context.Background())
	return s
}

// start waits for the session and authenticates.
func (s *ZKSession) start(ctx context.Context) error {
	if _, err := s.alive(ctx); err != nil {
		if dialErr := s.tap.DialError(); dialErr != nil {
			why := connect.Reason(dialErr)
			var dial *connect.DialError
			if errors.As(dialErr, &dial) && dial.Addr != s.servers {
				why = dial.Addr + ": " + why
			}
			return worded{fmt.Sprintf("no session with zookeeper %s: %s", s.servers, why), []error{err, dialErr}}
		}
		return fmt.Errorf("no session with zookeeper %s: %w", s.servers, connect.Plain(err))
	}
	for _, credentials := range s.opts.auth {
		answer := make(chan error, 1)
		s.goDo(func() { answer <- s.conn.AddAuth("digest", []byte(credentials)) }) // takes no context
		var err error
		select {
		case err = <-answer:
		case <-ctx.Done():
			err = because(ctx)
		}
		if err != nil {
			return fmt.Errorf("zookeeper %s: authenticate: %w", s.servers, err)
		}
	}
	return s.measure(ctx)
}

// tripsPerTimeout is the number of round trips that must fit into a session timeout. Eight
// heartbeats are sent in it, and a lost connection has to be resumed within a sixth (see
// zkwire.Tap).
const tripsPerTimeout = 8

// measure refuses servers that are too far for the session timeout. It measures again
// before refusing, since a busy machine sometimes answers late.
func (s *ZKSession) measure(ctx context.Context) error {
	session, timeout := s.tap.Session()
	trip := s.tap.Latency()
	for range 5 {
		if trip <= timeout/tripsPerTimeout {
			return nil
		}
		sent := s.clock.now()
		switch _, err := s.call(ctx, session, existsRequest("/")); {
		case err == nil:
			trip = min(trip, s.clock.since(sent))
		case lostInTransit(err) && trip <= timeout/3: // the next connection may take another route
			return nil
		case !lostInTransit(err):
			return fmt.Errorf("no session with zookeeper %s: %w", s.servers, err)
		}
	}
	enough := (trip*tripsPerTimeout*5/4 + 100*time.Millisecond).Truncate(100 * time.Millisecond)
	return fmt.Errorf("zookeeper %s: session timeout %v is %w: "+
		"the fastest answer took %v (a session timeout of %v would do)",
		s.servers, timeout, ErrTooShort, trip.Round(time.Millisecond), enough)
}

// cleanUpLimit bounds how long Close spends removing an adopted connection's nodes.
const cleanUpLimit = 2 * time.Second

// Close ends the session: the ensemble removes its nodes, so that all its locks are free, and its holds are
// lost. It waits for the session's goroutines. On an adopted connection, which stays open, the nodes of all
// its locks are removed instead, for at most 2 s. A second call does nothing.
func (s *ZKSession) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		s.end(ErrClosed)
		s.endHolds() // before the ensemble learns of it and grants the lock to the next
		if s.adopted {
			s.awaitWork(cleanUpLimit)
			s.tap.Listen(nil, nil)
		} else {
			s.conn.Close()
		}
		s.endGone()
		s.mu.Lock()
		s.drained = true
		s.mu.Unlock()
	}
	s.work.Wait()
}

// awaitWork waits for the session's goroutines, but not forever.
func (s *ZKSession) awaitWork(limit time.Duration) {
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// goDo runs f in a goroutine that Close waits for; after Close it does not run.
func (s *ZKSession) goDo(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained {
		return false
	}
	s.work.Go(f)
	return true
}

// enter begins an Acquire, which Close waits for; leave ends it.
func (s *ZKSession) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.work.Add(1)
	return nil
}

func (s *ZKSession) leaveWork() { s.work.Done() }

// recordChange is called by the tap when the connection is made, lost or refused. It runs on
// go-zookeeper's goroutines.
func (s *ZKSession) recordChange() {
	conn := s.tap.Connection()
	s.watches.endOthers(conn)
	if conn != 0 {
		s.held.beatNow()
	}
	s.held.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// alive waits until there is a session and a connection, and returns the session's id, unless ctx or the
// locks' session has ended.
func (s *ZKSession) alive(ctx context.Context) (session int64, err error) {
	switch {
	case ctx.Err() != nil:
		return 0, because(ctx)
	case s.ctx.Err() != nil: // an adopted connection stays open
		return 0, ErrClosed
	}
	return s.aliveUntil(ctx, s.ctx.Done())
}

func (s *ZKSession) aliveUntil(ctx context.Context, closed <-chan struct{}) (session int64, err error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if id, _ := s.tap.Session(); id != 0 && s.tap.Connection() != 0 {
			return id, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, because(ctx)
		case <-closed:
			return 0, ErrClosed
		}
	}
}

// lostInTransit reports whether a request may or may not have been executed, or was not sent. Look
// again when connected.
func lostInTransit(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved)
}

// full returns a lock's path with the session's chroot before it.
func (s *ZKSession) full(path string) string { return s.opts.chroot + path }

// Requests counts the requests that the session has sent, without pings and connect requests.
func (s *ZKSession) Requests() uint64 { return s.tap.Requests() }
