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

func isPacked(begin []byte) bool {
	return len(begin) >= len(zstdMagic) &&
		(string(begin[:len(gzipMagic)]) == gzipMagic || string(begin[:len(zstdMagic)]) == zstdMagic)
}

// unpack returns the text of a file, packed or not. name is for errors. end frees the decoder.
func unpack(name string, file io.Reader) (text io.Reader, end func(), err error) {
	in := bufio.NewReader(file)
	begin, _ := in.Peek(len(zstdMagic))
	if !isPacked(begin) {
		return in, func() {}, nil
	}
	end = func() {}
	if string(begin) == zstdMagic {
		var d *zstd.Decoder
		if d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow)); err == nil {
			text, end = d, d.Close
		}
	} else {
		text, err = gzip.NewReader(in)
	}
	if err == nil {
		checked := bufio.NewReader(text)
		_, err = checked.Peek(1) // zstd looks at its header when it is first read
		text = checked
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("%s is %w: %w", name, ErrFormat, err)
	}
	return text, end, nil
}
