// Package jute reads and writes records as ZooKeeper does (zookeeper.jute): big-endian numbers, and strings,
// buffers and vectors behind a length of four bytes, -1 for none.
package jute

import (
	"encoding/binary"
	"errors"
)

// AppendInt adds a number of four bytes.
func AppendInt(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendLong adds a number of eight bytes.
func AppendLong(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

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

// AppendStrings adds a vector of strings.
func AppendStrings(b []byte, all []string) []byte {
	b = AppendInt(b, int32(len(all)))
	for _, s := range all {
		b = AppendString(b, s)
	}
	return b
}

// ErrMalformed is the error of a record that ends early or has an impossible length.
var ErrMalformed = errors.New("malformed record")

// maxItems bounds the items of a vector: each takes memory before it is read.
const maxItems = 1 << 20

// Decoder reads a record's fields in order. After a missing field, all further ones are zero and
// Err is set.
type Decoder struct {
	Rest []byte
	Err  error // nil or ErrMalformed
}

// Take reads n bytes; nil if there are fewer.
func (d *Decoder) Take(n int) []byte {
	if n < 0 || n > len(d.Rest) || d.Err != nil {
		d.Err, d.Rest = ErrMalformed, nil
		return nil
	}
	p := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return p
}

// Int reads a number of four bytes.
func (d *Decoder) Int() int32 {
	if p := d.Take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads a number of eight bytes.
func (d *Decoder) Long() int64 {
	if p := d.Take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Bool reads a truth value.
func (d *Decoder) Bool() bool {
	p := d.Take(1)
	return p != nil && p[0] != 0
}

// Buffer reads bytes, which share the record's memory; nil if there are none.
func (d *Decoder) Buffer() []byte {
	n := d.Int()
	if n == -1 {
		return nil
	}
	return d.Take(int(n))
}

// Count reads the number of a vector's items, each of at least least bytes. A null vector is
// malformed: clients would allocate 2^32 items.
func (d *Decoder) Count(least int) int {
	n := int(d.Int())
	if n < 0 || n > min(len(d.Rest)/least, maxItems) {
		d.Err, d.Rest = ErrMalformed, nil
		return 0
	}
	return n
}

// String reads a string.
func (d *Decoder) String() string { return string(d.Buffer()) }

// StringsOfOne reads a vector of strings that are parts of one string: each keeps all of it in memory.
func (d *Decoder) StringsOfOne() []string {
	n := d.Count(4)
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
