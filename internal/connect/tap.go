package connect

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Tap dials ZooKeeper servers for go-zookeeper and reads along: it learns from the frames what that client does not
// expose (negotiated timeout, acknowledgements and when their requests were sent, dial errors), and it leaves a server
// that accepts and then hangs, on which go-zookeeper alone would wait for several session timeouts. Give each connection
// (zk.Connect) a Tap of its own, with Dial as the zk.Dialer. Methods may be called by any goroutine; the fields must not
// change after the first Dial.
type Tap struct {
	// TLS, when not nil, is the configuration to speak TLS with. An empty ServerName is filled in with the host dialled:
	// use a ServerList, since go-zookeeper's own host provider dials addresses, never names.
	TLS *tls.Config
	// DialContext connects to a server; nil is a net.Dialer's.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// ReadLimit caps how long a server may leave a request unanswered while it sends nothing at all. Zero leaves it at
	// a third of the session timeout (a sixth while a session is being resumed, so that there is time for another server).
	ReadLimit time.Duration
	// ReadOnly lets a server serve us that has no quorum and serves clients that only read (readonlymode.enabled):
	// go-zookeeper's connect request lacks the flag that asks for it.
	ReadOnly bool

	mu        sync.Mutex // guards all below and the tapped connections
	current   *tapConn   // newest connection, nil when closed
	server    string
	dialErr   error
	session   int64
	timeout   time.Duration
	lastAck   time.Time
	committed time.Time
	latency   time.Duration
	requests  uint64
	awaited   map[string][]chan struct{}

	dials     uint64   // connections made so far
	xid       int32    // of the newest request of our own
	zxid      int64    // newest that a reply to one had
	auth      [][]byte // bodies of the authentications of this client
	onEvent   func(path string)
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
	raw, err := t.dial(network, addr, timeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.dialErr = &DialError{addr, err}
		return nil, t.dialErr
	}
	t.dialErr = nil
	t.dials++
	t.current = t.newConn(raw, addr)
	return t.current, nil
}

func (t *Tap) newConn(raw net.Conn, addr string) *tapConn {
	c := &tapConn{
		Conn: raw, tap: t, addr: addr, number: t.dials,
		out:    frames{keep: maxCreatePath + 12, limit: 1<<31 - 1},
		in:     frames{keep: replyHeader, limit: maxConnectReply},
		buffer: make([]byte, leastBuffer),
	}
	c.in.whole, c.in.taken = c.wanted, c.own
	return c
}

func (t *Tap) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx := context.Background() // a zk.Dialer gets no context, only a time limit
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	raw, err := dial(ctx, network, addr)
	if err != nil || t.TLS == nil {
		return raw, err
	}
	config := t.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return conn, nil
}

// Session returns the id and the negotiated timeout of the newest connect response; zeros before the first, and after the
// server reported the session as expired.
func (t *Tap) Session() (id int64, timeout time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout
}

// Server is the address of the server that the session is connected to now, "" when it is connected to none.
func (t *Tap) Server() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server
}

// LastAck is the send time of the newest request, ping or connect request that a server has acknowledged in this session:
// the session cannot expire before LastAck + timeout. It carries a monotonic reading; zero when there is no session.
func (t *Tap) LastAck() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastAck
}

// Lease is Session and LastAck read at one instant.
func (t *Tap) Lease() (id int64, timeout time.Duration, lastAck time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout, t.lastAck
}

// Committed returns the session's id, its negotiated timeout, and when the newest request was sent that a quorum of the
// servers has committed: a change that succeeded, the making of the session, or a multi that only checks. All other
// answers a server may give by itself, also one that is cut off from its leader, or a leader that is cut off from the
// others, while these let the session expire. Zeros when there is no session.
func (t *Tap) Committed() (id int64, timeout time.Duration, sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session, t.timeout, t.committed
}

// Requests counts the requests that were sent, pings and connect requests not counted.
func (t *Tap) Requests() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// DialError of the newest attempt to connect, also when a server accepted and then never answered; nil after a success.
// go-zookeeper only logs it.
func (t *Tap) DialError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialErr
}

