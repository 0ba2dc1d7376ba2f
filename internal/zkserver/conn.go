package zkserver

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/jute"
)

const (
	maxQueued    = 64 << 20         // bytes waiting for a client that does not read, before it is cut off
	writeTimeout = 30 * time.Second // for one write to make progress
	lingerTime   = time.Second      // for a client to close after its last answer
)

// conn is one TCP connection. Its reader executes requests; its writer sends the queue.
type conn struct {
	srv    *Server
	nc     net.Conn
	remote string // host:port

	// Guarded by srv.mu.
	session     *session
	closed      bool // no further requests, no further events
	closing     bool // its session has ended, and queued replies are sent
	watched     watchedPaths
	who         []identity // what it is authenticated as
	established time.Time
	lastReply   int64 // server uptime in milliseconds

	out struct {
		sync.Mutex
		enc  encoder
		last bool // close after the queued replies
		dead bool // the writer has ended
	}
	wake chan struct{} // one pending signal for the writer
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{
		srv: s, nc: nc, remote: nc.RemoteAddr().String(), watched: newWatchedPaths(), established: s.wall(),
		wake: make(chan struct{}, 1),
	}
}

// serve runs the connection to its end.
func (c *conn) serve() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read(bufio.NewReaderSize(c.nc, 16<<10))
	c.srv.mu.Lock()
	c.srv.detach(c)
	delete(c.srv.conns, c)
	c.srv.mu.Unlock()
	c.finish()
	writer.Wait()
	c.nc.Close()
}

// read handles packets until the client or the server ends the connection. Malformed packets end
// only this connection.
func (c *conn) read(br *bufio.Reader) {
	c.nc.SetReadDeadline(time.Now().Add(sessionlessTimeout))
	head, err := br.Peek(4)
	if err != nil {
		return
	}
	if word, ok := fourLetterWords[string(head)]; ok {
		c.answerWord(string(head), word)
		c.linger(br)
		return
	}
	packet, err := c.readPacket(br)
	if err != nil {
		return
	}
	d := newDecoder(packet)
	r := decodeConnect(d)
	if d.Err != nil {
		return
	}
	connect, handle := c.srv.connect, func(packet []byte) bool { return c.srv.handle(c, packet) }
	if m := c.srv.member; m != nil {
		connect, handle = m.connect, func(packet []byte) bool { return m.handle(c, packet) }
	}
	if !connect(c, r) {
		return
	}
	c.nc.SetReadDeadline(time.Time{})
	for {
		packet, err := c.readPacket(br)
		if err != nil {
			return
		}
		if !handle(packet) {
			c.linger(br)
			return
		}
	}
}

// linger reads until the client closes. Closing earlier would reset the connection and lose the
// last replies.
func (c *conn) linger(br *bufio.Reader) {
	c.finish()
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	io.Copy(io.Discard, br)
}

func (c *conn) readPacket(br *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 0 || int(n) > c.srv.cfg.MaxRequest {
		return nil, jute.ErrMalformed
	}
	packet := make([]byte, n)
	_, err := io.ReadFull(br, packet)
	return packet, err
}

// write sends until finish, then closes its direction.
func (c *conn) write() {
	defer func() {
		c.out.Lock()
		c.out.dead = true
		c.out.enc.buf = nil
		c.out.Unlock()
	}()
	var spare []byte
	for range c.wake {
		c.out.Lock()
		buf, last := c.out.enc.buf, c.out.last
		c.out.enc.buf = spare[:0]
		c.out.Unlock()
		if len(buf) > 0 {
			c.nc.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := c.nc.Write(buf); err != nil {
				c.nc.Close()
				return
			}
		}
		if last {
			c.nc.SetReadDeadline(time.Now().Add(lingerTime))
			if tcp, ok := c.nc.(*net.TCPConn); ok {
				tcp.CloseWrite()
			}
			return
		}
		if spare = buf; cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// queue appends to the writer's output. A client that reads too slowly is cut off.
func (c *conn) queue(put func(*encoder)) {
	c.out.Lock()
	defer c.out.Unlock()
	if c.out.dead || c.out.last {
		return
	}
	put(&c.out.enc)
	if len(c.out.enc.buf) > maxQueued {
		c.out.dead, c.out.enc.buf = true, nil
		c.nc.Close()
	}
	c.signal()
}

// finish lets the writer send its queue and then close.
func (c *conn) finish() {
	c.out.Lock()
	defer c.out.Unlock()
	c.out.last = true
	c.signal()
}

// abort cuts the connection now.
func (c *conn) abort() { c.nc.Close() }

// send queues one packet.
func (c *conn) send(body func(*encoder)) {
	c.queue(func(e *encoder) { e.frame(body) })
}

// reply answers a request; body is nil for a bare header. Callers hold srv.mu.
func (c *conn) reply(xid int32, zxid int64, code errCode, body func(*encoder)) {
	c.send(func(e *encoder) {
		e.int32(xid)
		e.int64(zxid)
		e.int32(int32(code))
		if body != nil && code == codeOK {
			body(e)
		}
	})
}

// notify queues a watch event. Callers hold srv.mu.
func (c *conn) notify(kind eventType, path string) {
	if c.closed {
		return
	}
	c.reply(xidNotification, -1, codeOK, func(e *encoder) {
		e.int32(int32(kind))
		e.int32(stateSyncConnected)
		e.string(path)
	})
}

// answerConnect answers the connect request; the zero session means refused. Callers hold srv.mu.
func (c *conn) answerConnect(r connectRequest, timeout time.Duration, id int64, password [16]byte) {
	c.send(func(e *encoder) {
		e.int32(0)
		e.int32(int32(timeout.Milliseconds()))
		e.int64(id)
		e.buffer(password[:])
		if r.hasReadOnly {
			e.bool(false)
		}
	})
}
