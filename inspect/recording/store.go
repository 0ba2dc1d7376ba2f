package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
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

// blocks keep text in packed blocks: a moment of a busy hour is in some twenty.
type blocks struct {
	packer   *zstd.Encoder
	unpacker *zstd.Decoder

	mu     sync.Mutex
	packed [][]byte
	bytes  int
	tail   []byte // the text of the block that is not full yet
	open   [blocksOpen]openBlock
	next   int
}

type openBlock struct {
	text   []byte
	number int
}

func newBlocks() (*blocks, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(blockSize), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &blocks{packer: packer, unpacker: unpacker}, nil
}

func (b *blocks) add(text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tail = append(b.tail, text...)
	for len(b.tail) >= blockSize {
		out := b.packer.EncodeAll(b.tail[:blockSize], nil)
		b.packed = append(b.packed, bytes.Clone(out))
		if b.bytes += len(out); b.bytes > mostPacked {
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
	text, err := b.unpacker.DecodeAll(b.packed[number], make([]byte, 0, blockSize))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	b.open[b.next] = openBlock{text, number}
	b.next = (b.next + 1) % blocksOpen
	return text, nil
}
