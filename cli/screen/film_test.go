package screen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// However many moments are sought, there is one look at a time; who waits for one can give it up.
func TestOneMomentIsLookedForAtATime(t *testing.T) {
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
		must.Equal(t, len(begun), 1, "looks at a time")
		cancel()
		synctest.Wait()
		must.Equal(t, len(given), 49, "of 49 that wait were given up")
		close(done)
		must.Be(t, <-last, nil)
		for range 49 {
			must.Be(t, <-given, context.Canceled)
		}
	})
}
