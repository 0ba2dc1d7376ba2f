package recording

import (
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
)

// New combines sources into one that writes everything they emit to w, one line per write, before
// passing it on; now dates the lines. Run fails if w does. Sessions are written with their source's
// last backend, since a recording would otherwise not show whose they are.
func New(now func() time.Time, w io.Writer, sources ...inspect.Source) inspect.Source {
	return &tee{now: now, w: w, sources: sources}
}

type tee struct {
	now     func() time.Time
	w       io.Writer
	sources []inspect.Source
	mu      sync.Mutex
}

func (t *tee) Focus(ids []inspect.ID) {
	for _, s := range t.sources {
		s.Focus(ids)
	}
}

func (t *tee) Run(ctx context.Context, emit func(inspect.Update)) error {
	to, err := newWriter(t.w, t.now())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	var broken error // guarded by mu
	for _, s := range t.sources {
		g.Go(func() error {
			var state *inspect.Backend
			return s.Run(ctx, func(u inspect.Update) {
				if u.Backend != nil {
					state = u.Backend
				} else if u.Sessions != nil {
					u.Backend = state
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				if broken != nil || ctx.Err() != nil {
					return // we are ending: failures do not count
				}
				if broken = to.write(t.dated(u), u); broken != nil {
					stop()
					return
				}
				emit(u)
			})
		})
	}
	err = g.Wait()
	if broken != nil {
		return broken
	}
	return err
}

func (t *tee) dated(u inspect.Update) time.Time {
	at := t.now()
	if !u.At.IsZero() && u.At.Before(at) {
		return u.At // this process may have been paused since
	}
	return at
}
