package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/chain"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

// changed is a snapshot as a subscription delivers it, with the list of changes.
func changed(ids []inspect.ID, locks ...*inspect.Lock) *inspect.Snapshot {
	s := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), locks)
	s.Changed = append([]inspect.ID{}, ids...)
	return s
}

func locksOf(m *Model) *locks.Screen { return m.screens[screen.Locks].(*locks.Screen) }

// cursorOf is the row that the cursor of the screen in front is on.
func cursorOf(m *Model) int {
	at, _, _ := m.front().(screen.Scrolling).ScrollPosition()
	return at
}

// listed are the lines of the table: paths, and groups by their prefix.
func listed(m *Model) []string {
	var ids []string
	s := locksOf(m)
	for _, e := range s.Index.Slice(s.Opened, 0, 1<<20) {
		if e.Group != nil {
			ids = append(ids, "["+e.Group.Backend+":"+e.Group.Path+"]")
		} else {
			ids = append(ids, e.Row.ID.Path)
		}
	}
	return ids
}

func TestKeysOfTheTable(t *testing.T) {
	for _, test := range []struct {
		name string
		keys []string
		want string // the selected lock
	}{
		{"start", nil, "lock:invoices"},
		{"down", []string{"j", "down"}, "lock:left"},
		{"up stops at the top", []string{"j", "k", "k", "up"}, "lock:invoices"},
		{"last", []string{"G"}, "/locks/nightly"},
		{"first again", []string{"G", "g"}, "lock:invoices"},
		{"page", []string{"pgdown"}, "/locks/nightly"},
		{"filter", []string{"/", "b", "i", "l", "l", "enter"}, "/locks/billing"},
		{"filter cleared", []string{"/", "b", "i", "esc", "g"}, "lock:invoices"},
		{"found, then all shown", []string{"/", "b", "i", "l", "l", "enter", "esc"}, "/locks/billing"},
		{"found and the filter left", []string{"/", "b", "i", "l", "l", "esc"}, "/locks/billing"},
		{"nothing found", []string{"/", "z", "z", "esc"}, "lock:invoices"},
		{"sorted by name", []string{"s", "g"}, "lock:cart:42"},
		{"sorted by name, reversed", []string{"s", "S", "g"}, fixture.Orders().ID.Path},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, Options{}, 80, 24, fixture.Everything())
			press(m, test.keys...)
			if got := locksOf(m).Current.Lock.Path; got != test.want {
				t.Errorf("selected %q, want %q", got, test.want)
			}
		})
	}
}

func TestWorstFirst(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	want := []string{"lock:invoices", "/locks/orders", "lock:left", "lock:dark", "/locks/billing", fixture.Hostile().ID.Path, "lock:cart:42", "/locks/nightly"}
	if diff := cmp.Diff(want, listed(m)); diff != "" {
		t.Error(diff)
	}
}

func TestSelectionFollowsTheLock(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 80, 24, fixture.Everything())
	press(m, "j", "j", "j", "j")
	unblocked := fixture.Readers()
	unblocked.Waiters, unblocked.State = nil, inspect.StateHeld // billing sinks below others
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{unblocked.ID, fixture.Split().ID}, fixture.Orders(), unblocked, fixture.FreeLock(), fixture.Thin(), fixture.Minority(), fixture.UnknownLock(), fixture.Hostile())})
	if s := locksOf(m); s.Current.Lock != unblocked.ID || s.Visible()[cursorOf(m)].Row.ID != unblocked.ID {
		t.Errorf("selected %v at %d", s.Current, cursorOf(m))
	}
	wantText(t, m, "redis:lock:invoices is gone")
	now = fixture.In(5 * time.Second)
	send(m, tickedMsg{m.ticking})
	if slices.Contains(listed(m), "lock:invoices") {
		t.Error("a lock that is gone is still there")
	}
}

