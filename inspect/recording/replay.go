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
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/lockscope/lockscope/inspect"
)

// Replay is a source that emits the contents of a recording. Its backends, and the reported ways
// of reading, are as recorded.
type Replay struct {
	name string
	open func() (io.ReadCloser, error)
	// speed relative to the recorded time; 0 is without any pause.
	speed float64
	shift bool

	now     func() time.Time
	clock                 // advances only without pauses; else it stays at the first instant
	offset  time.Duration // from a recorded instant to the emitted one
	started time.Time     // when playback began
	cut     bool
}

// clock is the time of the newest emitted update.
type clock struct {
	mu sync.Mutex
	at time.Time
}

// Now returns the recording's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) setClock(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Focus does nothing: a recording is fixed.
func (*clock) Focus([]inspect.ID) {}

// Option changes how a recording is played.
type Option func(*Replay)

// Speed plays faster than the original by a factor; 0 or less plays without pauses.
func Speed(factor float64) Option { return func(r *Replay) { r.speed = max(0, factor) } }

// Kept keeps all instants as recorded. Without it, they are shifted so that the recording begins
// when it is played.
func Kept() Option { return func(r *Replay) { r.shift = false } }

// Open returns a source for a recording file, which may be compressed with gzip or zstd. now is the
// clock. It fails if the file does not begin like a recording.
func Open(now func() time.Time, path string, options ...Option) (*Replay, error) {
	r := newReplay(now, path, func() (io.ReadCloser, error) { return os.Open(path) }, options)
	in, err := r.open()
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer in.Close()
	_, err = newReader(r.name, in)
	return r, err
}

// Read returns a source for the recording in a reader. now is the clock. Its Run can be called
// once.
func Read(now func() time.Time, in io.Reader, options ...Option) *Replay {
	return newReplay(now, "recording", func() (io.ReadCloser, error) { return io.NopCloser(in), nil }, options)
}

func newReplay(now func() time.Time, name string, open func() (io.ReadCloser, error), options []Option) *Replay {
	r := &Replay{now: now, name: name, open: open, speed: 1, shift: true}
	for _, o := range options {
		o(r)
	}
	return r
}

// Now returns the clock of the emitted instants, for an Observer of this source and for a screen.
func (r *Replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.started.IsZero():
		return r.now()
	case r.speed == 0:
		return r.at
	default:
		return r.at.Add(time.Duration(float64(r.now().Sub(r.started)) * r.speed))
	}
}

// Cut reports whether the last line was incomplete, as after a crash. All earlier lines were
// played.
func (r *Replay) Cut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}

// Run plays the recording to its end.
func (r *Replay) Run(ctx context.Context, emit func(inspect.Update)) error {
	return r.each(math.MaxInt64, emit, func(at time.Time) error { return r.await(ctx, at) })
}

// To plays the first part of the recording without pauses, and sets the clock to the end of that
// part. A shorter recording is played to its end.
func (r *Replay) To(part time.Duration, emit func(inspect.Update)) error {
	return r.each(part, emit, func(at time.Time) error {
		r.setClock(at)
		return nil
	})
}

// All plays the whole recording as To does.
func (r *Replay) All(emit func(inspect.Update)) error { return r.To(math.MaxInt64, emit) }

// each emits the updates of the first part, and calls before ahead of each.
func (r *Replay) each(part time.Duration, emit func(inspect.Update), before func(time.Time) error) error {
	file, err := r.open()
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	defer file.Close()
	in, err := newReader(r.name, file)
	if err != nil {
		return err
	}
	r.begin(in.began)
	in.decoding = decoding(r.offset)
	end := in.began.Add(r.offset).Add(part)
	err = in.play(func(at time.Time, u inspect.Update) error {
		if at.After(end) {
			r.setClock(end)
			return io.EOF
		}
		if err := before(at); err != nil {
			return err
		}
		emit(u)
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = in.cut
	return err
}

func (r *Replay) begin(recorded time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.at = r.now(), recorded
	if r.shift {
		r.at = r.started
		r.offset = r.started.Sub(recorded)
	}
}

func (r *Replay) await(ctx context.Context, at time.Time) error {
	if r.speed == 0 {
		r.setClock(at)
		return ctx.Err()
	}
	select {
	case <-time.NewTimer(time.Duration(float64(at.Sub(r.Now())) / r.speed)).C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// reader reads a recording line by line.
type reader struct {
	name  string
	lines *bufio.Scanner
	line  int
	began time.Time
	cut   bool // the last update was not whole
	whole bool // whole snapshots are read, not skipped

	decoding json.Options
}

func newReader(name string, in io.Reader) (*reader, error) {
	unpacked, err := unpack(name, in)
	if err != nil {
		return nil, err
	}
	r := newLines(name, unpacked)
	text, err := r.scan()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var h header
	if json.Unmarshal(text, &h) != nil || h.Recording == 0 || h.At.IsZero() {
		return nil, fmt.Errorf("recording: %s is %w (make one with lockscope record)", name, ErrFormat)
	}
	if h.Recording != Version {
		const is = "recording: %s is %w: it has version %d, and this program reads version %d (record again)"
		return nil, fmt.Errorf(is, name, ErrFormat, h.Recording, Version)
	}
	r.began = h.At
	return r, nil
}

// newLines reads unpacked lines without a header.
func newLines(name string, in io.Reader) *reader {
	r := &reader{name: name, lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, MaxLine+1) // with its end
	r.lines.Split(wholeLines)
	return r
}

// wholeLines splits into lines with their ends. A last line without its end was cut off.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if atEOF && len(data) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if end := bytes.IndexByte(data, '\n') + 1; end > 0 {
		return end, data[:end], nil
	}
	return 0, nil, err
}

// scan is the next line with its end.
func (r *reader) scan() ([]byte, error) {
	if r.lines.Scan() {
		r.line++
		return r.lines.Bytes(), nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, io.ErrUnexpectedEOF): // of a line or a packed file
		r.cut = true
	case err != nil:
		return nil, fmt.Errorf("recording: %s, line %d: %w", r.name, r.line+1, err)
	}
	return nil, io.EOF
}

// play passes each update to take until that returns an error; io.EOF ends it without one.
func (r *reader) play(take func(time.Time, inspect.Update) error) error {
	for {
		at, u, err := r.next()
		if err == nil {
			err = take(at, u)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next is the next update; io.EOF after the last one.
func (r *reader) next() (time.Time, inspect.Update, error) {
	var put []*inspect.Lock
	for {
		text, err := r.scan()
		if err != nil {
			r.cut = r.cut || put != nil
			return time.Time{}, inspect.Update{}, err
		}
		if !r.whole && bytes.HasPrefix(text, []byte(`{"whole":`)) {
			continue
		}
		e, err := decode(text, r.decoding)
		if err != nil {
			err = fmt.Errorf("recording: %s, line %d: %w: %w", r.name, r.line, ErrFormat, err)
			return time.Time{}, inspect.Update{}, err
		}
		put = append(put, e.Update.Put...)
		if !e.More {
			e.Update.Put = put
			return e.At, e.Update, nil
		}
	}
}
