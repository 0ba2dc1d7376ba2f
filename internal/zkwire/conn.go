package zkwire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/connect"

	"github.com/go-zookeeper/zk"
)

// tapConn is a connection whose traffic the tap observes. The tap's mutex guards its state.
type tapConn struct {
	net.Conn
	tap    *Tap
	addr   string
	number uint64 // see Tap.Connection

	writing sync.Mutex // held while a request is written, so that go-zookeeper's and ours do not mix
	packet  []byte     // memory for our next request; guarded by writing

	out, in frames
	passed  bytes.Buffer  // frames of in for go-zookeeper; used only by the reader
	buffer  []byte        // for incoming bytes; used only by the reader
	readErr error         // why no more bytes come in; used only by the reader
	asked   time.Time     // read deadline that go-zookeeper wants
	patient time.Duration // the longest that it wanted to wait when it set asked
	heard   time.Time     // when bytes last came in
	before  time.Time     // the previous heard; used only by the reader
	fast    int           // how many times in a row bytes came soon after the previous ones; used only by the reader
	limit   time.Duration // how long a request may go unanswered; 0 means as long as go-zookeeper waits
	hello   time.Time     // when the connect request was sent
	synced  time.Time     // when the newest Sync was sent
	greeted bool          // the connect response is in
	pending []sent        // oldest first
	// what the server has answered, oldest first; the first may be one that the leader has heard of
	marks   []mark
	closed  bool
	refused *connect.RefusedError // why the connection ended, if known
	authed  bool                  // this client's earlier authentications were sent again
	due     []notice              // to be delivered when the tap's mutex is free
	spare   []notice              // the previous due, to reuse its memory
}

// Write records a request and its time before it is sent.
func (c *tapConn) Write(p []byte) (int, error) {
	given := len(p)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.tap.mu.Lock()
	if c.hello.IsZero() {
		p = c.withZxid(p)
	}
	idle := len(c.pending) == 0
	err := c.out.feed(p, time.Now(), c.recordRequest)
	if err == nil && idle && len(c.pending) > 0 {
		c.applyDeadline()
	}
	c.tap.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if _, err := c.Conn.Write(p); err != nil {
		// Only the reader learns of the failure. go-zookeeper (1.0.4, sendData) answers a request
		// whose write failed, and answers it again when it flushes. That blocks forever once its
		// Close has made the requester leave.
		c.Conn.Close()
	}
	return given, nil
}

// Read returns the received bytes without replies to our own requests, which go-zookeeper would
// report as errors. It returns whole frames: those with impossible lengths never reach
// go-zookeeper.
func (c *tapConn) Read(p []byte) (int, error) {
	for c.passed.Len() == 0 {
		if c.readErr != nil {
			return 0, c.readErr
		}
		c.fill()
	}
	n, err := c.passed.Read(p)
	if c.passed.Len() == 0 && c.passed.Cap() > keptPacket {
		c.passed = bytes.Buffer{}
	}
	return n, err
}

// fill reads the next bytes from the connection.
func (c *tapConn) fill() {
	c.tap.mu.Lock()
	if len(c.pending) > 0 {
		c.applyDeadline()
	}
	c.tap.mu.Unlock()
	n, err := c.Conn.Read(c.buffer)
	c.readErr = err
	if n == 0 {
		c.findMisfit()
		return
	}
	c.tap.mu.Lock()
	c.heard = time.Now()
	bad := c.in.feed(c.buffer[:n], c.heard, c.takeFrame)
	if c.passed.Len() == 0 && !c.asked.IsZero() { // for go-zookeeper the server is silent
		if c.asked = c.in.until(c.patient); c.asked.IsZero() {
			c.asked = c.heard.Add(c.patient)
		}
		c.applyDeadline()
	}
	due := c.due
	c.due = c.spare[:0]
	idle := len(c.pending) == 0
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
		c.passed.Reset()
		c.Conn.Close()
		c.findMisfit()
		return
	}
	c.gather(idle)
}

