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
	"golang.org/x/sync/errgroup"

	"lockscope/inspect"
)

// How the index keeps places: a mark so many bytes of text after the one before, or so many for each lock of which one has the place. What
// is played from a mark on is no more than that.
const (
	markEvery   = 256 << 10
	markPerLock = 256
	mostPlaces  = 96 << 20 // bytes of all marks
)

// keptTables is the most watch tables of parts of a backend that a mark leads to.
const keptTables = 32

// Index finds any moment of a recording without playing what was before it: of marks in the text it keeps where the newest version
// of each lock stands. It is made by one pass that only finds the ends of values, so that it is far ahead of whoever plays the
// recording. A packed recording is kept unpacked in blocks, which are packed anew. For concurrent use.
type Index struct {
	name string
	file *os.File // also when another takes its name
	pack bool
	text store

	mu    sync.Mutex
	grown chan struct{} // closed when what follows has changed
	began time.Time
	marks []mark
	bytes int       // of the marks
	most  int       // of these bytes
	to    time.Time // the latest of an entry: one may be dated back
	end   int64     // where the last entry ends
	ended bool
	whole bool // there the recording does, too
}

// mark is a place between two entries, and where everything stands that was so there, backend by backend.
type mark struct {
	at       time.Time
	offset   int64
	backends []backendPlaces
}

// place of a value in the text, in bytes.
type place struct {
	offset int64
	size   int32
}

// backendPlaces has the places of the newest values of one backend.
type backendPlaces struct {
	backend     place
	sessions    place
	sessionsAt  place // when the servers were asked for them
	allSessions bool
	watches     []place
	locks       []place
}

// ErrNoIndex is returned for what can be read only once.
var ErrNoIndex = errors.New("recording: no plain file, which has no index")

// NewIndex makes the index of a recording in a file, which Build fills. It fails when the file can be read only once.
func NewIndex(path string) (*Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNoIndex
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	x := &Index{name: path, file: file, text: plainText{file}, grown: make(chan struct{}), most: mostPlaces}
	magic := make([]byte, len(zstdMagic))
	if _, err := file.ReadAt(magic, 0); err == nil && isPacked(magic) {
		text, err := newBlocks()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		x.pack, x.text = true, text
	}
	return x, nil
}

// Close ends the use of the file. Build must have returned.
func (x *Index) Close() error { return x.file.Close() }

// Build reads the recording to its end, to that of ctx, or to where it is damaged or more than can be kept: there the index ends, too, which is
// no error of its own, as whoever plays the recording comes there.
func (x *Index) Build(ctx context.Context) error {
	defer x.change(func() { x.ended = true })
	var text io.Reader = io.NewSectionReader(x.file, 0, 1<<62)
	if x.pack {
		unpacked, err := unpack(x.name, text)
		if err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		text = unpacked
	}
	in := bufio.NewReaderSize(text, 256<<10)
	head, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("recording: %s: %w", x.name, err)
	}
	first, err := newReader(x.name, bytes.NewReader(head))
	if err != nil {
		return err
	}
	if err := x.text.add(head); err != nil {
		return err
	}
	s := newScan(int64(len(head)))
	x.change(func() { x.began, x.to, x.end = first.began, first.began, s.offset })
	return x.scan(ctx, in, s)
}

func (x *Index) scan(ctx context.Context, in *bufio.Reader, s *scan) error {
	var long []byte
	stride := int64(1) // doubled whenever there were too many marks
	for ctx.Err() == nil {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > MaxLine {
				return nil
			}
			continue
		}
		if err != nil { // the last line may not be whole: what is in it is not played either
			x.change(func() { x.whole = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) })
			return nil
		}
		if long != nil {
			long = append(long, line...)
			line = long
		}
		at, whole, err := s.line(line)
		if err != nil {
			return nil
		}
		if err := x.text.add(line); err != nil {
			return err
		}
		long = nil
		if !whole {
			continue
		}
		x.mu.Lock()
		if at.After(x.to) {
			x.to = at
		}
		to := x.to
		x.end = s.offset
		due := s.offset-s.marked >= stride*max(markEvery, int64(s.count)*markPerLock)
		x.mu.Unlock()
		if due {
			m := s.mark(to)
			x.change(func() {
				if !x.keep(m) {
					stride *= 2
				}
			})
		}
	}
	return ctx.Err()
}

// keep keeps a mark. False: there were too many, and every other one is gone.
func (x *Index) keep(m mark) bool {
	x.marks, x.bytes = append(x.marks, m), x.bytes+m.size()
	if x.bytes <= x.most {
		return true
	}
	kept := make([]mark, 0, len(x.marks)/2)
	x.bytes = 0
	for i := 1; i < len(x.marks); i += 2 {
		kept = append(kept, x.marks[i])
		x.bytes += x.marks[i].size()
	}
	x.marks = kept
	return false
}

// size is the bytes that a mark takes.
func (m mark) size() int {
	const aPlace, aBackend = 16, 128
	n := 0
	for _, b := range m.backends {
		n += aBackend + aPlace*(len(b.locks)+len(b.watches))
	}
	return n
}

// change changes what others wait for.
func (x *Index) change(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
	close(x.grown)
	x.grown = make(chan struct{})
}

// Span is the time of the recording, as far as the index has it; all: that is all of it.
func (x *Index) Span() (from, to time.Time, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.began, x.to, x.whole
}

