package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func twoScenes() []Scene {
	return []Scene{
		{Title: "first", Text: "look at invoices", Lock: inspect.ID{Backend: "redis", Path: "lock:invoices"}},
		{Title: "second", Text: "look at orders", Lock: fixture.Orders().ID},
	}
}

func TestDemoRunsUntilKeyPress(t *testing.T) {
	clock := fixture.Noon
	m := model(t, Options{Scenes: twoScenes(), Now: func() time.Time { return clock }}, 80, 24, fixture.Everything())
	beat := func(d time.Duration) {
		clock = clock.Add(d)
		send(m, tickedMsg{m.ticking})
	}
	beat(time.Second)
	wantText(t, m, "1/2 first", "look at invoices", "demo running: any key pauses")
	must.Equal(t, locksOf(m).Current.Lock, twoScenes()[0].Lock, "selected")
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	press(m, "k")
	selected := locksOf(m).Current.Lock
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, selected, "the demo moved the user's cursor")
	wantText(t, m, "demo paused: P resumes")
	shows(t, m, "P", "demo running: any key pauses", "2/2 second")
	beat(sceneTime)
	wantText(t, m, "1/2 first")
	send(m, tea.MouseClickMsg{X: 10, Y: 5, Button: tea.MouseLeft})
	wantText(t, m, "demo paused: P resumes")
}

func TestArrowsChangeTheScene(t *testing.T) {
	m := model(t, Options{Scenes: twoScenes()}, 80, 24, fixture.Everything())
	shows(t, m, "enter", "▸ chain")
	hides(t, m, "right", "▸ chain")
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	shows(t, m, "right left", "2/2 second")
	m = model(t, Options{Scenes: twoScenes(), Theme: theme.Options{ASCII: true}}, 120, 36, fixture.Everything(), "?")
	must.True(t, isASCII(content(m)), "not ASCII")
}

// A caption always takes two lines, so that the screen does not jump when it changes.
func TestCaptionsTakeTwoLines(t *testing.T) {
	scenes := []Scene{{Title: "short", Text: "a"}, {Title: "long", Text: strings.Repeat("word ", 60)}}
	m := model(t, Options{Scenes: scenes}, 80, 24, fixture.Everything())
	before := len(frame{m}.foot())
	press(m, "right")
	must.Equal(t, before, 4, "lines of the footer")
	must.Equal(t, len(frame{m}.foot()), 4, "lines of the footer then")
	fits(t, m)
}

// demoTour plays the recording behind the screenshots to a model, up to a time and by the recording's
// clock. It calls drawn after each snapshot.
func demoTour(t *testing.T, until time.Duration, drawn func(m *Model)) *Model {
	t.Helper()
	played, err := recording.Open(time.Now, "../screenshots/tour.jsonl.gz", recording.Speed(0), recording.Kept())
	must.Succeed(t, err)
	observer := inspect.NewObserver(played.Now, played)
	observer.Diagnose(finding.Rules(), 10*time.Second)
	m := model(t, Options{Now: played.Now, Sandbox: true}, 120, 36, nil)
	err = observer.Film(inspect.PastStep, func(emit func(inspect.Update)) error { return played.To(until, emit) }, func(s *inspect.Snapshot) {
		send(m, snapshotArrivedMsg{snapshot: s}, tickedMsg{m.ticking})
		if drawn != nil {
			drawn(m)
		}
	})
	must.Succeed(t, err)
	return m
}

// A new user's first questions to the demo take at most five keys: who blocks this lock, is it fair,
// what goes into the ticket.
func TestThreeTasksTakeFewKeys(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]struct {
		keys []string
		seen []string // on the screen
	}{
		"who blocks this":           {[]string{"enter"}, []string{"zk:/locks/accounts", "transfer-1 (127.0.0.1:45306) has held it for 45s · 3 waiting · next: transfer-2", "lockscope release zk:/locks/ledger --owner"}},
		"who blocks the fifth":      {[]string{"j", "j", "j", "j", "enter"}, []string{"zk:/locks/payments", "payment-1", "has held it for", "4 waiting · next", "stuck-holder"}},
		"who blocks most":           {[]string{"c"}, []string{"BLOCKS", "sort: blocks the most"}},
		"is it fair":                {[]string{"t"}, []string{"zk:/locks/accounts", "acquired too rarely to judge fairness"}},
		"is the fifth fair":         {[]string{"j", "j", "j", "j", "t"}, []string{"zk:/locks/payments", "fair: no overtaking"}},
		"what goes into the ticket": {[]string{"Y", "enter"}, []string{"Ticket of zk:/locks/accounts", "writing the file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := demoTour(t, 45*time.Second, nil)
			must.True(t, len(task.keys) <= 5, "too many keys")
			for _, k := range task.keys {
				press(m, k)
				if m.inFront == screen.Clients {
					makeClients(m)
				}
			}
			wantText(t, m, task.seen...)
		})
	}
}

// lineOf is the screen line of the cursor.
func lineOf(m *Model) int {
	for i, l := range splitLines(content(m)) {
		if strings.HasPrefix(l, m.theme.Glyphs.Cursor) {
			return i
		}
	}
	return -1
}

// A moment of a recording is drawn with its past: plots of the minutes before, and keys to go back.
func TestAMomentHasItsPast(t *testing.T) {
	t.Parallel()
	past := inspect.NewPast(inspect.PastKept, inspect.PastStep, inspect.PastBudget)
	var last *inspect.Snapshot
	demoTour(t, 20*time.Second, func(m *Model) {
		last = m.snapshot
		past.Add(last)
	})
	m := model(t, Options{Past: past, Now: func() time.Time { return last.TakenAt }, Replay: true}, 120, 36, last)
	plots := 0
	for _, line := range splitLines(content(m)) {
		if strings.Contains(line, "zk:/locks/payments") {
			plots++
			must.True(t, strings.ContainsAny(line, "▁▂▃▄▅▆▇█"), "the past is not plotted", line)
		}
	}
	must.True(t, plots != 0, "the lock is not in the list", content(m))
	shows(t, m, "[", "5s ago, paused")
}
