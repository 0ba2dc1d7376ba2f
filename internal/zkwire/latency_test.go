package zkwire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"

	"github.com/go-zookeeper/zk"
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
	w.tap = &Tap{Gather: gathered, DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	conn := must.Have(w.tap.Dial("tcp", "zk:2181", 0))(t)
	w.conn = conn
	go func() { _, _ = io.Copy(io.Discard, conn) }() // go-zookeeper reads
	go func() { _, _ = conn.Write(framed(make([]byte, 44))) }()
	w.sent()
	const timeout, session = 30_000, 7
	greeting := binary.BigEndian.AppendUint32(nil, 0)
	greeting = binary.BigEndian.AppendUint32(greeting, timeout)
	greeting = binary.BigEndian.AppendUint64(greeting, session)
	w.say(append(greeting, make([]byte, 20)...))
	return w
}

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// sent returns the next frame sent to the server.
func (w *wired) sent() []byte {
	var size [4]byte
	if _, err := io.ReadFull(w.server, size[:]); err != nil {
		w.t.Error(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(w.server, body); err != nil {
		w.t.Error(err)
	}
	return body
}

// say sends a frame from the server, and waits until it has been read.
func (w *wired) say(body []byte) {
	if _, err := w.server.Write(framed(body)); err != nil {
		w.t.Error(err)
	}
	synctest.Wait()
}

// answer sends a reply without a body, or an event without a path.
func (w *wired) answer(xid int32) {
	w.say(append(binary.BigEndian.AppendUint32(nil, uint32(xid)), make([]byte, 24)...))
}

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

// refuse answers with an error code.
func (w *wired) refuse(xid, code int32) {
	w.say(jute.AppendInt(append(jute.AppendInt(nil, xid), make([]byte, 8)...), code))
}

var lateNews = map[string]struct {
	happens  func(w *wired)
	from, to time.Duration // since the greeting
}{
	"an event a second after the newest answer": {happens: func(w *wired) { time.Sleep(time.Second); w.answer(xidEvent) }},
	"an event long after the newest answer":     {func(w *wired) { time.Sleep(4 * time.Second); w.answer(xidEvent) }, 0, 4 * time.Second},
	"several": {func(w *wired) {
		time.Sleep(4 * time.Second)
		w.answer(xidEvent)
		time.Sleep(time.Second)
		w.answer(xidEvent)
	}, 0, 5 * time.Second},
	"a sync that was answered at once": {happens: func(w *wired) {
		time.Sleep(4 * time.Second)
		w.answer(w.sync())
		time.Sleep(time.Second)
		w.answer(xidEvent)
	}},
	"by a server that has no leader and only reads": {happens: func(w *wired) {
		time.Sleep(4 * time.Second)
		w.refuse(w.sync(), errNotReadOnly)
		time.Sleep(time.Second)
		w.answer(xidEvent)
	}},
	"a sync that was throttled": {func(w *wired) {
		time.Sleep(4 * time.Second)
		w.refuse(w.sync(), errThrottled)
		w.answer(xidEvent)
	}, 0, 4 * time.Second},
	"a sync that was answered late, alone": {happens: func(w *wired) {
		time.Sleep(time.Second)
		xid := w.sync()
		time.Sleep(4 * time.Second)
		w.answer(xid)
	}},
	"an event after a sync that was answered late": {func(w *wired) {
		time.Sleep(time.Second)
		xid := w.sync()
		time.Sleep(4 * time.Second)
		w.answer(xid)
		w.answer(xidEvent)
	}, time.Second, 5 * time.Second},
	"a follower that answers by itself, cut off from its leader": {func(w *wired) {
		for range 4 {
			time.Sleep(time.Second)
			go func() { _, _ = w.conn.Write(framed(jute.AppendInt(jute.AppendInt(nil, xidPing), 11))) }()
			w.sent()
			w.answer(xidPing)
			w.answer(w.request())
		}
		w.answer(xidEvent)
	}, 0, 4 * time.Second},
	"a late answer to a request": {func(w *wired) {
		time.Sleep(2 * time.Second)
		xid := w.request()
		time.Sleep(3 * time.Second)
		w.answer(xid)
	}, 0, 5 * time.Second},
	"a prompt answer after a long silence": {happens: func(w *wired) { time.Sleep(9 * time.Second); w.answer(w.request()) }},
}

func TestLatenessCountsFromLastAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range lateNews {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withSession(t)
				defer w.server.Close()
				defer w.conn.Close()
				begun := time.Now()
				tt.happens(w)
				from, until := w.tap.Late()
				if tt.to == 0 && until.IsZero() {
					return
				}
				if from.Sub(begun) != tt.from || until.Sub(begun) != tt.to {
					t.Errorf("late from %v to %v, want %v to %v", from.Sub(begun), until.Sub(begun), tt.from, tt.to)
				}
				if _, again := w.tap.Late(); !again.IsZero() {
					t.Error("reported twice")
				}
			})
		})
	}
}

func TestSyncsAreRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withSession(t)
		defer w.server.Close()
		defer w.conn.Close()
		begun := time.Now()
		must.Equal(t, w.sync(), 0, "a sync right after the greeting")
		time.Sleep(time.Second)
		xid := w.sync()
		must.True(t, xid != 0, "no sync after a second")
		must.Equal(t, w.sync(), 0, "a second sync at once")
		time.Sleep(time.Second)
		if w.sync() == 0 {
			t.Error("no sync while the previous one is unanswered")
		}
		w.answer(xid)
		must.Equal(t, w.tap.Ordered().Sub(begun), time.Second, "Ordered after the start")
		must.Equal(t, w.tap.Requests(), 0, "counted as … requests")
		w.conn.Close()
		w.tap.Sync(0) // without a connection
	})
}

// Events and answers are delivered in the server's order: the event of a change before an answer that
// shows it.
func TestEventsAndRepliesKeepServerOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withSession(t)
		defer w.server.Close()
		defer w.conn.Close()
		var heard []string
		w.tap.Listen(func(path string, what zk.EventType) { heard = append(heard, fmt.Sprint(path, " ", what)) }, nil)
		go w.tap.Send(7, func(int, Reply) { heard = append(heard, "answer") }, anyRequest)
		xid := int32(binary.BigEndian.Uint32(w.sent()))
		event := binary.BigEndian.AppendUint32(nil, uint32(0xffffffff))
		event = append(event, make([]byte, 12)...)
		event = jute.AppendInt(jute.AppendInt(event, int32(zk.EventNodeDeleted)), 3)
		event = framed(jute.AppendString(event, "/l"))
		answer := framed(append(binary.BigEndian.AppendUint32(nil, uint32(xid)), make([]byte, 12)...))
		if _, err := w.server.Write(slices.Concat(event, answer)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		must.Same(t, heard, []string{"/l EventNodeDeleted", "answer"}, "heard")
	})
}
