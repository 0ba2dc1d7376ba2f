package tui

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

// changed is a snapshot with a list of changes, as a subscription delivers it.
func changed(ids []inspect.ID, locks ...*inspect.Lock) *inspect.Snapshot {
	s := snapshotOf(locks...)
	s.Changed = append([]inspect.ID{}, ids...)
	return s
}

func locksOf(m *Model) *locks.Screen { return m.screens[screen.Locks].(*locks.Screen) }

// listed are the paths of the table's rows.
func listed(m *Model) (paths []string) {
	s := locksOf(m)
	for _, e := range s.Index.Slice(s.Opened, 0, 1<<20) {
		paths = append(paths, e.Row.ID.Path)
	}
	return paths
}

func TestPauseFreezesTheScreen(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, fixture.Everything(), "space")
	before := content(m)
	must.Contain(t, before, "PAUSED", "no badge")
	now = fixture.In(time.Minute)
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{fixture.Split().ID}, fixture.Orders())}, tickedMsg{m.ticking})
	deliver(m, changed(nil, fixture.Orders()))
	must.NoDiff(t, cmp.Diff(before, content(m)))
	keysShow(t, m, "space", "1 lock: ")
	wantText(t, m, "redis:lock:invoices is gone")
	wantNoText(t, m, "PAUSED")
}

func TestOpenAndBack(t *testing.T) {
	var focus []inspect.ID
	m := model(t, Options{Focus: func(ids ...inspect.ID) { focus = ids }}, 80, 24, fixture.Everything())
	must.Equal(t, len(focus), 8, "focus on … locks")
	keysShow(t, m, "j enter", "locks ▸ chain", "worker-3 (10.2.0.2:53122) has held it for 13m58s")
	must.Same(t, focus, []inspect.ID{fixture.Orders().ID}, "focus")
	keysHide(t, m, "esc", "▸ chain")
	must.Equal(t, len(focus), 8, "focus on … locks")
}

func TestMouse(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	clickAt(t, m, "zk:/locks/orders")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	send(m, tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelDown})
	must.Equal(t, locksOf(m).Current.Lock, fixture.UnknownLock().ID, "selected by the wheel")
	send(m, tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelUp})
	clickAt(t, m, "zk:/locks/orders")
	wantText(t, m, "▸ chain")
	clickAt(t, m, "10.2.0.4:53122")
	want, _ := fixture.Orders().Waiters[1].Identity("zk")
	must.Equal(t, m.front().Selected().Owner, want, "selected")
}

// The line about a backend stays for a while after its recovery, so that the rows below do not jump.
func TestBackendLineLingersAfterRecovery(t *testing.T) {
	clock := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return clock }}, 120, 36, fixture.Everything())
	wantText(t, m, "redis degraded", "10.2.1.5:6379: no answer for 3.2s")
	unhealthy, well := fixture.Backends(), fixture.Backends()
	well[1].State = inspect.Connected
	turn := func(after time.Duration, b []*inspect.Backend) {
		clock = clock.Add(after)
		deliver(m, inspect.NewSnapshot(clock, b, []*inspect.Lock{fixture.Orders()}))
		send(m, tickedMsg{m.ticking})
		fits(t, m)
	}
	high := len(frame{m}.head())
	for range 3 {
		turn(time.Second, well)
		wantText(t, m, "redis was degraded until 12:00:0")
		turn(time.Second, unhealthy)
		wantText(t, m, "redis degraded")
		wantNoText(t, m, "was degraded")
	}
	turn(time.Second, well)
	turn(4*time.Second, well)
	must.Equal(t, len(frame{m}.head()), high, "the rows jumped")
	turn(2*time.Second, well)
	wantNoText(t, m, "degraded")
}

// Masters that do not share locks are reported once, above the list.
func TestIndependentMastersAreNamedOnTop(t *testing.T) {
	b := fixture.Backends()
	b[1].State, b[1].Spread = inspect.Connected, inspect.Spread{Masters: 3, Locks: 11, OnOne: 11, Used: 3}
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, b, []*inspect.Lock{fixture.Minority()}))
	wantText(t, m, "redis: most likely 3 independent servers  give each its own target")
	must.Contain(t, lineWith(t, m, "redis:lock:left"), " unknown ")
}

// Each master that does not answer is named, with its own error.
func TestEverySilentMasterIsNamed(t *testing.T) {
	b := fixture.Backends()
	for i := range 2 {
		s := &b[1].Servers[i]
		s.State, s.Error = inspect.ServerDown, "redissource: master "+s.Addr+": connection lost\x1b"
		b[1].Error += s.Error + "; "
	}
	m := model(t, Options{}, 200, 50, inspect.NewSnapshot(fixture.Noon, b, nil))
	wantText(t, m, `redis degraded  10.2.1.1:6379: connection lost\u{1b}; 10.2.1.2:6379: connection lost\u{1b}; 10.2.1.5:6379: no answer`)
}

func TestGoneLockSaysSo(t *testing.T) {
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	deliver(m, changed([]inspect.ID{fixture.Orders().ID}, fixture.Readers()))
	wantText(t, m, "zk:/locks/orders", "This lock is gone")
	b := fixture.Backends()
	b[0].FirstPass = false
	deliver(m, inspect.NewSnapshot(fixture.Noon, b, nil))
	wantText(t, m, "zk:/locks/orders", "has not been read yet")
}

