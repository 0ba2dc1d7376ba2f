package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/timeline"
)

func TestTimelineMarksUnknowns(t *testing.T) {
	t.Parallel()
	m := fairPlay(t, Options{}, 120, 36).timeline()
	keysShow(t, m, "g", "already held at 11:58:00, when watching began", "released 11:58:30", "≥30s")
	press(m, "G")
	wantText(t, m, "max waiting: 3", "held 100% of the time", "waits: 5  p50 50s  p95 57s  p99 57s", "holds: 4  p50 19s")
	m = unfairPlay(t, Options{}, 120, 36).timeline()
	keysShow(t, m, "G", "left without the lock 11:59:30")
	keysShow(t, m, "g j j", "waiting for 1m50s", "overtaken twice")
}

// The figures count an ended wait even if it began before watching did.
func TestWaitsShownInLanesAreCounted(t *testing.T) {
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	m := p.timeline()
	p.pass(100*time.Second, 0)
	wantText(t, m, "waited 35s", "wait p50 35s", "(1 wait)", "waits: 1")
	wantNoText(t, m, "no completed waits", "waits: 0")
}

// A hold with an unseen beginning may have been far shorter than the life of its entry. Neither the
// figures above the lanes nor the histogram below them count it.
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

func timelineOf(m *Model) *timeline.Screen { return m.screens[screen.Timeline].(*timeline.Screen) }

// The cursor follows the holder until the user moves it; then it stays with its lane.
func TestTimelineFollowsTheHolder(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	m := p.timeline()
	wantText(t, m, "● worker-1 · number")
	p.come(110*time.Second, 102)
	p.pass(100*time.Second, 0)
	wantText(t, m, "● worker-2 · number")
	keysShow(t, m, "j", "○ worker-3 · number")
	p.come(90*time.Second, 103)
	p.pass(80*time.Second, 0)
	wantText(t, m, "● worker-3 · number", "waited 30s")
	p.pass(60*time.Second, 0)
	p.come(50*time.Second, 104)
	wantText(t, m, "· worker-3 · number", "released 11:59:00")
	keysShow(t, m, "0", "● worker-4 · number")
	p.at(40*time.Second, func(l *inspect.Lock) { l.Holders, l.Waiters = nil, nil })
	fits(t, m)
	keysShow(t, m, "enter", "zk:/locks/fair  mutex · curator (certain)")
}

// While the lock changes hands more often than every two seconds, the cursor stays.
func TestBusyTimelineKeepsCursor(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	m := p.timeline()
	p.come(110*time.Second, 102)
	p.pass(100*time.Second, 0)
	wantText(t, m, "worker-2 · number")
	p.pass(99_600*time.Millisecond, 0)
	wantText(t, m, "worker-2 · number")
	p.until(97 * time.Second)
	wantText(t, m, "worker-3 · number")
}

// The facts of the selected lane keep their place when they wrap.
func TestLaneFactsKeepTheirLines(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 80, 36)
	m := p.timeline()
	p.come(110*time.Second, 102)
	p.pass(100*time.Second, 0) // worker-2 holds, and its facts wrap
	before := lineAt(m, "── selected")
	keysShow(t, m, "G", "queued since") // to a waiter, with shorter facts
	must.Equal(t, lineAt(m, "── selected"), before)
}

// Two attempts of one client share a lane until the user asks for a lane per attempt.
func TestTimelineFoldsAttempts(t *testing.T) {
	t.Parallel()
	p := playing(t, Options{}, startOfPlay(), 120, 36)
	m := p.timeline()
	p.pass(100*time.Second, 0) // to worker-2, and worker-1 leaves
	p.at(90*time.Second, func(l *inspect.Lock) {
		again := p.newcomer(105) // worker-1
		again.Owner.Session = fixture.Znode(100, "", 0, nil, 0).Owner.Session
		l.Waiters = append(l.Waiters, again)
	})
	p.pass(60*time.Second, 0)
	p.until(0)
	lanes := func() int { return strings.Count(content(m), " worker-1  ") }
	must.Equal(t, lanes(), 1, "lanes of one client", content(m))
	wantText(t, m, "● worker-1 · number 105", "queued 11:58:30 · attempt 2 in this window")
	keysShow(t, m, "p", "one lane per attempt")
	wantNoText(t, m, "attempt 2")
	must.Equal(t, lanes(), 2, "lanes of two attempts", content(m))
	press(m, "p")
	must.Equal(t, lanes(), 1, "not folded again")
}