// Moment returns a source that emits what was so at an instant, without most of what was before it. It waits until the index is there. Of an instant
// after the recording's end it is the end. It fails where the index ends before the recording does: that is damaged there, or more than can be kept.
func (x *Index) Moment(ctx context.Context, at time.Time) (*Moment, error) {
	for {
		x.mu.Lock()
		ended, whole, grown, m := x.ended, x.whole, x.grown, x.before(at)
		to, end := x.to, x.end
		x.mu.Unlock()
		switch {
		case to.After(at):
			return &Moment{index: x, mark: m, end: end, to: at, at: m.at}, nil
		case ended && whole:
			return &Moment{index: x, mark: m, end: end, to: to, at: m.at}, nil
		case ended:
			return nil, fmt.Errorf("recording: %s: its index ends before %s", x.name, at.Format(time.RFC3339))
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// runUp is the time before a moment that is played at least, where a mark is not much further away: what is not so for a second is not reported.
const runUp = 5 * time.Second

// before is the mark from which a moment is played; the beginning where there is none.
func (x *Index) before(at time.Time) mark {
	i, _ := slices.BinarySearchFunc(x.marks, at, func(m mark, at time.Time) int { return m.at.Compare(at) })
	if i--; i >= 0 && at.Sub(x.marks[i].at) < runUp {
		i--
	}
	if i < 0 {
		return mark{at: x.began}
	}
	return x.marks[i]
}

// Moment is a source of what was so at an instant: first all that was so at a mark before it, as a first look sees it, then what was
// recorded from there on.
type Moment struct {
	index *Index
	mark  mark
	end   int64 // of the text that may be read
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
	options := decoding(0)
	from := m.mark.offset
	for i := range m.mark.backends {
		if err := m.first(ctx, &m.mark.backends[i], options, emit); err != nil {
			return err
		}
	}
	text := &counted{Reader: io.NewSectionReader(m.index.text, from, m.end-from)}
	in := newLines(m.index.name, text)
	if in.decoding = options; from == 0 {
		if _, err := in.scan(); err != nil { // its header
			return err
		}
	}
	for ctx.Err() == nil {
		at, u, err := in.next()
		if errors.Is(err, io.EOF) && text.n < m.end-from {
			return fmt.Errorf("recording: %s: %w: shorter than it was", m.index.name, io.ErrUnexpectedEOF)
		}
		if errors.Is(err, io.EOF) || err == nil && at.After(m.to) {
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

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.n += int64(n)
	return n, err
}

// first emits what was so of a backend at the mark, in one update as a first look does, and after it what was read of the watches.
func (m *Moment) first(ctx context.Context, b *backendPlaces, options json.Options, emit func(inspect.Update)) error {
	half := len(b.locks) / 2 // read beside each other: this is most of the work
	var second []*inspect.Lock
	var g errgroup.Group
	g.Go(func() (err error) {
		second, err = m.locks(ctx, options, b.locks[half:])
		return err
	})
	u, err := m.compose(ctx, options, b.allSessions, []places{{"Backend", []place{b.backend}}, {"Sessions", []place{b.sessions}}, {"SessionsAt", []place{b.sessionsAt}}})
	if err == nil {
		u.Put, err = m.locks(ctx, options, b.locks[:half])
	}
	if err = errors.Join(err, g.Wait()); err != nil {
		return err
	}
	u.Put = append(u.Put, second...)
	emit(u)
	for i := range b.watches {
		u, err := m.compose(ctx, options, false, []places{{"Watches", b.watches[i : i+1]}})
		if err != nil {
			return err
		}
		emit(u)
	}
	return nil
}

// locksAtOnce are composed in one text: nobody waits for much more than these when it is given up.
const locksAtOnce = 1000

// locks reads locks in the text.
func (m *Moment) locks(ctx context.Context, options json.Options, all []place) ([]*inspect.Lock, error) {
	list := make([]*inspect.Lock, 0, len(all))
	for some := range slices.Chunk(all, locksAtOnce) {
		u, err := m.compose(ctx, options, false, []places{{"Put", some}})
		if err != nil {
			return nil, err
		}
		list = append(list, u.Put...)
	}
	return list, nil
}

// places are those of a field's values.
type places struct {
	field  string
	values []place
}

// compose reads an update of values in the text, until the end of ctx.
func (m *Moment) compose(ctx context.Context, options json.Options, allSessions bool, fields []places) (inspect.Update, error) {
	line := fmt.Appendf(nil, `{"at":%q,"update":{"AllSessions":%v`, m.mark.at.Format(time.RFC3339Nano), allSessions)
	for _, f := range fields {
		if len(f.values) == 0 || f.values[0].size == 0 {
			continue
		}
		line = fmt.Appendf(line, `,%q:`, f.field)
		before := byte('[')
		for _, p := range f.values {
			if err := ctx.Err(); err != nil {
				return inspect.Update{}, err
			}
			if f.field == "Put" {
				line = append(line, before)
				before = ','
			}
			from := len(line)
			line = slices.Grow(line, int(p.size))[:from+int(p.size)]
			if _, err := m.index.text.ReadAt(line[from:], p.offset); err != nil {
				return inspect.Update{}, fmt.Errorf("recording: %s: %w", m.index.name, err)
			}
		}
		if f.field == "Put" {
			line = append(line, ']')
		}
	}
	e, err := decode(append(line, "}}"...), options)
	if err != nil {
		return inspect.Update{}, fmt.Errorf("recording: %s: %w", m.index.name, err)
	}
	return e.Update, nil
}
