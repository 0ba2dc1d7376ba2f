package tui

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestFaultsAndTheirEffects(t *testing.T) {
	box := &fakeFaults{}
	m := inLab(t, Options{Sandbox: true, Faults: box, Lab: newFakeLab()}, 120, 36, fixture.Orders().ID)
	press(m, "tab", "tab")
	settle(t, m, func() tea.Cmd { send(m, snapshotArrivedMsg{snapshot: m.snapshot}); return nil }())
	wantText(t, m, "freeze the holder of /locks/orders", "now worker-3: it stays alive", "the queue grows until you thaw it", "stop master 10.2.1.1:6379")
	settle(t, m, press(m, "enter"))
	m.now = m.now.Add(time.Minute)
	wantText(t, m, "thaw the holder of /locks/orders", "nothing has happened to the lock since")
	press(m, "down", "w")
	wantText(t, m, "expire the session of worker-7")
	settle(t, m, press(m, "!"))
	expired := fmt.Sprintf("expire %x", fixture.Orders().Waiters[0].Owner.Session)
	must.Same(t, box.calls, []string{"freeze zk:/locks/orders", expired})
	next := fixture.Orders().Waiters[1]
	m.addEvents([]inspect.Event{
		{Kind: inspect.EventWaiting, At: fixture.Noon, Lock: fixture.Orders().ID, Contender: &next}, {Kind: inspect.EventAppeared, At: fixture.Noon, Lock: fixture.Thin().ID},
	}, 0, m.snapshot, m.snapshot)
	wantText(t, m, "12:00:00 expire the session of worker-7", "waits")
	wantNoText(t, m, "lock found")
}

// inFaults is a model with the focus in the faults pane.
func inFaults(t *testing.T, o Options, box *fakeFaults, width, height int) (*Model, *lab.Screen) {
	t.Helper()
	o.Sandbox, o.Faults, o.Lab = true, box, newFakeLab()
	m := inLab(t, o, width, height, fixture.Orders().ID)
	press(m, "shift+tab")
	s := m.screens[screen.Lab].(*lab.Screen)
	settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	return m, s
}

// A fault hits the contender that was on the screen, even if the lock has changed hands. Another key
// selects the next contender.
func TestAFaultHitsTheNamedContender(t *testing.T) {
	t.Parallel()
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{}, box, 120, 36)
	press(m, "down")
	wantText(t, m, "expire the session of worker-3", "worker-7, next in the queue, gets")
	l := fixture.Orders()
	old := l.Holders[0]
	l.Holders, l.Waiters = l.Waiters[:1], l.Waiters[1:]
	l.Holders[0].State = inspect.Holding
	show := func() {
		send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l})})
	}
	show()
	wantText(t, m, "expire the session of worker-3", "worker-3 left the lock; press w for the next")
	settle(t, m, press(m, "!"))
	must.Equal(t, len(box.calls), 0, "hit", box.calls)
	old.Name, old.State = "_c_again-lock-0000000700", inspect.Waiting // it asks again, with the same session
	l = fixture.Orders()
	l.Holders, l.Waiters = l.Waiters[:1], append(l.Waiters[1:], old)
	show()
	settle(t, m, press(m, "!"))
	must.Same(t, box.calls, []string{fmt.Sprintf("expire %x", old.Owner.Session)})
	l.Waiters = l.Waiters[:2]
	show()
	press(m, "down")
	wantText(t, m, "cut the connection of worker-7")
}

// A fault whose label just changed is not injected until the user has had time to read it.
func TestJustChangedFaultIsNotInjected(t *testing.T) {
	t.Parallel()
	clock := fixture.Noon
	box := &fakeFaults{}
	m, _ := inFaults(t, Options{Now: func() time.Time { return clock }}, box, 120, 36)
	look := func() {
		clock = clock.Add(screen.SlowBeat)
		settle(t, m, send(m, snapshotArrivedMsg{snapshot: m.snapshot}))
	}
	box.frozen = fixture.Orders().ID.String() // by the scenario, not the user
	look()
	settle(t, m, press(m, "!"))
	wantText(t, m, "thaw the holder of /locks/orders", `just changed to "thaw the holder of /locks/orders": press again`)
	must.Equal(t, len(box.calls), 0, "did", box.calls)
	look()
	settle(t, m, press(m, "enter"))
	must.Same(t, box.calls, []string{"thaw zk:/locks/orders"})
}