func TestPauseFreezesTheScreen(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, fixture.Everything())
	press(m, "space")
	before := content(m)
	if !strings.Contains(before, "PAUSED") {
		t.Error("no badge")
	}
	now = fixture.In(time.Minute)
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{fixture.Split().ID}, fixture.Orders())}, tickedMsg{m.ticking})
	send(m, snapshotArrivedMsg{snapshot: changed(nil, fixture.Orders())})
	if diff := cmp.Diff(before, content(m)); diff != "" {
		t.Error(diff)
	}
	press(m, "space")
	wantText(t, m, "1 lock: ")
	wantNoText(t, m, "invoices", "PAUSED")
}

func TestOpenAndBack(t *testing.T) {
	var focus []inspect.ID
	m := model(t, Options{Focus: func(ids ...inspect.ID) { focus = ids }}, 80, 24, fixture.Everything())
	if len(focus) != 8 {
		t.Errorf("focus on %d locks", len(focus))
	}
	press(m, "j", "enter")
	wantText(t, m, "locks ▸ chain", "worker-3 (10.2.0.2:53122) has held it for 13m58s")
	if len(focus) != 1 || focus[0] != fixture.Orders().ID {
		t.Errorf("focus %v", focus)
	}
	press(m, "esc")
	wantNoText(t, m, "▸ chain")
	if len(focus) != 8 {
		t.Errorf("focus on %d locks", len(focus))
	}
}

// A click on the chain next to or below the table goes to its row; another one opens it.
func TestAClickOnTheChainBesideTheTable(t *testing.T) {
	t.Parallel()
	for _, size := range sizes[1:] {
		m := model(t, Options{}, size.width, size.height, fixture.Everything())
		press(m, "j")
		var x, y int
		for i, line := range splitLines(content(m)) {
			if strings.Contains(line, "603  ") {
				x, y = cellOf(line, "603  "), i
			}
		}
		click := tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}
		send(m, click)
		if line := splitLines(content(m))[y]; !strings.Contains(line[:strings.Index(line, "603  ")], "▸") {
			t.Errorf("%d wide: not selected: %s", size.width, line)
		}
		wantNoText(t, m, "locks ▸ chain")
		send(m, click)
		wantText(t, m, "locks ▸ chain")
	}
}

func TestMouse(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	top := len(frame{m}.head()) + 2
	send(m, tea.MouseClickMsg{X: 10, Y: top + 1, Button: tea.MouseLeft})
	if got := locksOf(m).Current.Lock; got != fixture.Orders().ID {
		t.Fatalf("selected %v", got)
	}
	send(m, tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelDown})
	send(m, tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelUp})
	send(m, tea.MouseClickMsg{X: 10, Y: top + 1, Button: tea.MouseLeft})
	wantText(t, m, "▸ chain")
	pane := m.screens[screen.Chain].(*chain.Screen).Pane
	m.View()
	send(m, tea.MouseClickMsg{X: 10, Y: len(frame{m}.head()) + pane.ListTop + 2, Button: tea.MouseLeft})
	if want, _ := fixture.Orders().Waiters[1].Identity("zk"); m.front().Selected().Owner != want {
		t.Errorf("selected %v", m.front().Selected())
	}
}

func TestEmptyListsSayWhy(t *testing.T) {
	looking := &inspect.Backend{Name: "zk", State: inspect.Connected, Scanned: 42}
	found := &inspect.Backend{Name: "zk", State: inspect.Connected, Scanned: 42, FirstPass: true}
	down := &inspect.Backend{Name: "redis", State: inspect.Down, Error: "dial tcp 10.0.0.1:6379: refused\x1b[2J"}
	for _, test := range []struct {
		name     string
		backends []*inspect.Backend
		want     []string
	}{
		{"looking", []*inspect.Backend{looking}, []string{"Still scanning: 42"}},
		{"nothing", []*inspect.Backend{found}, []string{"Found no lock under these roots"}},
		{"down", []*inspect.Backend{down}, []string{"no backend can be reached", "redis down", `refused\u{1b}[2J`}},
		{"one down", []*inspect.Backend{found, down}, []string{"where we could look", "redis down"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, test.backends, nil))
			wantText(t, m, test.want...)
			fits(t, m)
		})
	}
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "/")
	typeText(m, "zzz")
	wantText(t, m, "No lock matches")
}

