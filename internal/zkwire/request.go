package zkwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// Request is our own request to a ZooKeeper server, over go-zookeeper's connection. That client
// never uses its xid or sees its reply. Requests reach operations that go-zookeeper lacks, several
// can be in flight, and the send time of each is known.
type Request struct {
	Op   int32 // ZooDefs.OpCode
	Body []byte
}

// Reply is the answer to a Request.
type Reply struct {
	Sent time.Time // just before the request was written, with a monotonic reading; zero if it was not
	Zxid int64     // of the server's newest change
	Conn uint64    // number of the connection that it came over, from 1; 0 if there was none
	Err  error     // of package zk; after ErrConnectionClosed, the request may have been executed
	Body []byte    // without the header; the receiver may keep it
}

// The operations of ZooDefs.OpCode that change something, and so are committed by a quorum. A multi may contain
// only checks.
const (
	opDelete          = 2
	opSetData         = 5
	opSetACL          = 7
	opMulti           = 14
	opCreate2         = 15
	opCreateContainer = 19
	opCreateTTL       = 21
)

// opSync makes the leader answer after all previous changes.
const opSync = 9

// The other operations whose replies go-zookeeper decodes.
const (
	opExists       = 3
	opGetACL       = 6
	opGetChildren2 = 12
	opCheck        = 13
	opReconfig     = 16
)

// commits reports whether a successful reply to an operation proves that a quorum has committed it.
func commits(op int32) bool {
	switch op {
	case opCreate, opDelete, opSetData, opSetACL, opMulti, opCreate2, opCreateContainer, opCreateTTL:
		return true
	}
	return false
}

// Xids of our own requests: go-zookeeper counts up from 1, and 0 to -8 are reserved.
const (
	firstXid = -1000
	lastXid  = math.MinInt32
)

const (
	// maxOwnReply is the longest accepted reply to a request of our own.
	maxOwnReply = 4 << 20
	// keptPacket is the longest packet whose memory is kept for the next.
	keptPacket = 64 << 10
	// keptReply is the longest reply that is copied. A longer one is passed on without copying.
	keptReply = 4 << 10
)

// Listen calls event with the path of each watch that fires, and why, including those that
// go-zookeeper has set. Events come in order with the replies to Send. go-zookeeper's own
// callback may get them after later replies. Listen calls changed once a connection has been made,
// lost, or refused because the session has expired. Both run on a goroutine of go-zookeeper: they
// must not block, but may call Send, whose write has a time limit.
func (t *Tap) Listen(event func(path string, what zk.EventType), changed func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onEvent, t.onChanged = event, changed
}

// Send writes requests in one go, to be executed in order by the server that the session with this
// id is connected to. reply is called once for each, with its index, on a goroutine of go-zookeeper
// or the caller. It must not block, but may call Send. If there is no such connection, nothing is
// sent. All get zk.ErrNoServer, or zk.ErrSessionExpired if the session is a different one.
func (t *Tap) Send(session int64, reply func(i int, r Reply), requests ...Request) {
	t.mu.Lock()
	c := t.current
	t.mu.Unlock()
	err := zk.ErrNoServer
	if c != nil {
		err = c.send(&t.requests, session, reply, requests)
	}
	if err != nil {
		for i := range requests {
			reply(i, Reply{Err: err})
		}
	}
}

// send writes the requests, or returns an error if it sent nothing. counter belongs to the tap.
func (c *tapConn) send(counter *uint64, session int64, reply func(i int, r Reply), requests []Request) error {
	t := c.tap
	c.writing.Lock()
	defer c.writing.Unlock()
	t.mu.Lock()
	switch {
	case t.session != session:
		t.mu.Unlock()
		return zk.ErrSessionExpired
	case t.current != c || !c.greeted || c.closed:
		t.mu.Unlock()
		return zk.ErrNoServer
	}
	size := 0
	for _, r := range requests {
		size += 12 + len(r.Body)
	}
	packet := slices.Grow(c.packet[:0], size)
	now := time.Now()
	idle := len(c.pending) == 0
	if !c.authed {
		c.authed = true
		for _, body := range t.auth {
			packet = c.add(packet, Request{opAuth, body}, sent{at: now, reply: func(int, Reply) {}})
		}
	}
	for i, r := range requests {
		packet = c.add(packet, r, sent{at: now, reply: reply, i: i})
	}
	*counter += uint64(len(requests))
	if idle {
		_ = c.applyDeadline() // if this fails, so does the write
	}
	limit := c.limit
	t.mu.Unlock()
	if limit > 0 {
		_ = c.SetWriteDeadline(now.Add(limit))
	}
	if len(packet) <= keptPacket {
		c.packet = packet
	}
	if _, err := c.Conn.Write(packet); err != nil {
		_ = c.Close() // ends the waits for replies
	}
	return nil
}

// add appends a request's frame to a packet.
func (c *tapConn) add(packet []byte, r Request, s sent) []byte {
	t := c.tap
	if t.xid > firstXid || t.xid == lastXid {
		t.xid = firstXid + 1
	}
	t.xid--
	s.xid, s.op = t.xid, r.Op
	c.pending = append(c.pending, s)
	packet = binary.BigEndian.AppendUint32(packet, uint32(8+len(r.Body)))
	packet = binary.BigEndian.AppendUint32(packet, uint32(t.xid))
	packet = binary.BigEndian.AppendUint32(packet, uint32(r.Op))
	return append(packet, r.Body...)
}