// Latency of the newest acknowledged request, ping or connect request, from send to answer; 0 before.
func (t *Tap) Latency() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latency
}

// AwaitCreate returns a channel that is closed when the next request to create path is about to be written: what is
// asked for after that reaches the server behind it, since go-zookeeper sends in order from one goroutine. Paths over
// 1 KiB are not seen. Call stop when the channel no longer matters.
func (t *Tap) AwaitCreate(path string) (written <-chan struct{}, stop func()) {
	ch := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.awaited == nil {
		t.awaited = make(map[string][]chan struct{})
	}
	t.awaited[path] = append(t.awaited[path], ch)
	return ch, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if waiting := t.awaited[path]; slices.Contains(waiting, ch) {
			t.setAwaited(path, slices.Delete(waiting, slices.Index(waiting, ch), slices.Index(waiting, ch)+1))
		}
	}
}

func (t *Tap) setAwaited(path string, waiting []chan struct{}) {
	if len(waiting) == 0 {
		delete(t.awaited, path)
		return
	}
	t.awaited[path] = waiting
}

// Limits on what is read along. go-zookeeper checks the size of replies itself, but not of the connect response, and
// it panics on a reply that is shorter than its header.
const (
	maxConnectReply = 4 << 10
	leastGreeting   = 20 // of a connect response, with an empty password; a server that cannot make a session may send an error
	maxReply        = 1<<31 - 1
	maxCreatePath   = 1 << 10
	maxPending      = 1 << 12 // requests on the wire that are timed; those beyond are not
	// Bytes taken from a connection at once: the buffer grows while what comes fills it.
	leastBuffer = 4 << 10
	maxBuffer   = 128 << 10
)

// ZooKeeper's wire format, as far as it is read along (zookeeper.jute; ZooDefs.OpCode, Watcher and ping xids).
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

var (
	errFrame  = errors.New("zookeeper: the server sent a frame that is none")
	errSilent = errors.New("the server accepted the connection and then closed it or did not answer in time")
)

// sent is a request on the wire.
type sent struct {
	xid, op int32
	at      time.Time
	reply   func(i int, r Reply) // of a request of our own, nil for go-zookeeper's
	i       int
}

// tapConn is a connection that is read along. Its state is guarded by the tap's mutex.
type tapConn struct {
	net.Conn
	tap    *Tap
	addr   string
	number uint64 // among those of the tap

	writing sync.Mutex // held while a request is written: those of go-zookeeper and our own alternate whole

	out, in frames
	buffer  []byte        // for what comes in; the reader's own
	readErr error         // the end of what comes in; the reader's own
	asked   time.Time     // read deadline that go-zookeeper wants
	patient time.Duration // how long it waited at most when it set that
	heard   time.Time     // when bytes last came in
	limit   time.Duration // how long a request may go unanswered; 0: as long as go-zookeeper waits
	hello   time.Time     // when the connect request was sent
	greeted bool          // the connect response is in
	pending []sent        // oldest first
	closed  bool
	authed  bool     // what this client authenticated as before was sent
	due     []notice // to be delivered when the tap's mutex is free
	spare   []notice // the due before, for its memory
}

// Write notes what is sent, and when, before it is sent.
func (c *tapConn) Write(p []byte) (int, error) {
	given := len(p)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.tap.mu.Lock()
	if c.hello.IsZero() {
		p = c.withZxid(p)
		if c.tap.ReadOnly {
			p = withReadOnly(p)
		}
	}
	idle := len(c.pending) == 0
	err := c.out.feed(p, time.Now(), c.noteRequest)
	if err == nil && idle && len(c.pending) > 0 {
		c.applyDeadline()
	}
	c.tap.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if _, err := c.Conn.Write(p); err != nil {
		// Told to the reader only: go-zookeeper (1.0.4, sendData) answers a request whose write failed, and once more when
		// it flushes, for ever where its Close has made that requester leave.
		c.Conn.Close()
	}
	return given, nil
}