// manyFast is the number of fast reads in a row before gather waits. A single change may cause
// several: its events, and replies to requests about them.
const manyFast = 16

// gather waits for more events. idle means that no request is unanswered.
func (c *tapConn) gather(idle bool) {
	right := idle && c.heard.Sub(c.before) < 2*c.tap.Gather
	c.before = c.heard
	if !right {
		c.fast = 0
	} else if c.fast++; c.fast > manyFast {
		time.Sleep(c.tap.Gather) // limits the rate; waiting for the next event would not
	}
}

// findMisfit looks for the reason why the connection ended before the connect response, or because
// of the server's bytes.
func (c *tapConn) findMisfit() {
	c.tap.mu.Lock()
	greeted, closed := c.greeted, c.closed
	c.tap.mu.Unlock()
	var refused *connect.RefusedError // also from a jump host or proxy
	if closed || !errors.As(c.readErr, &refused) || greeted && !errors.Is(c.readErr, connect.ErrNonsense) {
		return
	}
	c.tap.mu.Lock()
	c.refused = refused
	c.tap.mu.Unlock()
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
		if c.greeted && c.heard.After(since) {
			since = c.heard
		}
		if own := since.Add(c.limit); deadline.IsZero() || own.Before(deadline) {
			deadline = own
		}
	}
	return c.Conn.SetReadDeadline(deadline)
}

