package recording

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	pack bool
}

// part of a recording's file, which begins with a whole snapshot; the first one begins with the
// recording.
type part struct {
	offset int64
	at     time.Time
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
	magic := make([]byte, len(zstdMagic))
	_, err = file.ReadAt(magic, 0)
	return &Finder{name: path, file: file, pack: err == nil && isPacked(magic)}, nil
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
	text, end, err := f.text(from.offset)
	if err != nil {
		return nil, err
	}
	defer end()
	m := &Moment{name: f.name, to: from.at, clock: clock{at: from.at}}
	in := newLines(f.name, text)
	if from.offset == 0 {
		if _, err := in.scan(); err != nil { // its header
			return nil, err
		}
	}
	for ctx.Err() == nil {
		line, err := in.scan()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		h, err := headOf(line)
		switch cut := line[len(line)-1] != '\n'; {
		case cut:
			return m, nil
		case err != nil:
			return nil, fmt.Errorf("recording: %s: %w", f.name, err)
		case h.Whole == wholeFirst && !h.At.After(latest):
			m.lines, m.at = nil, h.At
		case h.Whole == "" && h.At.After(at):
			m.to = at
			return m, nil
		}
		if h.At.After(m.to) {
			m.to = h.At
		}
		m.lines = append(m.lines, bytes.Clone(line))
	}
	return nil, ctx.Err()
}

// text returns the recording from a part on.
func (f *Finder) text(offset int64) (text io.Reader, end func(), err error) {
	file := io.NewSectionReader(f.file, offset, 1<<62)
	text, end, err = unpack(f.name, file)
	if err != nil {
		err = fmt.Errorf("recording: %w", err)
	}
	return text, end, err
}

// bisectTo is the length, in bytes, of a range that is searched from its beginning instead of
// halved.
const bisectTo = 64 << 10

// partBefore returns the last part that begins at or before an instant, or the first part.
func (f *Finder) partBefore(at time.Time) (part, error) {
	best, err := f.firstPart()
	if err != nil {
		return part{}, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return part{}, fmt.Errorf("recording: %w", err)
	}
	for low, high := int64(0), info.Size(); low < high; {
		from := low
		if high-low > bisectTo {
			from += (high - low) / 2
		}
		p, found, err := f.partIn(from, high)
		switch {
		case err != nil:
			return part{}, err
		case found && !p.at.After(at):
			best, low = p, p.offset+1
		case from == low:
			return best, nil
		default:
			high = from
		}
	}
	return best, nil
}

// firstPart returns the beginning of the recording.
func (f *Finder) firstPart() (part, error) {
	text, end, err := f.text(0)
	if err != nil {
		return part{}, err
	}
	defer end()
	first, err := newReader(f.name, text)
	if err != nil {
		return part{}, err
	}
	return part{0, first.began}, nil
}

// partIn returns the first part that begins between two offsets.
func (f *Finder) partIn(from, to int64) (p part, found bool, err error) {
	begin, skip := []byte("\n"+wholeBegin), int64(1)
	if f.pack {
		begin, skip = []byte(zstdMagic), 0 // each part is its own frame
	}
	buffer := make([]byte, 256<<10)
	for from < to {
		n, err := f.file.ReadAt(buffer, from)
		i := bytes.Index(buffer[:n], begin)
		switch {
		case i >= 0:
			from += int64(i)
			if at, ok := f.partAt(from + skip); ok && from < to {
				return part{from + skip, at}, true, nil
			}
			from++
		case errors.Is(err, io.EOF):
			return part{}, false, nil
		case err != nil:
			return part{}, false, fmt.Errorf("recording: %w", err)
		default:
			from += int64(n - len(begin) + 1)
		}
	}
	return part{}, false, nil
}

// partAt returns when the part at an offset begins; false if no part begins there.
func (f *Finder) partAt(offset int64) (time.Time, bool) {
	text, end, err := f.text(offset)
	if err != nil {
		return time.Time{}, false
	}
	defer end()
	begin, _ := bufio.NewReader(text).Peek(len(wholeBegin) + len(time.RFC3339Nano) + 8)
	after, ok := bytes.CutPrefix(begin, []byte(wholeBegin))
	if !ok {
		return time.Time{}, false
	}
	word, _, _ := bytes.Cut(after, []byte(`"`))
	var at time.Time
	err = at.UnmarshalText(word)
	return at, err == nil
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
	in.whole = len(m.lines) > 0 && bytes.HasPrefix(m.lines[0], []byte(wholeBegin))
	err := in.play(func(at time.Time, u inspect.Update) (bool, error) {
		m.setClock(at)
		emit(u)
		return true, ctx.Err()
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
