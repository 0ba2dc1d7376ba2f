package recording

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/lockscope/lockscope/inspect"
)

// Finder finds any moment of a recording. It finds the whole snapshot before it by a binary search,
// and plays on from there. A file that another program packed in one piece is unpacked from its
// beginning. It is safe for concurrent use.
type Finder struct {
	name string
	file *os.File // even if another file takes its name
	size int64    // when it was opened
	// begin starts each part but the first.
	begin string
}

// part of a recording's file, which begins with a whole snapshot; the first one begins with the
// recording.
type part struct {
	offset int64
	at     time.Time
	lines  *reader
}

// ErrNotSeekable is returned for a file that can be read only once.
var ErrNotSeekable = errors.New("recording: not a regular file, so it is not seekable")

// NewFinder opens the recording in a file. It fails when the file can be read only once.
func NewFinder(path string) (*Finder, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotSeekable
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	f := &Finder{name: path, file: file, size: info.Size(), begin: wholeBegin}
	magic := make([]byte, len(zstdMagic))
	if _, err := file.ReadAt(magic, 0); err == nil && (isZstd(magic) || isGzip(magic)) {
		f.begin = zstdMagic // each part is its own frame
	}
	return f, nil
}

// Close closes the file.
func (f *Finder) Close() error { return f.file.Close() }

// End returns the time of the last update.
func (f *Finder) End(ctx context.Context) (time.Time, error) {
	m, err := f.Moment(ctx, forever)
	if err != nil {
		return time.Time{}, err
	}
	return m.to, nil
}

// forever is after any moment.
var forever = time.Unix(1<<40, 0)

// runUp is the time that is played before a moment, since findings are only reported after a
// second.
const runUp = 5 * time.Second

// Moment returns a source that emits the state at an instant, without most of the earlier updates.
// An instant after the recording's end means the end.
func (f *Finder) Moment(ctx context.Context, at time.Time) (*Moment, error) {
	latest := at.Add(-runUp)
	from, err := f.partBefore(latest)
	if err != nil {
		return nil, err
	}
	m := &Moment{name: f.name, to: from.at, clock: clock{at: from.at}}
	var whole [][]byte // a snapshot, to which a crash may have added no update
	for ctx.Err() == nil {
		line, err := from.lines.scan()
		if errors.Is(err, io.EOF) {
			if m.lines == nil && from.offset > 0 {
				return f.Moment(ctx, from.at.Add(runUp-1)) // from the snapshot before
			}
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		h, err := headOf(line)
		switch line = bytes.Clone(line); {
		case err != nil:
			return nil, fmt.Errorf("recording: %s: %w", f.name, err)
		case h.Whole != "" && h.At.After(latest):
		case h.Whole == wholeFirst:
			whole = [][]byte{line}
		case h.Whole != "":
			whole = append(whole, line)
		case h.At.After(at):
			m.to = at
			return m, nil
		default:
			if whole != nil {
				m.lines, whole = whole, nil
			}
			m.lines = append(m.lines, line)
			if h.At.After(m.to) {
				m.to = h.At
			}
		}
	}
	return nil, ctx.Err()
}

// partBefore returns the last part that begins at or before an instant, or the first part.
func (f *Finder) partBefore(at time.Time) (part, error) {
	first, err := newReader(f.name, f.from(0))
	if err != nil {
		return part{}, err
	}
	best := part{at: first.began, lines: first}
	for low, high := best.offset, f.size; low < high; {
		middle := low + (high-low)/2
		if p, found := f.partIn(middle, high); found && !p.at.After(at) {
			best, low = p, p.offset+1
		} else {
			high = middle
		}
	}
	return best, nil
}

// partIn returns the first part that begins between two offsets.
func (f *Finder) partIn(from, to int64) (part, bool) {
	for in := bufio.NewReader(f.from(from)); from < to; {
		skipped, err := in.ReadSlice(f.begin[0])
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break // the end, or an error that reading from an earlier part meets too
		}
		from += int64(len(skipped))
		if rest, _ := in.Peek(len(f.begin) - 1); err != nil || string(rest) != f.begin[1:] {
			continue
		}
		if p, ok := f.partAt(from - 1); ok {
			return p, true
		}
	}
	return part{}, false
}

// partAt returns the part at an offset; false if no part begins there.
func (f *Finder) partAt(offset int64) (part, bool) {
	text, err := unpack(f.name, f.from(offset))
	if err != nil {
		return part{}, false
	}
	begin, _ := text.Peek(text.Size())
	h, err := headOf(begin)
	return part{offset, h.At, newLines(f.name, text)}, err == nil && h.Whole == wholeFirst
}

// from reads the file from an offset on.
func (f *Finder) from(offset int64) io.Reader {
	return io.NewSectionReader(f.file, offset, math.MaxInt64)
}

// Moment is a source of the state at an instant. It emits the last whole snapshot before it, as a
// first look would see it, and then the updates recorded since.
type Moment struct {
	clock
	name  string
	lines [][]byte
	to    time.Time
}

// Run emits all updates without pauses, and sets the clock to the instant.
func (m *Moment) Run(ctx context.Context, emit func(inspect.Update)) error {
	in := newLines(m.name, bytes.NewReader(bytes.Join(m.lines, nil)))
	in.decoding = decoding(0)
	in.whole = true
	err := in.play(func(at time.Time, u inspect.Update) error {
		m.setClock(at)
		emit(u)
		return ctx.Err()
	})
	if err == nil {
		m.setClock(m.to)
	}
	return err
}

// head is the beginning of a line.
type head struct {
	Whole string    `json:"whole"`
	At    time.Time `json:"at"`
}

// headOf reads what comes before a line's update, which may be large.
func headOf(line []byte) (head, error) {
	begin, _, _ := bytes.Cut(line, []byte(`,"update":`))
	var h head
	err := json.Unmarshal(append(bytes.Clone(bytes.TrimSuffix(bytes.TrimSpace(begin), []byte("}"))), '}'), &h)
	if err == nil && h.At.IsZero() {
		err = errors.New("a line without its time")
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return h, err
}
