package zkserver

import (
	"bytes"
	"encoding/binary"

	"github.com/lockscope/lockscope/internal/jute"
)

// decoder reads the records of clients.
type decoder struct{ jute.Decoder }

func newDecoder(packet []byte) *decoder { return &decoder{jute.Decoder{Rest: packet}} }

// buffer returns a copy, or nil for the null buffer.
func (d *decoder) buffer() []byte { return bytes.Clone(d.Buffer()) }

// count is Count, but treats a client's null vector as empty.
func (d *decoder) count(least int) int {
	if rest, null := bytes.CutPrefix(d.Rest, []byte{0xff, 0xff, 0xff, 0xff}); null {
		d.Rest = rest
		return 0
	}
	return d.Count(least)
}

func (d *decoder) strings() []string {
	n := d.count(4)
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.String())
	}
	return list
}

func (d *decoder) acls() []acl {
	n := d.count(12)
	list := make([]acl, 0, n)
	for range n {
		list = append(list, acl{d.Int(), identity{d.String(), d.String()}})
	}
	return list
}

// encoder appends jute records to buf.
type encoder struct{ buf []byte }

func (e *encoder) int32(v int32) { e.buf = jute.AppendInt(e.buf, v) }
func (e *encoder) int64(v int64) { e.buf = jute.AppendLong(e.buf, v) }

func (e *encoder) bool(v bool) { e.buf = jute.AppendBool(e.buf, v) }

func (e *encoder) buffer(b []byte) {
	if b == nil {
		e.int32(-1)
		return
	}
	e.buf = jute.AppendBuffer(e.buf, b)
}

func (e *encoder) string(v string) { e.buf = jute.AppendString(e.buf, v) }

func (e *encoder) strings(v []string) { e.buf = jute.AppendStrings(e.buf, v) }

func (e *encoder) acls(list []acl) {
	e.int32(int32(len(list)))
	for _, a := range list {
		e.int32(a.perms)
		e.string(a.scheme)
		e.string(a.id)
	}
}

func (e *encoder) stat(s stat) {
	e.int64(s.czxid)
	e.int64(s.mzxid)
	e.int64(s.ctime)
	e.int64(s.mtime)
	e.int32(s.version)
	e.int32(s.cversion)
	e.int32(s.aversion)
	e.int64(s.ephemeralOwner)
	e.int32(s.dataLength)
	e.int32(s.numChildren)
	e.int64(s.pzxid)
}

// frame appends one packet: its length, then what body writes.
func (e *encoder) frame(body func(*encoder)) {
	start := len(e.buf)
	e.int32(0)
	body(e)
	binary.BigEndian.PutUint32(e.buf[start:], uint32(len(e.buf)-start-4))
}
