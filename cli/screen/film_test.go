package screen

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
)

// Lookups run one at a time, however many moments are requested. A waiting caller can give up.
func TestMomentLookupsRunOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFilm(nil)
		done := make(chan struct{})
		begun := make(chan struct{}, 51)
		f.look = func(context.Context, time.Time) (*inspect.Snapshot, error) {
			begun <- struct{}{}
			<-done
			return nil, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 50)
		var last chan error
		for i := range 51 {
			own, answer := ctx, given
			if i == 50 {
				last = make(chan error, 1)
				own, answer = t.Context(), last
			}
			go func() {
				_, err := f.Moment(own, time.Time{})
				answer <- err
			}()
			synctest.Wait()
		}
		must.Equal(t, len(begun), 1, "concurrent lookups")
		cancel()
		synctest.Wait()
		must.Equal(t, len(given), 49, "canceled callers")
		close(done)
		must.Be(t, <-last, nil)
		for range 49 {
			must.Be(t, <-given, context.Canceled)
		}
	})
}

// A film ends with its context, even during a read.
func TestAFilmEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte(`{"recording":2,"at":"2026-01-01T00:00:00Z"}`+"\n"), 0o600))
	played := must.Have(recording.Open(time.Now, path, recording.Speed(0), recording.Kept()))(t)
	f := newFilm(played)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.readAhead(ctx, inspect.NewObserver(played.Now, played))
	if batch, err := f.Next(t.Context()); err != io.EOF || batch != nil {
		t.Errorf("%v, %v", batch, err)
	}
}

// A film has each snapshot once, in order, and announces the end of the recording.
func TestAFilmPlaysToTheEnd(t *testing.T) {
	t.Parallel()
	const tour = "../../screenshots/tour.jsonl.gz"
	played := must.Have(recording.Open(time.Now, tour, recording.Speed(0), recording.Kept()))(t)
	f := newFilm(played)
	go f.readAhead(t.Context(), inspect.NewObserver(played.Now, played))
	var at []time.Time
	batch, err := f.Next(t.Context())
	for ; err == nil; batch, err = f.Next(t.Context()) {
		for _, s := range batch {
			at = append(at, s.TakenAt)
		}
	}
	must.Be(t, err, io.EOF)
	must.True(t, len(at) > 10 && slices.IsSortedFunc(at, time.Time.Compare), "snapshots at", at)
	must.Equal(t, len(slices.Compact(slices.Clone(at))), len(at), "different moments")
	must.Equal(t, f.caption(at[0]), "", "caption at first")
	must.Equal(t, f.caption(played.Now()), "The recording ends here.", "caption at the end")
}
