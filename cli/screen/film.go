package screen

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
)

// film reads a recording ahead of the screen that plays it.
type film struct {
	*recording.Replay
	batches chan []*inspect.Snapshot
	finder  *recording.Finder // nil: moments cannot be found
	look    func(ctx context.Context, at time.Time) (*inspect.Snapshot, error)
	looking chan struct{} // holds a token during a look: each needs memory for all locks
	mu      sync.Mutex
	ends    time.Time // when the recording ends, once that is known
	end     time.Time // when all has been read
	err     error
}

func newFilm(played *recording.Replay) *film {
	return &film{Replay: played, batches: make(chan []*inspect.Snapshot, 1), looking: make(chan struct{}, 1)}
}

// seekable lets the film find moments that it has not read yet, until end is called. It does
// nothing for a file that can be read only once.
func (f *film) seekable(a *app.App, path string) (end func(), err error) {
	finder, err := recording.NewFinder(path)
	if errors.Is(err, recording.ErrNotSeekable) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	f.finder = finder
	f.look = func(ctx context.Context, at time.Time) (*inspect.Snapshot, error) {
		return lookAt(ctx, a, finder, at)
	}
	return func() { _ = finder.Close() }, nil // it was only read
}

// Moment returns the state at an instant, or at the recording's end if that is earlier. It waits
// for any other look to finish.
func (f *film) Moment(ctx context.Context, at time.Time) (*inspect.Snapshot, error) {
	if f.look == nil {
		return nil, recording.ErrNotSeekable
	}
	select {
	case f.looking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-f.looking }()
	if err := ctx.Err(); err != nil { // both may have happened
		return nil, err
	}
	return f.look(ctx, at)
}

func lookAt(ctx context.Context, a *app.App, finder *recording.Finder, at time.Time) (*inspect.Snapshot, error) {
	m, err := finder.Moment(ctx, at)
	if err != nil {
		return nil, err
	}
	observer := a.Diagnosing(m.Now, m)
	if err := observer.Play(func(emit func(inspect.Update)) error { return m.Run(ctx, emit) }); err != nil {
		return nil, err
	}
	return observer.Snapshot(), nil
}

// End is the instant of the last update, once it is known; else zero.
func (f *film) End() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends
}

// findEnd looks for the end of the recording. Next reports errors in the recording.
func (f *film) findEnd(ctx context.Context) {
	if f.finder == nil {
		return
	}
	if ends, err := f.finder.End(ctx); err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ends = ends
	}
}

// A batch is limited in time, to show the first one soon, and in size, to keep the screen
// responsive.
const (
	batchTime = 30 * time.Millisecond
	batchMost = 256
)

// readAhead reads until the recording or ctx ends. Next returns its error.
func (f *film) readAhead(ctx context.Context, observer *inspect.Observer) {
	defer close(f.batches)
	f.findEnd(ctx)
	var batch []*inspect.Snapshot
	send := func() {
		select {
		case f.batches <- batch:
		case <-ctx.Done():
		}
		batch = nil
	}
	var sent time.Time
	err := observer.Film(inspect.PastStep, func(emit func(inspect.Update)) error { return f.Run(ctx, emit) },
		func(s *inspect.Snapshot) {
			batch = append(batch, s)
			if len(batch) == batchMost || time.Since(sent) > batchTime {
				send()
				sent = time.Now()
			}
		})
	if len(batch) > 0 {
		send()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end, f.err = f.Now(), err
}

// Next returns the next batch; io.EOF after the last.
func (f *film) Next(ctx context.Context) ([]*inspect.Snapshot, error) {
	select {
	case batch, ok := <-f.batches:
		if ok {
			return batch, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	return nil, io.EOF
}

// caption announces the end of the recording.
func (f *film) caption(drawn time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.end.IsZero() || drawn.Before(f.end):
		return ""
	case f.Cut():
		return "The recording ends here, in the middle of an update: the recorder was stopped."
	default:
		return "The recording ends here."
	}
}
