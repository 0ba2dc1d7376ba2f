package zkwire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
)

// Tap dials ZooKeeper servers for go-zookeeper and observes the traffic. It learns from the frames
// what that client does not expose: the negotiated timeout, acknowledgements and when their
// requests were sent, and dial errors. It also abandons a server that accepts and then hangs, on
// which go-zookeeper alone would wait for several session timeouts. Give each connection
// (zk.Connect) its own Tap, with Dial as the zk.Dialer. Methods may be called by any goroutine. The
// fields must not change after the first Dial.
type Tap struct {
	// TLS, when not nil, is the configuration to speak TLS with. An empty ServerName is filled in with the
	// host dialled: use a ServerList, since go-zookeeper's own host provider dials addresses, never names.
	TLS *tls.Config
	// DialContext connects to a server; nil uses a net.Dialer.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// Greeting is how long a server that has accepted a connection may take to make or resume the
	// session. 0 means a third of the session's timeout, and at least a second, to make one, and a
	// sixth to resume one. A tunnel (see connect.Via) accepts before it has reached the server.
	Greeting time.Duration
	// Gather is how long events are collected once many in a row came less than twice Gather apart
	// with no request unanswered. Fast changes then wake their reader once per Gather. 0 delivers
	// each event at once.
	Gather time.Duration
	// Context ends attempts to connect that are under way; nil is one that never ends.
	Context context.Context

	mu        sync.Mutex // guards all below and the tapped connections
	current   *tapConn   // newest connection, nil when closed
	server    string
	dialErr   error
	session   int64
	timeout   time.Duration
	lastAck   time.Time
	committed time.Time
	kept      time.Time // see Kept
	ordered   time.Time // see Ordered
	latency   time.Duration
	requests  uint64
	beats     uint64
	late      interval

	dials     uint64        // connections made so far
	patience  time.Duration // of the next attempt to connect; see dialLimit
	xid       int32         // of the newest request of our own
	zxid      int64         // the newest zxid in a reply to one
	auth      [][]byte      // bodies of the authentications of this client
	shown     bool          // a server has asked for our certificate and got it
	onEvent   func(path string, what zk.EventType)
	onChanged func()
}

// Dial is a zk.Dialer: it connects to addr, speaks TLS if configured, and taps the connection.
func (t *Tap) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	t.mu.Lock()
	stale := t.current
	t.mu.Unlock()
	if stale != nil {
		stale.Close() // go-zookeeper forgets the connection on which it learnt that its session has expired
	}
	limit := t.dialLimit(timeout)
	begun := time.Now()
	raw, err := t.dial(network, addr, limit)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.patience = 2 * time.Since(begun)
	if err != nil {
		t.dialErr = &connect.DialError{Addr: addr, Err: err}
		return nil, t.dialErr
	}
	t.dials++
	t.current = t.newConn(raw, addr)
	return t.current, nil
}

// mostPatience bounds the time for one attempt to connect.
const mostPatience = 10 * time.Second

// dialLimit is the time for the next attempt to connect: the second that go-zookeeper allows is too
// short for some routes (TLS, tunnels, other continents). So each attempt may take twice as long as
// the previous one took, or was given.
func (t *Tap) dialLimit(given time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(given, min(t.patience, mostPatience))
}

func (t *Tap) newConn(raw net.Conn, addr string) *tapConn {
	c := &tapConn{
		Conn: raw, tap: t, addr: addr, number: t.dials,
		out:    frames{keep: maxRequest + 12, limit: 1<<31 - 1},
		in:     frames{keep: connect.BoundReply, limit: maxConnectReply},
		buffer: make([]byte, leastBuffer),
	}
	return c
}

func (t *Tap) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx := t.context() // a zk.Dialer gets none, only a time limit
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if t.TLS == nil {
		return t.plain(ctx, network, addr)
	}
	return t.secure(ctx, network, addr)
}

func (t *Tap) context() context.Context {
	if t.Context == nil {
		return context.Background()
	}
	return t.Context
}

