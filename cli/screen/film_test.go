package screen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/inspect"
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
		if looks := len(begun); looks != 1 {
			t.Errorf("%d looks at a time", looks)
		}
		cancel()
		synctest.Wait()
		if n := len(given); n != 49 {
			t.Errorf("%d of 49 that wait were given up", n)
		}
		close(done)
		if err := <-last; err != nil {
			t.Error(err)
		}
		for range 49 {
			if err := <-given; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
