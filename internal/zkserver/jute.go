package zkserver

import (
	"encoding/binary"
	"errors"
)

// errMalformed reports a record that ended early or held an impossible length.
var errMalformed = errors.New("zkserver: malformed record")

// decoder reads jute records: big endian, lengths before strings, buffers and vectors. The first failure sticks in err,
// and everything read after it is zero.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.buf) {
		d.err = errMalformed
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// buffer returns a copy, or nil for jute's null buffer (length -1).
func (d *decoder) buffer() []byte {
	n := d.int32()
	if n == -1 || d.err != nil {
		return nil
	}
	b := d.take(int(n))
	if d.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func (d *decoder) string() string {
	n := d.int32()
	if n == -1 || d.err != nil {
		return ""
	}
	return string(d.take(int(n)))
}

// count reads the length of a vector whose elements take at least size bytes each.
func (d *decoder) count(size int) int {
	n := int(d.int32())
	if n == -1 || d.err != nil {
		return 0
	}
	if n < 0 || n > len(d.buf)/size {
		d.err = errMalformed
		return 0
	}
	return n
}

func (d *decoder) strings() []string {
	n := d.count(4)
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) acls() []acl {
	n := d.count(12)
	list := make([]acl, 0, n)
	for range n {
		list = append(list, acl{d.int32(), identity{d.string(), d.string()}})
	}
	return list
}

// encoder appends jute records to buf.
type encoder struct{ buf []byte }

func (e *encoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }
func (e *encoder) int64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }

func (e *encoder) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

func (e *encoder) buffer(b []byte) {
	if b == nil {
		e.int32(-1)
		return
	}
	e.int32(int32(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) string(s string) {
	e.int32(int32(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) strings(list []string) {
	e.int32(int32(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

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