// plain connects without TLS.
func (t *Tap) plain(ctx context.Context, network, addr string) (net.Conn, error) {
	if t.DialContext != nil {
		return t.DialContext(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// secure connects with TLS.
func (t *Tap) secure(ctx context.Context, network, addr string) (net.Conn, error) {
	config := connect.WithShown(t.TLS, func(*tls.Certificate) {
		t.mu.Lock()
		t.shown = true
		t.mu.Unlock()
	})
	conn, err := connect.Handshake(ctx, t.plain, config, network, addr)
	if err != nil && !connect.NotDialled(err) {
		err = fmt.Errorf("TLS: %w", err)
	}
	return conn, err
}

// Session returns the id and the negotiated timeout of the newest connect response; zeros before the first,
// and after the server reported its expiry.
func (t *Tap) Session() (id int64, timeout time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout
}

// Server returns the address of the server that the session is connected to now; "" if none.
func (t *Tap) Server() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server
}

// Connection returns the number of the connection that has the session now, as in Reply.Conn; 0 if
// none. Watches and other state of a connection end when this number changes.
func (t *Tap) Connection() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.server == "" || t.current == nil {
		return 0
	}
	return t.current.number
}

// Lease is Session with the send time of the newest request, ping or connect request that a server has
// acknowledged in this session. The session cannot expire before lastAck + timeout. lastAck has a
// monotonic reading; zero if there is no session.
func (t *Tap) Lease() (id int64, timeout time.Duration, lastAck time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout, t.lastAck
}

// Committed returns the session's id, its negotiated timeout, and the send time of the newest
// request that a quorum of the servers has committed. That is a change that succeeded, the making
// of the session, or a multi that only checks. A server may give any other answer on its own. It
// may be cut off from its leader, or be a leader cut off from the others, while these let the
// session expire. Zeros if there is no session.
func (t *Tap) Committed() (id int64, timeout time.Duration, sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout, t.committed
}

// Kept returns the session's id, its negotiated timeout, and a time at or after which its leader
// has certainly heard of it. The session cannot expire before since + timeout. Zeros when there is
// no session.
//
// A leader does not hear of a session through the requests that it commits (LearnerHandler,
// REQUEST). It hears of it when the session is made or resumed, and from the followers' answers to
// its pings. These come every half tick, which is a quarter of the timeout at most. So a commit
// proves that the leader has heard of whatever the same server had answered a quarter of the
// timeout before the request was sent.
func (t *Tap) Kept() (id int64, timeout time.Duration, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout, t.kept
}

// Requests counts the requests that were sent, pings and connect requests not counted.
func (t *Tap) Requests() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// DialError returns the error of the newest failed attempt to connect, including a server that
// accepted and then never answered; nil once there is a session. go-zookeeper only logs it.
func (t *Tap) DialError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialErr
}

// Latency is the time from sending the newest acknowledged request, ping or connect request to its
// answer; 0 before the first answer.
func (t *Tap) Latency() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latency
}

// Limits for observing the traffic.
const (
	maxConnectReply = 4 << 10
	maxRequest      = 1 << 10 // kept bytes of one: longer authentications are not repeated
	// Bytes taken from a connection at once: the buffer grows while the data fills it.
	leastBuffer = 4 << 10
	maxBuffer   = 128 << 10
)

// The part of ZooKeeper's wire format that is observed (zookeeper.jute; ZooDefs.OpCode, Watcher and
// ping xids).
const (
	replyHeader = 16 // bytes: xid, zxid, error

	opCreate = 1
	opAuth   = 100
	xidEvent = -1
	xidPing  = -2

	errConnectionLoss = -4
	errSessionExpired = -112
	errSessionMoved   = -118
	errThrottled      = -127
)

var errSilent = errors.New("the server accepted the connection and then closed it or did not answer in time")

// sent is a request on the wire.
type sent struct {
	xid, op int32
	at      time.Time
	reply   func(i int, r Reply) // of a request of our own, nil for go-zookeeper's
	i       int
}
