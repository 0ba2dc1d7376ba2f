package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The first bytes of packed files: RFC 1952 2.3.1, RFC 8878 3.1.1.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// mostWindow limits the memory for unpacking a file of another program, in bytes. It is four times
// the window of Pack.
const mostWindow = 32 << 20

// Pack returns a writer that packs a recording with zstd into w. Each written line can be read
// from w at once, so a crash loses no more than in an unpacked file. Close ends the file and
// leaves w open.
func Pack(w io.Writer) (io.WriteCloser, error) {
	// Without concurrency, no other goroutine has a part of a line, or an error of w.
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &packing{Encoder: e, w: w}, nil
}

type packing struct {
	*zstd.Encoder
	w io.Writer
}

func (p *packing) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte(wholeBegin)) { // playback may start here, in a new frame
		if err := p.Close(); err != nil {
			return 0, err
		}
		p.Reset(p.w)
	}
	n, err := p.Encoder.Write(line)
	if err == nil {
		err = p.Flush()
	}
	return n, err
}

// unpack returns the text of a file, packed or not. name is for errors.
func unpack(name string, file io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReader(file)
	var text io.Reader
	var err error
	switch begin, _ := in.Peek(len(zstdMagic)); {
	case isZstd(begin):
		text, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
	case isGzip(begin):
		text, err = gzip.NewReader(in)
	default:
		return in, nil
	}
	if err == nil {
		in = bufio.NewReader(text)
		_, err = in.Peek(1) // zstd looks at its header when it is first read
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %s is %w: %w", name, ErrFormat, err)
	}
	return in, nil
}

func isZstd(begin []byte) bool { return bytes.HasPrefix(begin, []byte(zstdMagic)) }
func isGzip(begin []byte) bool { return bytes.HasPrefix(begin, []byte(gzipMagic)) }
