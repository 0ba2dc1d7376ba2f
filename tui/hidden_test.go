package tui

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

// counting counts a screen's messages.
type counting struct {
	screen.Screen
	heard []screen.SnapshotMsg // with Update
	asked int                  // for anything else
}

func (c *counting) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(screen.SnapshotMsg); ok {
		c.heard = append(c.heard, msg)
	}
	return c.Screen.Update(msg)
}

func (c *counting) Open(p screen.Place, missed screen.SnapshotMsg) tea.Cmd {
	c.heard = append(c.heard, missed)
	return c.Screen.Open(p, missed)
}

func (c *counting) Focus() []inspect.ID       { c.asked++; return c.Screen.Focus() }
func (c *counting) Actions() []screen.Action  { c.asked++; return c.Screen.Actions() }
func (c *counting) View() string              { c.asked++; return c.Screen.View() }
func (c *counting) SetSize(width, height int) { c.asked++; c.Screen.SetSize(width, height) }

// A hidden screen is asked nothing and gets no message, whatever happens; opened, it hears once which locks changed meanwhile.
func TestHiddenScreensHearNothing(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	screens := make(map[screen.Name]*counting)
	for name, s := range m.screens {
		screens[name] = &counting{Screen: s}
		m.screens[name] = screens[name]
	}
	for _, ids := range [][]inspect.ID{{fixture.Orders().ID}, {fixture.Orders().ID, fixture.Thin().ID}, {}} {
		s := fixture.Everything()
		s.Changed = ids
		send(m, snapshotArrivedMsg{snapshot: s}, tickedMsg{m.ticking})
		m.View()
	}
	for name, c := range screens {
		switch {
		case name == screen.Locks && len(c.heard) != 3:
			t.Errorf("the screen in front heard %v", c.heard)
		case name != screen.Locks && (len(c.heard) > 0 || c.asked > 0):
			t.Errorf("%s is hidden, heard %v and was asked %d times", name, c.heard, c.asked)
		}
	}
	press(m, "f")
	press(m, "esc", "f")
	want := []screen.SnapshotMsg{{All: true}, {}}
	if diff := cmp.Diff(want, screens[screen.Findings].heard); diff != "" {
		t.Errorf("opened for the first time, and again: %s", diff)
	}
	press(m, "esc")
	for range 2 {
		s := fixture.Everything()
		s.Changed = []inspect.ID{fixture.Orders().ID, fixture.Split().ID}
		send(m, snapshotArrivedMsg{snapshot: s})
	}
	press(m, "f")
	if diff := cmp.Diff(screen.SnapshotMsg{Changed: []inspect.ID{fixture.Orders().ID, fixture.Split().ID}}, screens[screen.Findings].heard[2]); diff != "" {
		t.Error(diff)
	}
}

// What changed is remembered for hidden screens up to a number of locks, whatever the number of snapshots.
func TestChangesAreKeptForAWhile(t *testing.T) {
	id := func(n int) inspect.ID { return inspect.ID{Backend: "zk", Path: fmt.Sprint(n)} }
	var c changes
	c.add(nil, true)
	start := c.next()
	for n := range changesKept {
		c.add([]inspect.ID{id(n)}, false)
	}
	if msg := c.since(start); msg.All || len(msg.Changed) != changesKept {
		t.Errorf("all %v, %d", msg.All, len(msg.Changed))
	}
	c.add([]inspect.ID{id(-1)}, false)
	if msg := c.since(start); !msg.All {
		t.Error("a change was forgotten")
	}
	if msg := c.since(start + 1); msg.All || len(msg.Changed) != changesKept {
		t.Errorf("all %v, %d", msg.All, len(msg.Changed))
	}
	if msg := c.since(c.next()); msg.All || len(msg.Changed) != 0 {
		t.Errorf("%+v", msg)
	}
	for range 3 * changesKept {
		c.add(nil, false)
	}
	if len(c.lists) > changesKept || c.ids != 0 {
		t.Errorf("%d lists of %d locks are kept", len(c.lists), c.ids)
	}
	big := make([]inspect.ID, changesKept+1)
	before := c.next()
	c.add(big, false)
	if msg := c.since(before); !msg.All || c.ids != 0 {
		t.Errorf("more than is kept: %+v", msg)
	}
	c.add(nil, true)
	if msg := c.since(c.next() - 1); !msg.All {
		t.Error("an unknown change was forgotten")
	}
}

// Opened, a screen that was hidden shows what one does that was in front all the time.
func TestAScreenIsRightWhenItIsOpened(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	for _, e := range screenList() {
		t.Run(string(e.name), func(t *testing.T) {
			now := fixture.Ago(time.Minute)
			o := Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}, Now: func() time.Time { return now }}
			shown, hidden := model(t, o, 120, 36, fixture.Everything()), model(t, o, 120, 36, fixture.Everything())
			about := screen.Subject{Lock: fixture.Orders().ID}
			open := func(m *Model, to screen.Name) {
				m.Go(to, about)
				settle(t, m, send(m, nil))
			}
			open(shown, e.name)
			other := screen.Backends
			if e.name == other {
				other = screen.Chain
			}
			open(hidden, other)
			for step := range 5 {
				now = now.Add(10 * time.Second)
				list := []*inspect.Lock{fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Minority(), fixture.UnknownLock(), fixture.Hostile()}
				new := fixture.Sick("zk:/locks/new", fixture.Trouble("herd", inspect.Warning, ""))
				if step > 1 {
					list = append(list, new)
				}
				s := inspect.NewSnapshot(now, fixture.Backends(), list)
				s.Changed = []inspect.ID{fixture.Thin().ID, fixture.Split().ID, new.ID}
				if step == 2 {
					s.Events = []inspect.Event{
						{Kind: inspect.EventAppeared, At: now, Lock: new.ID},
						{Kind: inspect.EventFinding, At: now, Lock: new.ID, Finding: &new.Findings[0]},
					}
				}
				for _, m := range []*Model{shown, hidden} {
					settle(t, m, send(m, snapshotArrivedMsg{snapshot: s}))
				}
			}
			open(hidden, e.name)
			if e.name == screen.Clients { // their list is made at its own pace
				makeClients(shown)
				makeClients(hidden)
			}
			if diff := cmp.Diff(shown.front().View(), hidden.front().View()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
