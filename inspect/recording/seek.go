package recording

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"lockscope/inspect"
)

// Finder finds any moment of a recording: it plays from the whole snapshot before it, which it
// finds by a binary search. A file that was packed in one piece by others is unpacked from its
// beginning. For concurrent use.
type Finder struct {
	name string
	file *os.File // also when another takes its name
	pack bool

	mu    sync.Mutex
	parts []part // nil before the first search
}

// part of a recording's file, which begins with a whole snapshot; the first one begins with the
// recording.
type part struct {
	offset int64
	at     time.Time
}

// ErrNotSeekable is returned for what can be read only once.
var ErrNotSeekable = errors.New("recording: not a regular file, in which moments can be found")

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

// Close ends the use of the file.
func (f *Finder) Close() error { return f.file.Close() }

// End is the instant of the last update.
func (f *Finder) End(ctx context.Context) (time.Time, error) {
	m, err := f.Moment(ctx, forever)
	if err != nil {
		return time.Time{}, err
	}
	return m.to, nil
}

// forever is after any moment.
var forever = time.Unix(1<<40, 0)

// runUp is the time that is played before a moment: what is not so for a second is not reported.
const runUp = 5 * time.Second

// Moment returns a source that emits what was so at an instant, without most of what was before it.
// An instant after the recording's end stands for the end.
func (f *Finder) Moment(ctx context.Context, at time.Time) (*Moment, error) {
	parts, err := f.search()
	if err != nil {
		return nil, err
	}
	latest := at.Add(-runUp)
	i, found := slices.BinarySearchFunc(parts, latest, func(p part, at time.Time) int { return p.at.Compare(at) })
	if !found {
		i = max(0, i-1)
	}
	text, end, err := f.text(parts[i].offset)
	if err != nil {
		return nil, err
	}
	defer end()
	m := &Moment{name: f.name, to: parts[i].at, at: parts[i].at}
	in := newLines(f.name, text)
	if parts[i].offset == 0 {
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

// text is the recording from a part on.
func (f *Finder) text(offset int64) (text io.Reader, end func(), err error) {
	file := io.NewSectionReader(f.file, offset, 1<<62)
	if !f.pack {
		return file, func() {}, nil
	}
	text, end, err = unpack(f.name, file)
	if err != nil {
		err = fmt.Errorf("recording: %w", err)
	}
	return text, end, err
}

// search returns the parts, in their order.
func (f *Finder) search() ([]part, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts != nil {
		return f.parts, nil
	}
	text, end, err := f.text(0)
	if err != nil {
		return nil, err
	}
	defer end()
	first, err := newReader(f.name, text)
	if err != nil {
		return nil, err
	}
	begin, skip := "\n"+wholeBegin, int64(1)
	if f.pack {
		begin, skip = zstdMagic, 0 // each part is a frame of its own
	}
	parts := []part{{0, first.began}}
	err = occurrences(f.file, []byte(begin), func(offset int64) {
		if at, ok := f.partAt(offset + skip); ok {
			parts = append(parts, part{offset + skip, at})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	f.parts = parts
	return parts, nil
}

// partAt is when the part at an offset begins; false where no part does.
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

// occurrences finds where bytes occur in a file.
func occurrences(file io.ReaderAt, what []byte, found func(offset int64)) error {
	buffer := make([]byte, 1<<20)
	for from := int64(0); ; {
		n, err := file.ReadAt(buffer, from)
		for at := 0; ; {
			i := bytes.Index(buffer[at:n], what)
			if i < 0 {
				break
			}
			found(from + int64(at+i))
			at += i + len(what)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		from += int64(n - len(what) + 1)
	}
}

// Moment is a source of what was so at an instant: first the whole snapshot before it, as a first
// look sees it, then what was recorded from there on.
type Moment struct {
	name  string
	lines [][]byte
	to    time.Time

	mu sync.Mutex
	at time.Time
}

// Now is the recording's clock.
func (m *Moment) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *Moment) setClock(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

// Focus does nothing: a recording holds what it holds.
func (m *Moment) Focus([]inspect.ID) {}

// Run emits all of it without pauses, and leaves the clock at the instant.
func (m *Moment) Run(ctx context.Context, emit func(inspect.Update)) error {
	in := newLines(m.name, bytes.NewReader(bytes.Join(m.lines, nil)))
	in.decoding = decoding(0)
	in.whole = len(m.lines) > 0 && bytes.HasPrefix(m.lines[0], []byte(wholeBegin))
	for ctx.Err() == nil {
		at, u, err := in.next()
		if errors.Is(err, io.EOF) {
			m.setClock(m.to)
			return nil
		}
		if err != nil {
			return err
		}
		m.setClock(at)
		emit(u)
	}
	return ctx.Err()
}

// head is what a line begins with.
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
		err = fmt.Errorf("%w: a line without its time", ErrFormat)
	}
	return h, err
}
