package zkwire

import (
	"encoding/binary"
	"errors"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

// The fields of requests and replies as ZooKeeper writes them (zookeeper.jute): big-endian numbers, and
// strings, buffers and vectors behind a length of four bytes, -1 for none.

// AppendInt adds a number of four bytes.
func AppendInt(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendBool adds a truth value of one byte.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendString adds a string.
func AppendString(b []byte, s string) []byte { return append(AppendInt(b, int32(len(s))), s...) }

// AppendBuffer adds bytes.
func AppendBuffer(b, p []byte) []byte { return append(AppendInt(b, int32(len(p))), p...) }

// AppendACL adds an access list.
func AppendACL(b []byte, acl []zk.ACL) []byte {
	b = AppendInt(b, int32(len(acl)))
	for _, a := range acl {
		b = AppendString(AppendString(AppendInt(b, a.Perms), a.Scheme), a.ID)
	}
	return b
}

// ErrReply is the error of a reply that lacks what its operation promises.
var ErrReply = errors.New("zookeeper: the server sent a reply that is none")

// Decoder reads a reply's fields one after the other. After a field that is not there, all are zero and Err is set.
type Decoder struct {
	Rest []byte
	Err  error // nil or ErrReply
}

func (d *Decoder) take(n int) []byte {
	if n < 0 || n > len(d.Rest) || d.Err != nil {
		d.Err, d.Rest = ErrReply, nil
		return nil
	}
	p := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return p
}

// Int reads a number of four bytes.
func (d *Decoder) Int() int32 {
	if p := d.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads a number of eight bytes.
func (d *Decoder) Long() int64 {
	if p := d.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Bool reads a truth value.
func (d *Decoder) Bool() bool {
	p := d.take(1)
	return p != nil && p[0] != 0
}

// Buffer reads bytes, which are part of the reply's own; nil when there are none.
func (d *Decoder) Buffer() []byte {
	n := d.Int()
	if n == -1 {
		return nil
	}
	return d.take(int(n))
}

// count reads how many items a vector has, which take least bytes each. There is none that is nil.
func (d *Decoder) count(least int) int {
	n := int(d.Int())
	if n < 0 || n > min(len(d.Rest)/least, connect.BoundItems) {
		d.Err, d.Rest = ErrReply, nil
		return 0
	}
	return n
}

// Strings reads a vector of strings.
func (d *Decoder) Strings() []string {
	n := d.count(4)
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = string(d.Buffer())
	}
	return all
}

// StringsOfOne is Strings, of parts of one string, which all of them keep in memory.
func (d *Decoder) StringsOfOne() []string {
	n := d.count(4)
	if n == 0 {
		return nil
	}
	again := *d
	for range n {
		d.Buffer()
	}
	if d.Err != nil {
		return nil
	}
	all, whole := make([]string, n), string(again.Rest[:len(again.Rest)-len(d.Rest)])
	for i, from := 0, len(again.Rest); i < n; i++ {
		size := len(again.Buffer())
		at := from - len(again.Rest)
		all[i] = whole[at-size : at]
	}
	return all
}

// Stat reads what a server knows of a node.
func (d *Decoder) Stat() zk.Stat {
	return zk.Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(), Version: d.Int(), Cversion: d.Int(),
		Aversion: d.Int(), EphemeralOwner: d.Long(), DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}

// ACL reads an access list.
func (d *Decoder) ACL() []zk.ACL {
	n := d.count(12)
	if d.Err != nil {
		return nil
	}
	acl := make([]zk.ACL, n)
	for i := range acl {
		acl[i] = zk.ACL{Perms: d.Int(), Scheme: string(d.Buffer()), ID: string(d.Buffer())}
	}
	return acl
}
