package recording

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// store has the text of a recording, of which any part can be read.
type store interface {
	io.ReaderAt
	// add tells of the next part.
	add(text []byte) error
}

// plainText is a file that is not packed.
type plainText struct{ *os.File }

func (plainText) add([]byte) error { return nil }

// Blocks of a packed recording: of so much text, and so many bytes of them, packed, at most: an hour of 1,000 locks with 100 changes a
// second takes less.
const (
	blockSize  = 256 << 10
	mostPacked = 96 << 20
	blocksOpen = 16 // that are kept unpacked
)

var errTooLarge = errors.New("recording: more than the index keeps of a packed one")

// blocks keep text in packed blocks.
type blocks struct {
	mu     sync.Mutex
	packed [][]byte
	bytes  int
	tail   []byte // the text of the block that is not full yet
	w      *flate.Writer
	open   [blocksOpen]openBlock
	next   int
}

type openBlock struct {
	text   []byte
	number int
}

func (b *blocks) add(text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tail = append(b.tail, text...)
	for len(b.tail) >= blockSize {
		var out bytes.Buffer
		if b.w == nil {
			b.w, _ = flate.NewWriter(&out, flate.BestSpeed) // fails for an unknown level only
		}
		b.w.Reset(&out)
		_, err := b.w.Write(b.tail[:blockSize])
		if err = errors.Join(err, b.w.Close()); err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		b.packed = append(b.packed, bytes.Clone(out.Bytes()))
		if b.bytes += out.Len(); b.bytes > mostPacked {
			return errTooLarge
		}
		b.tail = append(b.tail[:0], b.tail[blockSize:]...)
	}
	return nil
}

// ReadAt is that of io.ReaderAt, of the text.
func (b *blocks) ReadAt(into []byte, offset int64) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n < len(into) {
		at := offset + int64(n)
		text, err := b.block(int(at / blockSize))
		if err != nil {
			return n, err
		}
		from := int(at % blockSize)
		if from >= len(text) {
			return n, io.EOF
		}
		n += copy(into[n:], text[from:])
	}
	return n, nil
}

// block is a block's text.
func (b *blocks) block(number int) ([]byte, error) {
	switch {
	case number == len(b.packed):
		return b.tail, nil
	case number > len(b.packed):
		return nil, io.EOF
	}
	for _, o := range b.open {
		if o.number == number && o.text != nil {
			return o.text, nil
		}
	}
	text := make([]byte, blockSize)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(b.packed[number])), text); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	b.open[b.next] = openBlock{text, number}
	b.next = (b.next + 1) % blocksOpen
	return text, nil
}
