package zkwire

import (
	"time"

	"github.com/lockscope/lockscope/internal/jute"
)

// MaxLag bounds the age of the newest answered Sync on a healthy connection with a Sync every
// second, even on slow machines.
const MaxLag = 2500 * time.Millisecond

// interval is a time between two instants of our clock.
type interval struct{ from, until time.Time }

// Late returns, once, the bounds of a period whose news came late; zeros if there was none. A
// server sends answers and events in order, so everything that happened before a change or a Sync
// was executed comes before its answer. An event may therefore be as old as the newest of these
// requests that was answered before it. An answer may be as old as its own request. Either can
// exceed MaxLag while the connection lasts: after a cut wire, or a pause of a server or of this
// process. A follower cut off from its leader, which still answers pings and reads, can cause the
// same. Bounds have a monotonic reading.
func (t *Tap) Late() (from, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	late := t.late
	t.late = interval{}
	return late.from, late.until
}

// cameLate records that the newest event or answer may date back to an instant.
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

// Sync asks the leader for an answer, unless it has done so within the time every. Call it from
// time to time: earlier events have arrived by the time of the answer. It changes nothing, needs no
// right, and does nothing without a connection.
func (t *Tap) Sync(every time.Duration) {
	t.mu.Lock()
	c, session := t.current, t.session
	now := time.Now()
	if c == nil || !c.greeted || now.Sub(c.synced) < every {
		t.mu.Unlock()
		return
	}
	c.synced = now
	t.mu.Unlock()
	// else there is no connection
	_ = c.send(&t.beats, session, func(int, Reply) {}, []Request{{Op: opSync, Body: jute.AppendString(nil, "/")}})
}

// Ordered returns the send time of the newest answered change or Sync, or the start of the
// connection. Everything that happened by then is known. It has a monotonic reading; zero without a
// session.
func (t *Tap) Ordered() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ordered
}

// Heartbeats counts the Syncs and go-zookeeper's pings that were sent.
func (t *Tap) Heartbeats() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.beats
}