// The line about a backend stays for a while after it has recovered, so that the rows below do not jump.
func TestTheLineAboutABackendStaysForAWhile(t *testing.T) {
	clock := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return clock }}, 120, 36, fixture.Everything())
	wantText(t, m, "redis degraded", "10.2.1.5:6379: no answer for 3.2s")
	unhealthy, well := fixture.Backends(), fixture.Backends()
	well[1].State = inspect.Connected
	turn := func(after time.Duration, b []*inspect.Backend) {
		clock = clock.Add(after)
		send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(clock, b, []*inspect.Lock{fixture.Orders()})})
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
	if len(frame{m}.head()) != high {
		t.Error("the rows jumped")
	}
	turn(2*time.Second, well)
	wantNoText(t, m, "degraded")
}

// Several masters that do not answer are all named, each with its own error.
func TestEachMasterThatDoesNotAnswerIsNamed(t *testing.T) {
	b := fixture.Backends()
	for i := range 2 {
		s := &b[1].Servers[i]
		s.State, s.Error = inspect.ServerDown, "redissource: master "+s.Addr+": connection lost"
		b[1].Error += s.Error + "; "
	}
	m := model(t, Options{}, 200, 50, inspect.NewSnapshot(fixture.Noon, b, nil))
	wantText(t, m, "redis degraded  10.2.1.1:6379: connection lost; 10.2.1.2:6379: connection lost; 10.2.1.5:6379: no answer")
}

func TestGoneLockSaysSo(t *testing.T) {
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{fixture.Orders().ID}, fixture.Readers())})
	wantText(t, m, "zk:/locks/orders", "This lock is gone")
	b := fixture.Backends()
	b[0].FirstPass = false
	send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, b, nil)})
	wantText(t, m, "zk:/locks/orders", "has not been read yet")
}

func TestHandoverIsRemembered(t *testing.T) {
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
	send(m, snapshotArrivedMsg{snapshot: s})
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{}, l)})
	wantNoText(t, m, "passed on")
	press(m, "space")
	wantText(t, m, "last grants", "12:00:00  passed on worker-3 → worker-7")
	if !screen.FreshGrant(m.Grants(l.ID), next.Name, m.now) {
		t.Error("the new holder is not highlighted")
	}
	if screen.FreshGrant(m.Grants(l.ID), next.Name, fixture.In(screen.FreshFor)) {
		t.Error("it stays highlighted")
	}
}

// A contender that was only listed at first, and read later, has not been granted anything.
func TestReadingMoreIsNoGrant(t *testing.T) {
	l, listed := fixture.Orders(), fixture.Orders()
	listed.Holders[0].Czxid, listed.Holders[0].Owner = 0, inspect.Owner{}
	m := opened(t, Options{}, 120, 36, l.ID)
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, listed)}, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, l)})
	wantNoText(t, m, "passed on", "granted to")
}

func TestLongQueueScrolls(t *testing.T) {
	l := fixture.Orders()
	last := &l.Waiters[len(l.Waiters)-1]
	for i := range int32(200) {
		c := fixture.Znode(700+i, fmt.Sprintf("late-%03d", i), time.Second, last, inspect.Confirmed)
		l.Waiters = append(l.Waiters, c)
		last = &c
	}
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
	press(m, "enter")
	wantText(t, m, "↓ ", "more")
	press(m, "G")
	wantText(t, m, "late-199", "↑ ")
	fits(t, m)
}

func TestFeedEndIsReported(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	send(m, snapshotArrivedMsg{err: errors.New("end of the recording")})
	wantText(t, m, "no more updates:  end of the recording", "invoices")
	fits(t, m)
}

func TestQuit(t *testing.T) {
	for _, keys := range [][]string{{"q"}, {"enter", "q"}} {
		m := model(t, Options{}, 80, 24, fixture.Everything())
		cmd := press(m, keys...)
		if cmd == nil {
			t.Fatalf("%v does not quit", keys)
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%v does not quit", keys)
		}
	}
	m := model(t, Options{}, 40, 10, nil)
	if cmd := send(m, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); cmd == nil {
		t.Error("ctrl+c does not quit a small window")
	}
}