// own reports whether a frame is the reply to a request of our own, which go-zookeeper would log as
// unknown.
func (c *tapConn) own(f *frames) bool {
	return c.greeted && len(f.head) >= replyHeader && int32(binary.BigEndian.Uint32(f.head)) <= firstXid
}

// recordOwn passes on the reply to a request of our own.
func (c *tapConn) recordOwn(request sent, f *frames, code int32) {
	r := Reply{
		Sent: request.at, Zxid: int64(binary.BigEndian.Uint64(f.head[4:])), Conn: c.number,
		Err: replyError(code),
	}
	switch {
	case f.size > maxOwnReply:
		r.Err = fmt.Errorf("%w: %d bytes", ErrTooLong, f.size)
	case len(f.head) > keptReply:
		r.Body = f.handOver()[replyHeader:]
	case len(f.head) > replyHeader:
		r.Body = bytes.Clone(f.head[replyHeader:])
	}
	c.tap.zxid = max(c.tap.zxid, r.Zxid)
	c.due = append(c.due, notice{reply: request.reply, i: request.i, r: r})
}

// recordEvent passes on a watch event: type, state, path.
func (c *tapConn) recordEvent(body []byte) {
	t := c.tap
	if t.onEvent == nil {
		return
	}
	d := NewDecoder(body)
	what, _ := zk.EventType(d.Int()), d.Int()
	c.due = append(c.due, notice{event: t.onEvent, path: string(d.Buffer()), what: what})
}

// notice carries a reply, an event or a change to its callback.
type notice struct {
	reply   func(i int, r Reply)
	i       int
	r       Reply
	event   func(path string, what zk.EventType)
	path    string
	what    zk.EventType
	changed func()
}

func (n *notice) deliver() {
	switch {
	case n.reply != nil:
		n.reply(n.i, n.r)
	case n.event != nil:
		n.event(n.path, n.what)
	case n.changed != nil:
		n.changed()
	}
}

// rememberAuth keeps an authentication, to repeat it on the next connection before requests of our
// own. go-zookeeper repeats it too, but our requests may come first.
func (t *Tap) rememberAuth(f *frames) {
	body := f.head[8:]
	known := slices.ContainsFunc(t.auth, func(a []byte) bool { return bytes.Equal(a, body) })
	if !known && len(f.head) == f.size {
		t.auth = append(t.auth, bytes.Clone(body))
	}
}

// withZxid puts the newest zxid that this client has seen into the connect request. go-zookeeper
// does not know the zxids of replies to our own requests. A server that is behind refuses the
// connection, so the client never sees an older state.
func (c *tapConn) withZxid(p []byte) []byte {
	const at = 4 + 4 // after the length and the protocol version
	if len(p) < at+8 || int64(binary.BigEndian.Uint64(p[at:])) >= c.tap.zxid {
		return p
	}
	p = bytes.Clone(p)
	binary.BigEndian.PutUint64(p[at:], uint64(c.tap.zxid))
	return p
}

// replyError returns package zk's error for a reply's code (KeeperException.Code).
func replyError(code int32) error {
	if code == 0 {
		return nil
	}
	if err, ok := replyErrors[code]; ok {
		return err
	}
	return fmt.Errorf("zookeeper: error %d", code)
}

// Errors that package zk does not have.
var (
	// ErrUnimplemented means that the server does not know the operation. It closes the connection
	// after this answer.
	ErrUnimplemented = errors.New("zookeeper: the server does not know this operation")
	// ErrThrottled means that the server is overloaded and did not run the request
	// (KeeperException.Code.THROTTLEDOP, since 3.7). go-zookeeper has no error for it: see
	// Throttled.
	ErrThrottled = errors.New("zookeeper: the server throttles requests")
	// ErrTooLong means that the answer to a request of our own exceeded the limit.
	ErrTooLong = errors.New("zookeeper: the reply is too long")
)

var replyErrors = map[int32]error{
	errConnectionLoss: zk.ErrConnectionClosed,
	-6:                ErrUnimplemented,
	-8:                zk.ErrBadArguments,
	-101:              zk.ErrNoNode,
	-102:              zk.ErrNoAuth,
	-103:              zk.ErrBadVersion,
	-108:              zk.ErrNoChildrenForEphemerals,
	-110:              zk.ErrNodeExists,
	-111:              zk.ErrNotEmpty,
	errSessionExpired: zk.ErrSessionExpired,
	-114:              zk.ErrInvalidACL,
	-115:              zk.ErrAuthFailed,
	errSessionMoved:   zk.ErrSessionMoved,
	errThrottled:      ErrThrottled,
}

// Throttled reports whether a request was not run because the server throttles. It also recognizes
// go-zookeeper's error.
func Throttled(err error) bool {
	return errors.Is(err, ErrThrottled) || err != nil && err.Error() == goThrottled
}

var goThrottled = fmt.Sprintf("unknown error: %d", errThrottled) // ErrCode.toError in go-zookeeper 1.0.4

// Authenticated reports whether this client has authenticated, by an account or by its own
// certificate.
func (t *Tap) Authenticated() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.auth) > 0 || t.shown
}