// Close also records in the tap that it now has no server, and ends the waits for replies.
func (c *tapConn) Close() error {
	t := c.tap
	t.mu.Lock()
	lost, changed := c.pending, t.onChanged
	c.pending, c.closed = nil, true
	if t.current == c {
		t.current = nil
		t.server = ""
		switch {
		case c.refused != nil:
			t.dialErr = &connect.DialError{Addr: c.addr, Err: c.refused}
		case c.greeted:
		default:
			t.dialErr = &connect.DialError{Addr: c.addr, Err: errSilent}
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

// recordRequest looks at one request. The first one of a connection is the connect request: protocol version,
// last zxid, timeout in ms, session id.
func (c *tapConn) recordRequest(f *frames) error {
	if c.hello.IsZero() {
		c.hello = f.begun
		if len(f.head) >= 24 {
			timeout := time.Duration(int32(binary.BigEndian.Uint32(f.head[12:]))) * time.Millisecond
			limit := max(timeout/3, min(timeout, leastGreetingLimit))
			if binary.BigEndian.Uint64(f.head[16:]) != 0 {
				limit = timeout / 6
			}
			c.setLimit(cmp.Or(c.tap.Greeting, limit))
		}
		c.pending = append(c.pending, sent{at: f.begun})
		return nil
	}
	if len(f.head) < 8 {
		return nil
	}
	xid, op := int32(binary.BigEndian.Uint32(f.head)), int32(binary.BigEndian.Uint32(f.head[4:]))
	c.pending = append(c.pending, sent{xid: xid, op: op, at: f.begun})
	if xid == xidPing {
		c.tap.beats++
		return nil
	}
	c.tap.requests++
	if op == opAuth {
		c.tap.rememberAuth(f)
	}
	return nil
}

// leastGreetingLimit is the minimum time to make a session. It allows for servers that are too
// distant for the timeout, so that this can be reported.
const leastGreetingLimit = time.Second

// setLimit sets how long a server may leave a request unanswered while it sends nothing at all.
// That is a third of the session timeout, or a sixth while a session is being resumed, to leave
// time for another server. 0 means forever.
func (c *tapConn) setLimit(limit time.Duration) { c.limit = max(limit, 0) }

// takeFrame handles one reply, and forwards it if it is for go-zookeeper.
func (c *tapConn) takeFrame(f *frames) error {
	own := c.own(f)
	if err := c.recordReply(f); err != nil {
		return err
	}
	if !own {
		c.passed.Write(f.length[:])
		c.passed.Write(f.head)
	}
	if cap(f.head) > keptPacket {
		f.head = nil
	}
	return nil
}

// recordReply looks at one reply. The first one of a connection is the connect response: protocol version, timeout in
// ms, session id; the others start with xid, zxid and error.
func (c *tapConn) recordReply(f *frames) error {
	if !c.greeted {
		return c.recordGreeting(f)
	}
	if len(f.head) < replyHeader {
		return connect.Nonsense(fmt.Sprintf("its reply has %d bytes, fewer than its header", f.size))
	}
	xid := int32(binary.BigEndian.Uint32(f.head))
	if xid == xidEvent {
		if err := checkEvent(f.head[replyHeader:]); err != nil {
			return err
		}
		c.cameLate(c.tap.ordered)
		c.recordEvent(f.head[replyHeader:])
		return nil
	}
	i := slices.IndexFunc(c.pending, func(s sent) bool { return s.xid == xid })
	if i < 0 { // go-zookeeper may be about to use that number, and would take this for its reply
		return connect.Nonsense(fmt.Sprintf("it answers a request that was not sent, number %d", xid))
	}
	request := c.pending[i]
	code := int32(binary.BigEndian.Uint32(f.head[12:]))
	if code == 0 {
		if err := checkReply(request.op, f.head[replyHeader:]); err != nil {
			return err
		}
	}
	if xid != xidPing && request.op != opSync { // pings and Syncs carry no news
		c.cameLate(request.at)
	}
	// Replies come in order, except that pings are answered at once, ahead of unfinished requests.
	if i == 0 {
		c.pending[0] = sent{}
		c.pending = c.pending[1:]
	} else {
		c.pending = slices.Delete(c.pending, i, i+1)
	}
	if request.reply != nil {
		c.recordOwn(request, f, code)
	}
	c.recordAck(request, code)
	return nil
}

// recordAck counts an answer of a server that keeps the session.
func (c *tapConn) recordAck(request sent, code int32) {
	switch {
	case code == errConnectionLoss, code == errSessionExpired, code == errSessionMoved:
		return
	case request.op == opAuth: // answered without a look at the session (ZooKeeperServer.processPacket)
		return
	}
	c.acknowledged(request)
	if code == 0 && commits(request.op) {
		c.committed(request)
		c.ordered(request)
	}
	if request.op == opSync && code != errThrottled {
		c.ordered(request)
	}
}

func (c *tapConn) recordGreeting(f *frames) error {
	if err := checkGreeting(f.head); err != nil {
		return err
	}
	c.greeted, c.synced = true, c.hello
	c.in.limit = connect.BoundReply
	c.pending = c.pending[min(1, len(c.pending)):]
	id := int64(binary.BigEndian.Uint64(f.head[8:]))
	timeout := time.Duration(int32(binary.BigEndian.Uint32(f.head[4:]))) * time.Millisecond
	t := c.tap
	if t.current != c {
		return nil
	}
	t.dialErr = nil
	if t.onChanged != nil {
		c.due = append(c.due, notice{changed: t.onChanged})
	}
	if id == 0 || timeout <= 0 {
		t.session, t.timeout, t.lastAck, t.committed, t.kept, t.ordered = 0, 0, time.Time{}, time.Time{}, time.Time{},
			time.Time{}
		return nil
	}
	fresh := id != t.session
	if fresh {
		t.lastAck, t.committed, t.kept = time.Time{}, time.Time{}, time.Time{}
	}
	t.session, t.timeout, t.server = id, timeout, c.addr
	c.setLimit(timeout / 3)
	c.marks = []mark{{sent: c.hello}} // the leader has made or resumed it
	c.acknowledged(sent{at: c.hello})
	c.ordered(sent{at: c.hello})
	if fresh { // an old session is resumed by the leader alone, which may be cut off
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
	c.mark(request)
}

// committed counts a request that a quorum has committed.
func (c *tapConn) committed(request sent) {
	if t := c.tap; t.current == c && request.at.After(t.committed) {
		t.committed = request.at
		c.keep(request.at)
	}
}

// ordered counts a request that was answered after all previous changes.
func (c *tapConn) ordered(request sent) {
	if t := c.tap; t.current == c && request.at.After(t.ordered) {
		t.ordered = request.at
	}
}
