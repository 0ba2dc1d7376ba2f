package connect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// xidBytes at the start of a frame are its xid.
const xidBytes = 4

// frames cuts a stream into frames (four bytes of length, then as many bytes) however it is split or joined, and keeps
// the start of each.
type frames struct {
	keep  int                              // bytes of each frame to keep
	limit int                              // longest frame allowed
	whole func(head []byte, size int) bool // says of the frame that begins with head whether to keep all of it; may be nil
	// taken says of the frame that begins with these xidBytes whether it is to be left out of passed; nil: nothing is passed.
	taken  func(head []byte) bool
	passed bytes.Buffer // what came, without the frames that were taken

	length [4]byte
	have   int // bytes of length that are in
	size   int // of the current frame
	seen   int // bytes of the current frame that went by
	head   []byte
	all    bool // head is to have all of the current frame
	sorted bool // whether the current frame is taken is known
	take   bool // it is
	begun  time.Time
}

// feed takes the next bytes and calls note for every frame that they complete.
func (f *frames) feed(p []byte, now time.Time, note func(*frames) error) error {
	for len(p) > 0 {
		if f.have < len(f.length) {
			if f.have == 0 {
				f.begun = now
			}
			n := copy(f.length[f.have:], p)
			f.have += n
			p = p[n:]
			if f.have < len(f.length) {
				return nil
			}
			size := binary.BigEndian.Uint32(f.length[:])
			if int64(size) > int64(f.limit) {
				return fmt.Errorf("%w: its length is %d", errFrame, size)
			}
			f.size, f.seen, f.head, f.all, f.sorted, f.take = int(size), 0, f.head[:0], false, false, false
		}
		n := min(len(p), f.size-f.seen)
		if room := min(n, f.keep-len(f.head)); room > 0 && !f.all {
			f.head = append(f.head, p[:room]...)
			if f.whole != nil && len(f.head) == f.keep && f.whole(f.head, f.size) {
				f.all = true
				f.head = append(slices.Grow(f.head, f.size-len(f.head)), p[room:n]...)
			}
		} else if f.all {
			f.head = append(f.head, p[:n]...)
		}
		if f.taken != nil {
			f.pass(p[:n])
		}
		f.seen += n
		p = p[n:]
		if f.seen == f.size {
			f.have = 0
			if err := note(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass sorts the next bytes of the current frame, as soon as its xid is in.
func (f *frames) pass(p []byte) {
	switch {
	case f.sorted:
	case f.seen+len(p) < min(xidBytes, f.size):
		return // they wait in head
	default:
		f.sorted = true
		if f.take = f.size >= xidBytes && f.taken(f.head[:xidBytes]); !f.take {
			f.passed.Write(f.length[:])
			f.passed.Write(f.head[:f.seen])
		}
	}
	if !f.take {
		f.passed.Write(p)
	}
}

// keepWhole hands the current frame over: the next has memory of its own.
func (f *frames) keepWhole() []byte {
	head := f.head
	f.head = nil
	return head
}