// withReadOnly is a connect request with the flag readOnly behind it, which servers take since 3.4 (zookeeper.jute,
// ConnectRequest).
func withReadOnly(p []byte) []byte {
	if len(p) < 4 {
		return p
	}
	p = append(bytes.Clone(p), 1)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

// Read returns what came but replies to requests of our own, which go-zookeeper would complain of. Bytes of a frame that
// cannot be right never reach it.
func (c *tapConn) Read(p []byte) (int, error) {
	for c.in.passed.Len() == 0 {
		if c.readErr != nil {
			return 0, c.readErr
		}
		c.fill()
	}
	return c.in.passed.Read(p)
}

// fill takes in the next bytes.
func (c *tapConn) fill() {
	c.tap.mu.Lock()
	if len(c.pending) > 0 {
		c.applyDeadline()
	}
	c.tap.mu.Unlock()
	n, err := c.Conn.Read(c.buffer)
	c.readErr = err
	if n == 0 {
		return
	}
	c.tap.mu.Lock()
	c.heard = time.Now()
	bad := c.in.feed(c.buffer[:n], c.heard, c.noteReply)
	if c.in.passed.Len() == 0 && !c.asked.IsZero() { // for go-zookeeper the server is silent
		c.asked = c.heard.Add(c.patient)
		c.applyDeadline()
	}
	due := c.due
	c.due = c.spare[:0]
	c.tap.mu.Unlock()
	if n == len(c.buffer) && n < maxBuffer {
		c.buffer = make([]byte, 2*n)
	}
	for i := range due {
		due[i].deliver()
		due[i] = notice{}
	}
	c.spare = due // only this goroutine reads
	if bad != nil {
		c.readErr = bad
		c.in.passed.Reset()
		c.Conn.Close()
	}
}

// SetReadDeadline applies go-zookeeper's deadline or our own, whichever comes first.
func (c *tapConn) SetReadDeadline(deadline time.Time) error {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.asked, c.patient = deadline, time.Until(deadline)
	return c.applyDeadline()
}

// SetDeadline sets both deadlines.
func (c *tapConn) SetDeadline(deadline time.Time) error {
	return errors.Join(c.SetReadDeadline(deadline), c.SetWriteDeadline(deadline))
}

func (c *tapConn) applyDeadline() error {
	deadline := c.asked
	if c.limit > 0 && len(c.pending) > 0 {
		since := c.pending[0].at
		if c.heard.After(since) {
			since = c.heard
		}
		if own := since.Add(c.limit); deadline.IsZero() || own.Before(deadline) {
			deadline = own
		}
	}
	return c.Conn.SetReadDeadline(deadline)
}

// Close also records in the tap that there is no server now, and ends the waits for replies.
func (c *tapConn) Close() error {
	t := c.tap
	t.mu.Lock()
	lost, changed := c.pending, t.onChanged
	c.pending, c.closed = nil, true
	if t.current == c {
		t.current = nil
		t.server = ""
		if !c.greeted {
			t.dialErr = &DialError{c.addr, errSilent}
		}
	}
	t.mu.Unlock()
	err := c.Conn.Close()
	for _, request := range lost {
		if request.reply != nil {
			request.reply(request.i, Reply{Sent: request.at, Err: zk.ErrConnectionClosed})
		}
	}
	if changed != nil {
		changed()
	}
	return err
}

// noteRequest looks at one request. The first one of a connection is the connect request: protocol version, last zxid,
// timeout in ms, session id.
func (c *tapConn) noteRequest(f *frames) error {
	if c.hello.IsZero() {
		c.hello = f.begun
		if len(f.head) >= 24 {
			timeout := time.Duration(int32(binary.BigEndian.Uint32(f.head[12:]))) * time.Millisecond
			share := time.Duration(3)
			if binary.BigEndian.Uint64(f.head[16:]) != 0 {
				share = 6
			}
			c.setLimit(timeout / share)
		}
		c.pending = append(c.pending, sent{at: f.begun})
		return nil
	}
	if len(f.head) < 8 {
		return nil
	}
	xid, op := int32(binary.BigEndian.Uint32(f.head)), int32(binary.BigEndian.Uint32(f.head[4:]))
	if len(c.pending) < maxPending {
		c.pending = append(c.pending, sent{xid: xid, op: op, at: f.begun})
	}
	if xid == xidPing {
		return nil
	}
	c.tap.requests++
	if op == opAuth {
		c.tap.rememberAuth(f)
	}
	if op == opCreate && len(c.tap.awaited) > 0 {
		c.tap.noteCreate(f.head[8:])
	}
	return nil
}

// noteCreate wakes who waits for the create request whose body starts with its path.
func (t *Tap) noteCreate(body []byte) {
	if len(body) < 4 {
		return
	}
	size := int64(int32(binary.BigEndian.Uint32(body)))
	body = body[4:]
	if size < 0 || size > int64(len(body)) {
		return
	}
	path := string(body[:size])
	if waiting := t.awaited[path]; len(waiting) > 0 {
		close(waiting[0])
		t.setAwaited(path, waiting[1:])
	}
}

func (c *tapConn) setLimit(limit time.Duration) {
	c.limit = max(limit, 0)
	if c.tap.ReadLimit > 0 && (c.limit == 0 || c.limit > c.tap.ReadLimit) {
		c.limit = c.tap.ReadLimit
	}
}

// noteReply looks at one reply. The first one of a connection is the connect response: protocol version, timeout in
// ms, session id; the others start with xid, zxid and error.
func (c *tapConn) noteReply(f *frames) error {
	if !c.greeted {
		return c.noteGreeting(f)
	}
	if len(f.head) < replyHeader {
		return errFrame
	}
	xid := int32(binary.BigEndian.Uint32(f.head))
	if xid == xidEvent {
		c.noteEvent(f.head[16:])
		return nil
	}
	i := slices.IndexFunc(c.pending, func(s sent) bool { return s.xid == xid })
	if i < 0 {
		return nil
	}
	request := c.pending[i]
	// Replies come in order. Pings are answered at once, before what is still being worked on.
	c.pending = slices.Delete(c.pending, i, i+1)
	code := int32(binary.BigEndian.Uint32(f.head[12:]))
	if request.reply != nil {
		c.noteOwn(request, f, code)
	}
	switch code {
	case errConnectionLoss, errSessionExpired, errSessionMoved: // answered, but not by a server that keeps the session
		return nil
	}
	c.acknowledged(request)
	if code == 0 && commits(request.op) {
		c.committed(request)
	}
	return nil
}

func (c *tapConn) noteGreeting(f *frames) error {
	if len(f.head) < 16 || f.size < leastGreeting {
		return errFrame
	}
	c.greeted = true
	c.in.limit = maxReply
	c.pending = c.pending[:0]
	id := int64(binary.BigEndian.Uint64(f.head[8:]))
	timeout := time.Duration(int32(binary.BigEndian.Uint32(f.head[4:]))) * time.Millisecond
	t := c.tap
	if t.current != c {
		return nil
	}
	if t.onChanged != nil {
		c.due = append(c.due, notice{changed: t.onChanged})
	}
	if id == 0 || timeout <= 0 {
		t.session, t.timeout, t.lastAck, t.committed = 0, 0, time.Time{}, time.Time{}
		return nil
	}
	fresh := id != t.session
	if fresh {
		t.lastAck, t.committed = time.Time{}, time.Time{}
	}
	t.session, t.timeout, t.server = id, timeout, c.addr
	c.setLimit(timeout / 3)
	c.acknowledged(sent{at: c.hello})
	if fresh { // an old session's is resumed by the leader alone, which may be cut off
		c.committed(sent{at: c.hello})
	}
	return nil
}

func (c *tapConn) acknowledged(request sent) {
	t := c.tap
	if t.current != c {
		return
	}
	if request.at.After(t.lastAck) {
		t.lastAck = request.at
	}
	t.latency = c.heard.Sub(request.at)
}

// committed counts a request that a quorum has committed.
func (c *tapConn) committed(request sent) {
	if t := c.tap; t.current == c && request.at.After(t.committed) {
		t.committed = request.at
	}
}
