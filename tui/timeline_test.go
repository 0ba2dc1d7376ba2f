package tui

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// A hold with an unseen beginning may have been far shorter than the life of its entry. Neither the
// figures above the lanes nor the histogram below them count it. They count an ended wait, even if it
// began before watching did.
func TestUnseenHoldStartIsNotCounted(t *testing.T) {
	t.Parallel()
	l := startOfPlay()
	l.Holders[0].Since, l.Waiters[0].Since = fixture.Ago(120_600*time.Millisecond), fixture.Ago(120_500*time.Millisecond)
	p := playing(t, Options{}, l, 120, 36)
	m := p.timeline()
	p.pass(119_700*time.Millisecond, 0) // to worker-2
	p.come(119_500*time.Millisecond, 102)
	p.pass(119_400*time.Millisecond, 0)
	p.until(0)
	wantText(t, m, "hold p50 300ms p99 300ms max 300ms (1 hold)", "holds: 1  p50 300ms", "(2 waits)", "waits: 2", "≤0.9s")
	keysShow(t, m, "g", "   queued 11:57:59 · held ≤900ms · released 11:58:00")
}

// A paused screen is not live; a recording never is.
func TestPausedTimelineIsNotLive(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything(), "t")
	wantText(t, m, " live ")
	keysHide(t, m, "space", " live ")
	wantNoText(t, model(t, Options{Replay: true}, 120, 36, fixture.Everything(), "t"), " live ")
}
