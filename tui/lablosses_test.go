package tui

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// An earlier message about a lock is not shown next to the report of its loss.
func TestLossClearsEarlierMessages(t *testing.T) {
	f := newFakeLab()
	m := taken(t, f)
	settle(t, m, press(m, "i"))
	keysSettle(t, m, "r", "still held")
	expire(m, f)
	wantText(t, m, "LOST  zk:/locks/orders")
	wantNoText(t, m, "still held")
}

// sink advances the clock until a visible loss can be acknowledged.
func sink(m *Model) {
	now := m.options.now().Add(ackDelay)
	m.options.Now = func() time.Time { return now }
}

func TestLossIsLoudOnEveryScreen(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	press(m, "esc")
	expire(m, f)
	wantText(t, m, "LOST  zk:/locks/orders", "session has expired", "Stop the work that it protects")
	keysShow(t, m, "enter q esc", "LOST  zk:/locks/orders") // typed before it could be read
	sink(m)
	keysShow(t, m, "enter L", "LOST: zookeeper session has expired; r clears it")
	wantNoText(t, m, "HOLDING", "Stop the work that it protects")
	press(m, "r")
	must.Equal(t, f.counted("release"), 0, "a lost lock was released")
}

// A loss while a dialog is open is shown in the footer, and in its own box once the dialog closes.
func TestLossDuringDialogStaysVisible(t *testing.T) {
	for name, keys := range map[string][]string{
		"help": {"?"}, "acquire": {"a"}, "palette": {":"}, "quit": {"q"}, "quit over help": {"?", "ctrl+c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeLab()
			m := taken(t, f)
			send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
			press(m, keys...)
			expire(m, f)
			for range 3 {
				sink(m) // a flash would pass by then
				receives(t, m, tickedMsg{m.ticking}, " LOST  zk:/locks/orders: zookeeper session has expired")
			}
			for range keys {
				press(m, "esc")
			}
			wantText(t, m, "LOST  zk:/locks/orders", "Stop the work that it protects", "Close")
			keysHide(t, m, "esc", "LOST  zk:", "must stop")
		})
	}
}

// All locks of a lost session are reported in one box.
func TestManyLossesShareOneBox(t *testing.T) {
	m := model(t, Options{Lab: newFakeLab()}, 80, 24, fixture.Everything())
	for i := range 9 {
		m.losses = append(m.losses, screen.Loss{Lock: inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/%d", i)}, Why: "zookeeper session has expired", At: fixture.Noon})
	}
	press(m, "j")
	wantText(t, m, "LOST  zk:/locks/0", "LOST  zk:/locks/2", "more: the Lab lists them", "Stop the work that it protects", "Close")
	m.options.Now = func() time.Time { return fixture.In(ackDelay) }
	keysHide(t, m, "? esc", "LOST")
	send(m, tea.WindowSizeMsg{Width: 60, Height: 10})
	m.losses = []screen.Loss{{Lock: fixture.Orders().ID, Why: "why", At: fixture.Noon}}
	wantText(t, m, "LOST: zk:/locks/orders")
}

func TestQuitAsksWhenSomethingIsHeld(t *testing.T) {
	t.Parallel()
	f := newFakeLab()
	m := taken(t, f)
	keysShow(t, m, "q", "You hold 1 lock here", "Quitting releases what you hold")
	press(m, "esc")
	for _, key := range []string{"enter", "esc", "q"} {
		refuses(t, m, "q", key)
	}
	quits(t, m, "q", "y")
	quits(t, m, "q", "tab", "enter")
	for _, key := range []string{"q", "ctrl+c"} {
		quits(t, inLab(t, Options{Lab: newFakeLab()}, 120, 36, fixture.Orders().ID), key) // without asking
	}
}

// ctrl+c asks on top of any dialog, which returns if the user stays. A second ctrl+c quits.
func TestInterruptAsksOnce(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"a screen": nil, "the help": {"?"}, "a form": {"a"}} {
		m := taken(t, newFakeLab())
		press(m, keys...)
		before := m.top()
		must.True(t, press(m, "ctrl+c") == nil, "over", name, "quits without asking")
		wantText(t, m, "You hold 1 lock here")
		must.True(t, press(m, "esc") == nil, name, "esc does not stay")
		must.Equal(t, m.top(), before, name, "open after staying")
		press(m, "ctrl+c")
		quits(t, m, "ctrl+c")
	}
}

// A dialog receives its results even while the question covers it.
func TestInterruptKeepsTheDialogBelowAlive(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	holding(m, func() int { return 1 })
	asked := press(m, "x")
	press(m, "ctrl+c")
	settle(t, m, asked)
	wantText(t, m, "You hold 1 lock here")
	keysShow(t, m, "esc", "Type the path")
}

func TestSmallWindowRefusesQuitWhileHolding(t *testing.T) {
	t.Parallel()
	m := taken(t, newFakeLab())
	send(m, tea.WindowSizeMsg{Width: 40, Height: 10})
	must.True(t, press(m, "q") == nil, "q quits without asking while the question is invisible")
	wantText(t, m, "You hold 1 lock", "ctrl+c releases and quits")
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	press(m, "q")
	must.True(t, m.HasDialog(), "q does not ask in a large window")
}
