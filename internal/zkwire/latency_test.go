package zkwire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
)

// errNotReadOnly is KeeperException.Code.NOTREADONLY.
const errNotReadOnly = -119

// wired is a connection whose server is the test, on synctest's clock.
type wired struct {
	t      *testing.T
	tap    *Tap
	conn   net.Conn
	server net.Conn
}

// gathered is the Gather of wired connections.
const gathered = 2 * time.Millisecond

// withSession is a wired connection with a session.
func withSession(t *testing.T) *wired {
	near, far := net.Pipe()
	w := &wired{t: t, server: far}
	dial := func(context.Context, string, string) (net.Conn, error) { return near, nil }
	w.tap = &Tap{Gather: gathered, DialContext: dial}
	conn := must.Have(w.tap.Dial("tcp", "zk:2181", 0))(t)
	w.conn = conn
	go func() { _, _ = io.Copy(io.Discard, conn) }() // go-zookeeper reads
	go func() { _, _ = conn.Write(jute.AppendBuffer(nil, make([]byte, 44))) }()
	w.sent()
	const timeout, session = 30_000, 7
	w.say(words(0, timeout, 0, session, 0, 0, 0, 0, 0))
	return w
}

// sent returns the next frame sent to the server.
func (w *wired) sent() []byte {
	var size [4]byte
	must.Have(io.ReadFull(w.server, size[:]))(w.t)
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	must.Have(io.ReadFull(w.server, body))(w.t)
	return body
}

// say sends a frame from the server, and waits until it has been read.
func (w *wired) say(body []byte) {
	must.Have(w.server.Write(jute.AppendBuffer(nil, body)))(w.t)
	synctest.Wait()
}

// answer sends a reply without a body, or an event without a path.
func (w *wired) answer(xid int32) { w.say(words(xid, 0, 0, 0, 0, 0, 0)) }

func (w *wired) request() (xid int32) {
	go w.tap.Send(7, func(int, Reply) {}, listRequest("/"))
	return int32(binary.BigEndian.Uint32(w.sent()))
}

// sync returns the xid of a Sync; 0 if none was sent.
func (w *wired) sync() (xid int32) {
	before := w.tap.Heartbeats()
	go w.tap.Sync(time.Second)
	synctest.Wait()
	if w.tap.Heartbeats() == before {
		return 0
	}
	packet := w.sent()
	must.Equal(w.t, binary.BigEndian.Uint32(packet[4:]), opSync, "operation")
	return int32(binary.BigEndian.Uint32(packet))
}

// lateNews has steps on a wire, see play, and the time during which news was late, since the greeting.
var lateNews = []struct {
	name, steps string
	from, to    time.Duration
}{
	{"an event a second after the newest answer", "1s event", 0, 0},
	{"an event long after the newest answer", "4s event", 0, 4 * time.Second},
	{"several", "4s event 1s event", 0, 5 * time.Second},
	{"a sync that was answered at once", "4s sync answer 1s event", 0, 0},
	{"by a server that has no leader and only reads", "4s sync refuse 1s event", 0, 0},
	{"a sync that was throttled", "4s sync throttle event", 0, 4 * time.Second},
	{"a sync that was answered late, alone", "1s sync 4s answer", 0, 0},
	{"an event after a sync that was answered late", "1s sync 4s answer event", time.Second, 5 * time.Second},
	{
		"a follower that answers by itself, cut off from its leader",
		strings.Repeat("1s ping ask answer ", 4) + "event", 0, 4 * time.Second,
	},
	{"a late answer to a request", "2s ask 3s answer", 0, 5 * time.Second},
	{"a prompt answer after a long silence", "9s ask answer", 0, 0},
}

// play performs steps of the client and the server. A duration is a silence.
func (w *wired) play(steps string) {
	var xid int32
	for step := range strings.FieldsSeq(steps) {
		switch step {
		case "event":
			w.answer(xidEvent)
		case "ask":
			xid = w.request()
		case "sync":
			xid = w.sync()
		case "answer":
			w.answer(xid)
		case "refuse":
			w.say(words(xid, 0, 0, errNotReadOnly))
		case "throttle":
			w.say(words(xid, 0, 0, errThrottled))
		case "ping":
			go func() { _, _ = w.conn.Write(frame(xidPing, 11)) }()
			w.sent()
			w.answer(xidPing)
		default:
			time.Sleep(must.Have(time.ParseDuration(step))(w.t))
		}
	}
}

// onWire runs a test with a session on synctest's clock.
func onWire(t *testing.T, test func(t *testing.T, w *wired)) {
	synctest.Test(t, func(t *testing.T) {
		w := withSession(t)
		defer w.server.Close()
		defer w.conn.Close()
		test(t, w)
	})
}

func TestLatenessCountsFromLastAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range lateNews {
		t.Run(tt.name, func(t *testing.T) {
			onWire(t, func(t *testing.T, w *wired) {
				begun := time.Now()
				w.play(tt.steps)
				from, until := w.tap.Late()
				if tt.to == 0 && until.IsZero() {
					return
				}
				must.Equal(t, from.Sub(begun), tt.from, "late from")
				must.Equal(t, until.Sub(begun), tt.to, "late until")
				_, again := w.tap.Late()
				must.True(t, again.IsZero(), "reported twice")
			})
		})
	}
}

