package zkserver_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// This client runs scenarios and logs every packet. The log is the same for two servers that behave
// the same: session ids become names, and times are omitted.

// world is one run of a scenario against one server.
type world struct {
	t     *testing.T
	addr  string
	log   strings.Builder
	names map[int64]string // sessions
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.log, format+"\n", args...) }

func (w *world) owner(id int64) string {
	if id == 0 {
		return "0"
	}
	if name, ok := w.names[id]; ok {
		return name
	}
	return fmt.Sprintf("0x%x", uint64(id))
}

type wire struct {
	w        *world
	name     string
	conn     net.Conn
	session  int64
	password []byte
	lastZxid int64
	xid      int32
}

// packet builds requests.
type packet struct{ b []byte }

func (p *packet) int(v int32) *packet { p.b = binary.BigEndian.AppendUint32(p.b, uint32(v)); return p }

func (p *packet) long(v int64) *packet {
	p.b = binary.BigEndian.AppendUint64(p.b, uint64(v))
	return p
}

func (p *packet) bool(v bool) *packet {
	if v {
		p.b = append(p.b, 1)
	} else {
		p.b = append(p.b, 0)
	}
	return p
}

func (p *packet) str(s string) *packet { p.int(int32(len(s))); p.b = append(p.b, s...); return p }

func (p *packet) strs(list ...string) *packet {
	p.int(int32(len(list)))
	for _, s := range list {
		p.str(s)
	}
	return p
}

func (p *packet) buf(b []byte) *packet {
	if b == nil {
		return p.int(-1)
	}
	return p.str(string(b))
}

func (p *packet) open() *packet { return p.int(1).int(31).str("world").str("anyone") }

func req() *packet { return &packet{} }

func createReq(path string, data []byte, flags int32) *packet {
	return req().str(path).buf(data).open().int(flags)
}

// result reads replies from the wire.
type result struct {
	b  []byte
	ok bool
}

func (r *result) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.ok = false
		return make([]byte, max(n, 0))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *result) int() int32  { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *result) long() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *result) buf() []byte {
	if n := r.int(); n >= 0 {
		return r.take(int(n))
	}
	return nil
}

func (r *result) str() string { return string(r.buf()) }

func (r *result) strs() []string {
	list := make([]string, max(0, r.int()))
	for i := range list {
		list[i] = r.str()
	}
	return list
}

// event reads an event after its header.
func (r *result) event(xid int32, zxid int64, code int32) string {
	return fmt.Sprintf("event type %d state %d %s (xid %d zxid %d code %d)", r.int(), r.int(), r.str(), xid, zxid, code)
}

func (r *result) stat(w *world) string {
	c, m := r.long(), r.long()
	r.long() // ctime
	r.long() // mtime
	v, cv, av, owner := r.int(), r.int(), r.int(), r.long()
	dataLength, children, p := r.int(), r.int(), r.long()
	return fmt.Sprintf("{c%d m%d p%d v%d cv%d av%d owner=%s len=%d children=%d}", c, m, p, v, cv, av, w.owner(owner), dataLength, children)
}

// dial connects without sending anything.
func (w *world) dial(name string) *wire {
	w.t.Helper()
	conn := must.Have(net.Dial("tcp", w.addr))(w.t)
	w.t.Cleanup(func() { conn.Close() })
	return &wire{w: w, name: name, conn: conn, password: make([]byte, 16)}
}

// client opens a new session.
func (w *world) client(name string) *wire {
	c := w.dial(name)
	c.hello(20_000) // it sends no pings
	return c
}

// again reconnects the session.
func (c *wire) again(timeout int32) *wire {
	next := c.w.dial(c.name)
	next.session, next.password, next.lastZxid, next.xid = c.session, c.password, c.lastZxid, c.xid
	next.hello(timeout)
	return next
}

func (c *wire) hello(timeout int32) {
	c.send(req().int(0).long(c.lastZxid).int(timeout).long(c.session).buf(c.password).bool(false))
	c.welcome()
}

func (c *wire) welcome() {
	b, err := c.receive()
	if err != nil {
		c.w.printf("%s: connect: %v", c.name, err)
		return
	}
	r := result{b, true}
	protocol, negotiated, id, password := r.int(), r.int(), r.long(), r.buf()
	if id != 0 {
		c.session, c.password = id, password
		c.w.names[id] = c.name
	}
	c.w.printf("%s: connect: protocol %d timeout %d session %s password of %d, then %v %v",
		c.name, protocol, negotiated, c.w.owner(id), len(password), r.b, r.ok)
	if id != 0 && uint64(id)>>56 != 1 {
		c.w.printf("%s: session 0x%x does not start with the server's number", c.name, uint64(id))
	}
}

func (c *wire) send(p *packet) {
	c.w.t.Helper()
	if _, err := c.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p.b))), p.b...)); err != nil {
		c.w.printf("%s: cannot send", c.name)
	}
}

