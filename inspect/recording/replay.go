package recording

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	r := newReplay(now, path, func() (io.ReadCloser, error) { return openFile(path) }, options)
	in, err := r.open()
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer in.Close()
	_, err = newReader(r.name, in)
	return r, err
}

// packed is a file that is decompressed while being read.
type packed struct {
	io.Reader
	close func() error
}

func (p packed) Close() error { return p.close() }

// openFile opens a file as text, whether it is compressed or not.
func openFile(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, end, err := unpack(path, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return packed{text, func() error { end(); return file.Close() }}, nil
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
	return r.each(func(began time.Time) { r.begin(began) }, func(at time.Time, u inspect.Update) (bool, error) {
		if err := r.await(ctx, at); err != nil {
			return false, err
		}
		emit(u)
		return true, nil
	})
}

// To plays the first part of the recording without pauses, and sets the clock to the end of that
// part. A shorter recording is played to its end.
func (r *Replay) To(part time.Duration, emit func(inspect.Update)) error {
	var end time.Time
	return r.each(func(began time.Time) {
		r.begin(began)
		end = began.Add(r.offset).Add(part)
	}, func(at time.Time, u inspect.Update) (bool, error) {
		if at.After(end) {
			r.setClock(end)
			return false, nil
		}
		r.setClock(at)
		emit(u)
		return true, nil
	})
}

// All plays the whole recording as To does.
func (r *Replay) All(emit func(inspect.Update)) error { return r.To(1<<63-1, emit) }

// each passes the start time to begin, then each update to next until that returns false.
func (r *Replay) each(begin func(time.Time), next func(time.Time, inspect.Update) (bool, error)) error {
	file, err := r.open()
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	defer file.Close()
	in, err := newReader(r.name, file)
	if err != nil {
		return err
	}
	begin(in.began)
	in.decoding = decoding(r.offset)
	err = in.play(next)
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
	wait := time.Duration(float64(at.Sub(r.Now())) / r.speed)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reader reads a recording line by line.
type reader struct {
	name  string
	lines *bufio.Scanner
	line  int
	began time.Time
	cut   bool // the last line was not whole
	whole bool // whole snapshots are read, up to the first other line

	decoding json.Options
}

func newReader(name string, in io.Reader) (*reader, error) {
	r := newLines(name, in)
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

// newLines reads lines without a header.
func newLines(name string, in io.Reader) *reader {
	r := &reader{name: name, lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, MaxLine+2) // with its end
	r.lines.Split(wholeLines)
	return r
}

// wholeLines splits into lines with their ends, so that one that was cut off shows.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// scan is the next line with its end.
func (r *reader) scan() ([]byte, error) {
	if r.lines.Scan() {
		r.line++
		return r.lines.Bytes(), nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, io.ErrUnexpectedEOF): // of a packed file that was cut off
		r.cut = true
	case err != nil:
		return nil, fmt.Errorf("recording: %s, line %d: %w", r.name, r.line+1, err)
	}
	return nil, io.EOF
}

// play passes each update to take until that returns false.
func (r *reader) play(take func(time.Time, inspect.Update) (bool, error)) error {
	for {
		at, u, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := take(at, u); err != nil || !more {
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
			r.cut = r.cut || put != nil && errors.Is(err, io.EOF)
			return time.Time{}, inspect.Update{}, err
		}
		complete := text[len(text)-1] == '\n'
		if bytes.HasPrefix(text, []byte(`{"whole":`)) {
			if !complete {
				r.cut = true
			}
			if !r.whole {
				continue
			}
		} else {
			r.whole = false
		}
		e, err := decode(text, r.decoding)
		switch {
		case err != nil && !complete:
			r.cut = true
			return time.Time{}, inspect.Update{}, io.EOF
		case err != nil:
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
