package connect

import (
	"encoding/binary"
	"time"
)

// MaxLag is the longest time before now at which the newest answered request was sent on a connection that is kept awake
// by Ping every second and on which all is well, slow machines included.
const MaxLag = 2500 * time.Millisecond

// interval is a time between two instants of our clock.
type interval struct{ from, until time.Time }

// Late returns, once, the bounds of a time of which news came late; zeros when none did. A server's answers and events come
// in order: what happened before a request was executed came before its answer. An event may therefore be as old as
// the newest request that was answered before it, and so may an answer itself as its own request. A wire that was cut, a server or
// a process that stood still for a while, and then went on, makes both old by more than MaxLag, while the connection lasts.
// Bounds have a monotonic reading.
func (t *Tap) Late() (from, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	late := t.late
	t.late = interval{}
	return late.from, late.until
}

// cameLate notes that what came in just now may have happened since an instant.
func (c *tapConn) cameLate(since time.Time) {
	t := c.tap
	if t.current != c || since.IsZero() || c.heard.Sub(since) <= MaxLag {
		return
	}
	from := since
	if t.lastAck.Before(from) {
		from = t.lastAck
	}
	if t.late.from.IsZero() || from.Before(t.late.from) {
		t.late.from = from
	}
	t.late.until = c.heard
}

const opPing = 11

// Ping sends a sign of life, unless a request was sent within the last every: its answer shows that what happened
// before has come. Call it from time to time. Go-zookeeper's own come once in a third of the session's timeout. It does nothing
// without a connection.
func (t *Tap) Ping(every time.Duration) {
	t.mu.Lock()
	c := t.current
	t.mu.Unlock()
	if c == nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	t.mu.Lock()
	now := time.Now()
	if n := len(c.pending); !c.greeted || c.closed || now.Sub(t.lastAck) < every || n > 0 && now.Sub(c.pending[n-1].at) < every {
		t.mu.Unlock()
		return
	}
	xid := int32(xidPing)
	c.pending = append(c.pending, sent{xid: xid, op: opPing, at: now})
	if len(c.pending) == 1 {
		_ = c.applyDeadline() // fails with the connection, as the write does
	}
	t.pings++
	limit := c.limit
	t.mu.Unlock()
	if limit > 0 {
		_ = c.SetWriteDeadline(now.Add(limit))
	}
	packet := binary.BigEndian.AppendUint32(nil, 8)
	packet = binary.BigEndian.AppendUint32(packet, uint32(xid))
	if _, err := c.Conn.Write(binary.BigEndian.AppendUint32(packet, opPing)); err != nil {
		_ = c.Close()
	}
}

// Pings counts the signs of life that were sent, go-zookeeper's own too.
func (t *Tap) Pings() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pings
}
