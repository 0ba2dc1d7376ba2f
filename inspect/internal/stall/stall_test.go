package stall

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// machine has a clock that keeps running while this process is stopped.
type machine struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (m *machine) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.ahead)
}

func (m *machine) stop(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}

// started is a watch that runs until the returned function is called.
func started(t *testing.T, m *machine) (w *Watch, end func()) {
	w = New(m.now)
	ctx, stop := context.WithCancel(t.Context())
	wait := w.Start(ctx)
	return w, func() { stop(); wait() }
}

func TestStallIsReportedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		stopped time.Duration
		beats   bool // the watch beats before Take
		stalled bool
	}{
		"stopped, and asked at once":    {33 * time.Second, false, true},
		"stopped, and its beats notice": {33 * time.Second, true, true},
		"was slow":                      {2 * time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{}
				w, end := started(t, m)
				defer end()
				time.Sleep(10 * time.Second) // busy: no client takes anything, and the beats go on
				before, _, stalled := w.Take()
				must.True(t, !stalled, "it was only busy")
				time.Sleep(400 * time.Millisecond)
				asked := m.now()
				m.stop(tt.stopped)
				if tt.beats {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				select {
				case <-w.Woken():
					must.True(t, tt.stalled, "woken without a stall")
				default:
					if tt.stalled && tt.beats {
						t.Error("not woken")
					}
				}
				if w.Since(asked) != tt.stalled || w.Since(before) != tt.stalled {
					t.Errorf("since it was asked for: %v, want %v", w.Since(asked), tt.stalled)
				}
				now, from, stalled := w.Take()
				if stalled != tt.stalled || !from.Equal(before) || !now.Equal(m.now()) {
					t.Errorf("stalled %v from %v, want %v from %v", stalled, from, tt.stalled, before)
				}
				time.Sleep(time.Millisecond)
				must.True(t, !w.Since(m.now()), "a later request counts as older than the stall")
				if _, _, again := w.Take(); again {
					t.Error("reported twice")
				}
			})
		})
	}
}

// While the machine sleeps the monotonic clock stops, as on Linux.
func TestWallClockRevealsSleep(t *testing.T) {
	awake := time.Now()
	clock := awake.Add(-time.Minute).Round(0) // a minute ago by the wall clock alone
	w := New(func() time.Time { return clock })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.Start(ctx)()
	clock = awake
	if _, _, stalled := w.Take(); !stalled {
		t.Error("it was not noticed")
	}
}

func TestNothingStallsBeforeTheStart(t *testing.T) {
	m := &machine{}
	w := New(m.now)
	w.Take()
	m.stop(time.Minute)
	if _, _, stalled := w.Take(); stalled || w.Since(time.Time{}) || (*Watch)(nil).Since(time.Time{}) {
		t.Error("a stall before the start is reported")
	}
}