func TestCells(t *testing.T) {
	m := model(t, Options{}, 340, 36, fixture.Everything()) // with room for all columns after the names
	for _, test := range []struct {
		lock *inspect.Lock
		want string
	}{
		{fixture.Orders(), "▲ zk:/locks/orders mutex curator worker-3 10.2.0.2:53122 13m58s 13m40s 3 – stuck-holder"},
		{fixture.Readers(), "● zk:/locks/billing rw kazoo 3 readers ≤20s 12s 3 –"},
		{fixture.FreeLock(), "· zk:/locks/nightly mutex – free – – – –"},
		{fixture.Thin(), "● redis:lock:cart:42 redlock redsync Y2Nj…2NjYw== 3/5 0.7s – ? ━━━━ 6.9s"},
		{fixture.Split(), "✖ redis:lock:invoices redlock token split 2·2 – – ? ━━━━ 7.0s split-quorum"},
		{fixture.Minority(), "▲ redis:lock:left redlock token minority 1/5 – – ? ━━━━ 1m10s minority-leftover"},
		{fixture.UnknownLock(), "? redis:lock:dark redlock token unknown 2/5 up – – ? ━━━━ 1m10s"},
	} {
		row := ""
		for line := range strings.Lines(content(m)) {
			line, _, _ = strings.Cut(strings.TrimLeft(line, "│"), "│")
			if row == "" && strings.Contains(line, " "+test.lock.ID.String()+" ") {
				row = strings.Join(strings.Fields(strings.TrimLeft(line, "▌▸│ \n")), " ")
			}
		}
		if got := row; got != test.want {
			t.Errorf("got  %q\nwant %q (a new column has its cells in these lines)", got, test.want)
		}
	}
}

// A key that cannot be used now is dim, the first to go where space is short, and says why.
func TestHintsOfWhatCannotBeDone(t *testing.T) {
	theme := model(t, Options{}, 80, 24, nil).theme
	theme.Key, theme.Faint = theme.Key.Underline(true), theme.Faint.Faint(true)
	off := func() string { return "not now" }
	list := []screen.Action{
		{Shown: "a", Hint: "first"}, {Shown: "b", Hint: "second", Disabled: off}, {Shown: "c", Hint: "third"}, {Shown: "d", Hint: "4th", Disabled: off},
	}
	for room, want := range map[int]string{
		100: " a first  b second  c third  d 4th ",
		28:  " a first  b second  c third ",
		27:  " a first  c third  d 4th ",
		18:  " a first  c third ",
		17:  " a first ",
		5:   "",
	} {
		if got := screen.HintLine(theme, list, room).Text(); got != want {
			t.Errorf("in %d cells: %q", room, got)
		}
	}
	for _, s := range screen.HintLine(theme, list, 100) {
		if text := strings.TrimSpace(s.Text); slices.Contains([]string{"b", "second", "d", "4th"}, text) != s.Style.GetFaint() {
			t.Errorf("%q: dim %v", text, s.Style.GetFaint())
		}
	}
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	wantNoText(t, m, "force-release")
	press(m, "x")
	wantText(t, m, "read-only: start with --write")
}

// The key of the screen in front does nothing, whatever is selected there.
func TestAScreenIsOnTheBackStackOnce(t *testing.T) {
	for _, e := range screenList() {
		if e.key == "" {
			continue
		}
		m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
		press(m, e.key)
		settled := slices.Clone(m.backStack)
		press(m, "j", e.key, "j", "j", e.key)
		if !slices.Equal(m.backStack, settled) {
			t.Errorf("%s: the back stack is %v instead of %v", e.key, m.backStack, settled)
		}
		wantText(t, m, string(e.name)+" is what you see")
	}
}

// At home there is no way back, and the key of the list of locks does not promise one.
func TestHomeNamesNoWayBack(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "1")
	wantText(t, m, "locks is what you see: this is home")
	wantNoText(t, m, "esc goes back")
}
