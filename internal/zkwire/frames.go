package zkwire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
)

// frames cuts a stream into frames, however it is split or joined, and keeps the start of each. A
// frame is four bytes of length, then as many bytes.
type frames struct {
	keep  int // bytes of each frame to keep
	limit int // longest frame allowed

	length [4]byte
	have   int // bytes of length received
	size   int // of the current frame
	seen   int // bytes of the current frame received
	head   []byte
	begun  time.Time
}

// firstRoom limits the bytes allocated for a frame before it arrives.
const firstRoom = 1 << 20

// feed reads the next bytes and calls note for every frame that they complete.
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
				if why := connect.NotZooKeeper(f.length[:]); why != "" {
					return &connect.RefusedError{Why: why, Err: connect.ErrNonsense}
				}
				return connect.Nonsense(fmt.Sprintf("it announces a frame of %d bytes", size))
			}
			f.size, f.seen = int(size), 0
			f.head = slices.Grow(f.head[:0], min(f.size, f.keep, firstRoom))
		}
		n := min(len(p), f.size-f.seen)
		if room := min(n, f.keep-len(f.head)); room > 0 {
			f.head = append(f.head, p[:room]...)
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

// until is the deadline of the current frame: patience, and as much again per MiB. A server whose
// frames trickle is no better than a silent one. It is zero if no frame has begun.
func (f *frames) until(patience time.Duration) time.Time {
	if f.have == 0 {
		return time.Time{}
	}
	if f.have < len(f.length) {
		return f.begun.Add(patience)
	}
	return f.begun.Add(patience + time.Duration(float64(patience)*float64(f.size)/(1<<20)))
}

// handOver returns the current frame to keep. The next one uses new memory.
func (f *frames) handOver() []byte {
	head := f.head
	f.head = nil
	return head
}