func TestHandoffHighlightsNewHolder(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	l := fixture.Orders()
	before, next := l.Holders[0], l.Waiters[0]
	next.State, next.Watches, next.HeldSince = inspect.Holding, "", fixture.Noon
	l.Holders, l.Waiters = []inspect.Contender{next}, l.Waiters[1:]
	s := changed([]inspect.ID{l.ID}, l)
	s.Events = []inspect.Event{
		{Kind: inspect.EventReleased, At: fixture.Noon, Lock: l.ID, Contender: &before},
		{Kind: inspect.EventHandover, At: fixture.Noon, Lock: l.ID, Contender: &next, Previous: &before},
	}
	press(m, "space")
	deliver(m, s)
	deliver(m, changed([]inspect.ID{}, l))
	wantNoText(t, m, "handoff")
	keysShow(t, m, "space", "last acquisitions", "12:00:00  handoff worker-3 → worker-7")
	must.True(t, screen.FreshGrant(m.Grants(l.ID), next.Name, m.now), "the new holder is not highlighted")
	must.True(t, !screen.FreshGrant(m.Grants(l.ID), next.Name, fixture.In(screen.FreshFor)), "it stays highlighted")
}

// Reading a contender that was only listed before is not a grant.
func TestReadingMoreIsNotAGrant(t *testing.T) {
	l, listed := fixture.Orders(), fixture.Orders()
	listed.Holders[0].Czxid, listed.Holders[0].Owner = 0, inspect.Owner{}
	m := opened(t, Options{}, 120, 36, l.ID)
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, listed)}, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, l)})
	wantNoText(t, m, "handoff", "acquired by")
}

func TestLongQueueScrolls(t *testing.T) {
	l := fixture.Orders()
	last := &l.Waiters[len(l.Waiters)-1]
	for i := range int32(200) {
		c := fixture.Znode(700+i, fmt.Sprintf("late-%03d", i), time.Second, last, inspect.Confirmed)
		l.Waiters = append(l.Waiters, c)
		last = &c
	}
	m := model(t, Options{}, 80, 24, snapshotOf(l))
	keysShow(t, m, "enter", "↓ ", "more")
	keysShow(t, m, "G", "late-199", "↑ ")
}

func TestFeedEndIsReported(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	send(m, snapshotArrivedMsg{err: errors.New("end of the recording")})
	wantText(t, m, "no more updates:  end of the recording", "invoices")
}

func TestQuit(t *testing.T) {
	for _, keys := range [][]string{{"q"}, {"enter", "q"}} {
		quits(t, model(t, Options{}, 80, 24, fixture.Everything()), keys...)
	}
	quits(t, model(t, Options{}, 40, 10, nil), "ctrl+c") // too small a window for anything else
}

// The key of the screen in front does nothing, whatever is selected.
func TestReopeningFrontScreenDoesNothing(t *testing.T) {
	for _, e := range screenList() {
		if e.key == "" {
			continue
		}
		m := opened(t, Options{}, 120, 36, fixture.Orders().ID, e.key)
		settled := slices.Clone(m.backStack)
		press(m, "j", e.key, "j", "j", e.key)
		must.Same(t, m.backStack, settled, e.key, "the back stack is")
		wantText(t, m, "already on "+string(e.name))
	}
	m := model(t, Options{}, 120, 36, fixture.Everything())
	keysShow(t, m, "1", "already on locks")
	wantNoText(t, m, "esc goes back") // from the first screen it leads nowhere
}

// bells counts the bells among the commands of a message.
func bells(m *Model, msg tea.Msg) (n int) {
	for _, raw := range messages[tea.RawMsg](send(m, msg)) {
		if raw == (tea.RawMsg{Msg: "\a"}) {
			n++
		}
	}
	return n
}

func TestTheBellRingsForNewFindings(t *testing.T) {
	now := fixture.Noon
	start := func(bell inspect.Severity) *Model {
		return model(t, Options{Bell: bell, Now: func() time.Time { return now }}, 80, 24, nil)
	}
	on, off := start(inspect.Warning), start("")
	for _, step := range []struct {
		what  string
		after time.Duration
		found inspect.Finding
		want  int
	}{
		{"present at the first look", bellPause, inspect.Finding{Severity: inspect.Critical}, 0},
		{"a warning", bellPause, inspect.Finding{Severity: inspect.Warning}, 1},
		{"not worth a bell", bellPause, inspect.Finding{Severity: inspect.Info}, 0},
		{"muted", bellPause, inspect.Finding{Severity: inspect.Critical, Muted: &inspect.Muted{}}, 0},
		{"critical", bellPause, inspect.Finding{Severity: inspect.Critical}, 1},
		{"too soon after the last one", bellPause - 1, inspect.Finding{Severity: inspect.Critical}, 0},
		{"after the pause", 1, inspect.Finding{Severity: inspect.Critical}, 1},
	} {
		now = now.Add(step.after)
		s := inspect.NewSnapshot(now, fixture.Backends()[:1], nil)
		s.Events = []inspect.Event{{Kind: inspect.EventFinding, Lock: fixture.Id("zk:/a"), At: now, Finding: &step.found}}
		must.Equal(t, bells(on, snapshotArrivedMsg{snapshot: s}), step.want, step.what)
		must.Equal(t, bells(off, snapshotArrivedMsg{snapshot: s}), 0, step.what, "while bells are off")
	}
}

func TestSuspendNeedsAShell(t *testing.T) {
	suspends := func(m *Model) bool {
		cmd := press(m, "ctrl+z")
		return cmd != nil && cmd() == tea.SuspendMsg{}
	}
	must.True(t, suspends(model(t, Options{}, 80, 24, nil)), "ctrl+z does not suspend")
	m := model(t, Options{NoSuspend: "there is no shell"}, 80, 24, nil)
	must.True(t, !suspends(m), "suspended without a shell that could resume it")
	wantText(t, m, "not suspended: there is no shell")
	m = model(t, Options{}, 80, 24, nil)
	holding(m, func() int { return 1 })
	must.True(t, !suspends(m), "suspended while holding a lock")
}