func TestTimelineMovesInTime(t *testing.T) {
	t.Parallel()
	p := fairPlay(t, Options{}, 120, 36)
	m := p.timeline()
	end := func() time.Duration {
		return timelineOf(m).LaneView().Window.End().Sub(fixture.Noon).Round(2 * time.Second)
	}
	must.True(t, timelineOf(m).LaneView().Window.Step < 3*time.Second, "a cell covers too much")
	keysHide(t, m, "(", " live ")
	wantText(t, m, "0: now")
	sought := end()
	must.True(t, -50*time.Second <= sought && sought <= -40*time.Second, "a quarter earlier is", sought)
	p.until(-30 * time.Second) // the selected window does not move
	must.Equal(t, end(), sought, "the window moved: it ends at")
	keysShow(t, m, strings.Repeat("( ", 20), "no data before this")
	keysShow(t, m, ") ) ) ) ) ) ) )", " live ")
	keysShow(t, m, ")", "already at the present")
	keysShow(t, m, "( end", " live ")
	keysHide(t, m, "esc", "▸ timeline")
}

func TestTimelineZooms(t *testing.T) {
	t.Parallel()
	m := fairPlay(t, Options{}, 120, 36).timeline()
	wantText(t, m, "last 3m")
	keysShow(t, m, "+ =", "last minute")
	must.Equal(t, timelineOf(m).NeedsFastTick(), true, "no fast tick with cells of less than a second")
	for range 12 {
		press(m, "-")
		fits(t, m)
	}
	wantText(t, m, "last hour", "a window is from 10 s to 1 h long")
	must.True(t, !timelineOf(m).NeedsFastTick(), "a fast tick with cells of many seconds")
	for range 12 {
		press(m, "+")
		fits(t, m)
	}
	wantText(t, m, "last 10s")
}

func TestEmptyTimelineSaysWhy(t *testing.T) {
	wantText(t, model(t, Options{}, 80, 24, snapshotOf(), "t"), "No lock is selected")
	m := model(t, Options{}, 80, 24, fixture.Everything())
	goTo(m, screen.Timeline, screen.Subject{Lock: fixture.FreeLock().ID})
	wantText(t, m, "free: no holder", "No holder and no waiter in the 0s since watching began")
	goTo(m, screen.Timeline, screen.Subject{Lock: fixture.Id("zk:/gone")})
	wantText(t, m, "its servers do not list it", "It has not been seen")
}

// Lanes that do not fit are counted.
func TestHiddenLanesAreCounted(t *testing.T) {
	var people []fixture.Person
	for i := range 12 {
		people = append(people, fixture.Person{Name: fmt.Sprintf("app-%d", i), Session: int64(i + 1)})
	}
	l := fixture.QueueOf("/jobs/cart", time.Minute, people...)
	m := model(t, Options{}, 80, 24, snapshotOf(l))
	m.Go(screen.Timeline, screen.Subject{Lock: l.ID})
	m.navigate()
	wantText(t, m, "↓ 3 more")
	keysShow(t, m, "G", "↑ 3 more")
}

// A lock without a visible queue shows its holds, but no verdict on fairness.
func TestPlainKeyHasNoFairnessVerdict(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	goTo(m, screen.Timeline, screen.Subject{Lock: fixture.Thin().ID})
	wantText(t, m, "● Y2Nj", "▇")
	wantNoText(t, m, "fair:")
}

// A paused screen is not live; a recording never is.
func TestPausedTimelineIsNotLive(t *testing.T) {
	m := timelineOfOrders(t, Options{})
	wantText(t, m, " live ")
	keysHide(t, m, "space", " live ")
	m = timelineOfOrders(t, Options{Replay: true})
	wantNoText(t, m, " live ")
	wantText(t, m, "last 15m")
}

func timelineOfOrders(t *testing.T, o Options) *Model {
	t.Helper()
	m := goTo(model(t, o, 120, 36, fixture.Everything()), screen.Timeline, screen.Subject{Lock: fixture.Orders().ID})
	return m
}

func TestTimelineMouse(t *testing.T) {
	t.Parallel()
	m := fairPlay(t, Options{}, 120, 36).timeline()
	m.View()
	s := timelineOf(m)
	send(m, tea.MouseClickMsg{X: 10, Y: len(frame{m}.head()) + s.ListTop + 1, Button: tea.MouseLeft})
	wantText(t, m, "queued 11:57:45")
	send(m, tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelDown})
	wantNoText(t, m, "queued 11:57:45") // the wheel moves the cursor
}

// The timeline fits, and hostile names are escaped, at several sizes and after each key.
func TestTimelineFits(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	step := servertest.Effort(t, 53, 20)
	for width := minWidth; width <= 220; width += step {
		m := model(t, Options{}, width, 24+width%13, fixture.Everything())
		for l := range m.snapshot.Locks() {
			goTo(m, screen.Timeline, screen.Subject{Lock: l.ID})
			for _, key := range []string{"+", "-", "-", "(", "(", "j", "G", "0"} {
				press(m, key)
				fits(t, m)
				must.True(t, !strings.ContainsAny(m.View().Content, "\a\r\u202e"), l.ID, "went through after", key)
			}
		}
	}
}