func (c *wire) receive() ([]byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(15 * time.Second))
	var head [4]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, closedOr(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.conn, b)
	return b, closedOr(err)
}

// closedOr maps all errors of an ended connection to one.
func closedOr(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return errors.New("closed")
}

// post sends a request without waiting for its reply.
func (c *wire) post(xid, op int32, p *packet) {
	c.send(&packet{append(req().int(xid).int(op).b, p.b...)})
}

// do sends a request, and logs everything up to its reply, which show formats.
func (c *wire) do(what string, op int32, p *packet, show func(*result) string) {
	c.xid++
	xid := c.xid
	if op == 11 {
		xid = -2
	}
	c.post(xid, op, p)
	c.until(what, xid, show)
}

func (c *wire) until(what string, xid int32, show func(*result) string) {
	var events []string
	for {
		b, err := c.receive()
		if err != nil {
			c.w.printf("%s: %s: %v", c.name, what, err)
			return
		}
		r := &result{b, true}
		gotXid, zxid, code := r.int(), r.long(), r.int()
		if gotXid == -1 {
			events = append(events, c.name+": "+r.event(gotXid, zxid, code))
			continue
		}
		for _, event := range events {
			c.w.printf("%s", event)
		}
		events = nil
		c.lastZxid = max(c.lastZxid, zxid)
		text := ""
		if code == 0 && show != nil {
			text = show(r)
		}
		c.w.printf("%s: %s: xid %d zxid %d code %d %s rest %d %v", c.name, what, gotXid, zxid, code, text, len(r.b), r.ok)
		if gotXid == xid {
			return
		}
	}
}

// eof logs the end of the connection.
func (c *wire) eof() {
	for {
		b, err := c.receive()
		if err != nil {
			c.w.printf("%s: end: %v", c.name, err)
			return
		}
		c.w.printf("%s: at the end: %d bytes", c.name, len(b))
	}
}

func (c *wire) bye() { c.do("close", -11, req(), nil); c.eof() }

func (c *wire) create(path, data string, flags int32) {
	c.do(fmt.Sprintf("create %q %d", path, flags), 1, createReq(path, []byte(data), flags), (*result).str)
}

func (c *wire) create2(op int32, path string, p *packet) {
	c.do(fmt.Sprintf("create2 op %d %q", op, path), op, p, func(r *result) string { return r.str() + " " + r.stat(c.w) })
}

func (c *wire) del(path string, version int32) {
	c.do(fmt.Sprintf("delete %q %d", path, version), 2, req().str(path).int(version), nil)
}

func (c *wire) exists(path string, watch bool) {
	c.do(fmt.Sprintf("exists %q %v", path, watch), 3, req().str(path).bool(watch), func(r *result) string { return r.stat(c.w) })
}

func (c *wire) get(path string, watch bool) {
	c.do(fmt.Sprintf("get %q %v", path, watch), 4, req().str(path).bool(watch), func(r *result) string {
		data := r.buf()
		return fmt.Sprintf("%q null=%v %s", data, data == nil, r.stat(c.w))
	})
}

func (c *wire) set(path string, data []byte, version int32) {
	c.do(fmt.Sprintf("set %q %d", path, version), 5, req().str(path).buf(data).int(version), func(r *result) string { return r.stat(c.w) })
}

func (c *wire) children(path string, watch bool) {
	c.do(fmt.Sprintf("children2 %q %v", path, watch), 12, req().str(path).bool(watch), func(r *result) string {
		names := r.strs()
		slices.Sort(names)
		return fmt.Sprint(names, r.stat(c.w))
	})
}

// multi runs the parts, each made by part, and logs the results.
func (c *wire) multi(op int32, parts *packet) {
	parts.int(-1).bool(true).int(-1)
	c.do("multi", op, parts, func(r *result) string {
		var text []string
		for r.ok {
			op, done, code := r.int(), r.take(1)[0] == 1, r.int()
			one := fmt.Sprintf("[op %d done %v code %d", op, done, code)
			if done {
				text = append(text, one+"]")
				break
			}
			switch op {
			case 1:
				one += " " + r.str()
			case 15, 19, 21:
				one += " " + r.str() + r.stat(c.w)
			case 5:
				one += " " + r.stat(c.w)
			case 4:
				one += fmt.Sprintf(" %q %s", r.buf(), r.stat(c.w))
			case 8:
				names := r.strs()
				slices.Sort(names)
				one += fmt.Sprint(" ", names)
			case -1:
				one += fmt.Sprint(" error ", r.int())
			}
			text = append(text, one+"]")
		}
		return strings.Join(text, " ")
	})
}

func (p *packet) part(op int32, record *packet) *packet {
	p.int(op).bool(false).int(-1)
	p.b = append(p.b, record.b...)
	return p
}
