package screen

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
)

// film reads a recording ahead of the screen that plays it.
type film struct {
	*recording.Replay
	batches chan []*inspect.Snapshot
	mu      sync.Mutex
	end     time.Time // once all is read
	err     error
}

func newFilm(played *recording.Replay) *film {
	return &film{Replay: played, batches: make(chan []*inspect.Snapshot, 1)}
}

// Limits of a batch: of time, so that the first is there soon, and of snapshots, so that the screen
// is not held up.
const (
	batchTime = 30 * time.Millisecond
	batchMost = 256
)

// readAhead reads the recording until its end or that of ctx; what went wrong is the error of Next.
func (f *film) readAhead(ctx context.Context, observer *inspect.Observer) {
	defer close(f.batches)
	var batch []*inspect.Snapshot
	send := func() {
		select {
		case f.batches <- batch:
		case <-ctx.Done():
		}
		batch = nil
	}
	var sent time.Time
	err := observer.Film(inspect.PastStep, func(emit func(inspect.Update)) error { return f.Run(ctx, emit) }, func(s *inspect.Snapshot) {
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

// Next is the next batch; io.EOF after the last.
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
