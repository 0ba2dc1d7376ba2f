// Package stall notices that this process was paused: by a debugger, SIGSTOP, a closed lid or an
// overloaded machine. No server reports what happened during the pause. Data from before it must
// not be taken for the present. Nor must an answer that was waiting in a socket.
package stall

import (
	"context"
	"sync"
	"time"
)

// Limit is the time without a beat after which the process must have been paused.
const Limit = 3 * time.Second

// every is the interval of the beats.
const every = 250 * time.Millisecond

// Watch notices stalls from its Start on. Its methods may be called by any goroutine. A nil Watch
// never reports a stall.
type Watch struct {
	now   func() time.Time
	woken chan struct{}

	mu    sync.Mutex
	last  time.Time // the newest beat; zero before Start
	until time.Time // the end of the newest stall; zero if there was none
	taken time.Time // see Take
	fresh bool      // there has been a stall since
}

// New makes a watch with a clock. The reading that advanced further counts. The monotonic one
// continues while the process is stopped, and the wall clock even while the machine sleeps. (A wall
// clock that is set forward looks the same.)
func New(now func() time.Time) *Watch {
	return &Watch{now: now, woken: make(chan struct{}, 1)}
}

// Start begins to watch. The beats come from a separate goroutine, so that a busy process does not
// look paused. They end with ctx; call the returned function to wait for that.
func (w *Watch) Start(ctx context.Context) (wait func()) {
	w.mu.Lock()
	w.last = w.now()
	w.taken = w.last
	w.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beats := time.NewTicker(every)
		defer beats.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beats.C:
				w.mu.Lock()
				w.beat()
				w.mu.Unlock()
			}
		}
	}()
	return func() { <-ended }
}

// beat records that the process runs now. mu is held.
func (w *Watch) beat() (now time.Time) {
	now = w.now()
	if w.last.IsZero() {
		return now
	}
	if max(now.Sub(w.last), now.Round(0).Sub(w.last.Round(0))) > Limit {
		w.until, w.fresh = now, true
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
	w.last = now
	return now
}

// Woken receives after a stall.
func (w *Watch) Woken() <-chan struct{} { return w.woken }

// Take returns the time, and whether the process has been paused since the last call of Take. from
// is the time of that call: later changes were then not seen when they happened. Only one goroutine
// may call it.
func (w *Watch) Take() (now, from time.Time, stalled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = w.beat()
	from, w.taken = w.taken, now
	stalled, w.fresh = w.fresh, false
	return now, from, stalled
}

// Since reports whether the process has been paused since an instant. The answer to a request from
// then may be as old as that.
func (w *Watch) Since(asked time.Time) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat()
	return !w.until.IsZero() && !asked.After(w.until)
}
