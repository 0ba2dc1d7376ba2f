package tui

import (
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
)

// The renderer rests while nothing changes, and draws what a key does all the same.
func TestDrawingRests(t *testing.T) {
	p := start(t, Options{Now: func() time.Time { return fixture.Noon }}, 120, 40)
	p.show(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), fixture.ManyLocks(10)))
	p.wait("10 locks")
	for range 3 {
		for deadline := time.Now().Add(patience); !p.beat.resting(); time.Sleep(time.Millisecond) { // nothing tells of it
			if time.Now().After(deadline) {
				t.Fatal("Bubble Tea's ticker is not found, or never rests")
			}
		}
		p.keys("?")
		p.wait("Keys of this screen")
		p.keys("?")
		p.await(func(screen string) bool { return !strings.Contains(screen, "Keys of this screen") })
	}
}

func (f *frameBeat) resting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ticker != nil && f.every == atRest
}