func TestSyncsAreRateLimited(t *testing.T) {
	t.Parallel()
	onWire(t, func(t *testing.T, w *wired) {
		begun := time.Now()
		must.Equal(t, w.sync(), 0, "a sync right after the greeting")
		time.Sleep(time.Second)
		xid := w.sync()
		must.True(t, xid != 0, "no sync after a second")
		must.Equal(t, w.sync(), 0, "a second sync at once")
		time.Sleep(time.Second)
		must.True(t, w.sync() != 0, "no sync while the previous one is unanswered")
		w.answer(xid)
		must.Equal(t, w.tap.Ordered().Sub(begun), time.Second, "Ordered after the start")
		must.Equal(t, w.tap.Requests(), 0, "counted as … requests")
		w.conn.Close()
		w.tap.Sync(0) // without a connection
	})
}

// Fast events are read in batches, slow ones at once. A caller that waits for an answer, or for one
// event, does not wait for others.
func TestFastEventsAreBatched(t *testing.T) {
	t.Parallel()
	const events = 4 * manyFast
	for name, tt := range map[string]struct {
		apart, want time.Duration // want is the time to read all
		pending     bool
	}{
		"fast":                                {apart: gathered / 10, want: manyFast*gathered/10 + (events-manyFast-2)*gathered},
		"fast, while a request is unanswered": {apart: gathered / 10, want: events * gathered / 10, pending: true},
		"slowly":                              {apart: 2 * gathered, want: events * 2 * gathered},
	} {
		t.Run(name, func(t *testing.T) {
			onWire(t, func(t *testing.T, w *wired) {
				time.Sleep(time.Second) // since the greeting
				if tt.pending {
					w.request()
				}
				start := time.Now()
				for range events { // each event is read before the next can be written
					time.Sleep(tt.apart)
					w.answer(xidEvent)
				}
				took := time.Since(start)
				must.True(t, took >= tt.want-gathered && took <= tt.want+2*gathered, "read within", took, "want", tt.want)
				time.Sleep(gathered)
			})
		})
	}
}

// A connection that never commits keeps only the marks from which a lease can be computed.
func TestReadsAloneLeaveFewMarks(t *testing.T) {
	t.Parallel()
	onWire(t, func(t *testing.T, w *wired) {
		_, timeout := w.tap.Session()
		for range 10_000 {
			time.Sleep(timeout / 20)
			w.answer(w.request())
		}
		w.tap.mu.Lock()
		defer w.tap.mu.Unlock()
		marks := w.tap.current.marks
		n := len(marks)
		must.True(t, n >= 20 && n <= marksPerTimeout+2, n, "marks")
		age := time.Since(marks[0].sent)
		must.True(t, age >= timeout-timeout/20, "the oldest mark is only", age, "old")
	})
}

// Only requests of the session are marks: an authentication does not keep the session alive.
func TestAuthRequestsDoNotProveSession(t *testing.T) {
	t.Parallel()
	onWire(t, func(t *testing.T, w *wired) {
		c := w.tap.current
		const xidAuth, opPing = -4, 11
		for _, ask := range []struct {
			op    int32
			marks int
		}{{opAuth, 1}, {opAuth, 1}, {opPing, 2}, {opAuth, 2}} {
			time.Sleep(5 * time.Second)
			before := lastAck(w.tap)
			xid := int32(xidAuth)
			if ask.op == opPing {
				xid = xidPing
			}
			go func() { _, _ = w.conn.Write(frame(xid, ask.op)) }()
			w.sent()
			w.answer(xid)
			w.tap.mu.Lock()
			n := len(c.marks)
			w.tap.mu.Unlock()
			must.Equal(t, n, ask.marks, "marks after operation", ask.op)
			must.Equal(t, lastAck(w.tap).After(before), ask.op != opAuth, "acknowledged operation", ask.op)
		}
	})
}

// Events and answers are delivered in the server's order: the event of a change before an answer that
// shows it.
func TestEventsAndRepliesKeepServerOrder(t *testing.T) {
	t.Parallel()
	onWire(t, func(t *testing.T, w *wired) {
		var heard []string
		w.tap.Listen(func(path string, what zk.EventType) { heard = append(heard, fmt.Sprint(path, " ", what)) }, nil)
		go w.tap.Send(7, func(int, Reply) { heard = append(heard, "answer") }, anyRequest)
		xid := int32(binary.BigEndian.Uint32(w.sent()))
		event := jute.AppendString(words(xidEvent, 0, 0, 0, int32(zk.EventNodeDeleted), 3), "/l")
		must.Have(w.server.Write(slices.Concat(jute.AppendBuffer(nil, event), frame(xid, 0, 0, 0))))(t)
		synctest.Wait()
		must.Same(t, heard, []string{"/l EventNodeDeleted", "answer"}, "heard")
	})
}
