package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestEveryColumnSorts(t *testing.T) {
	m := model(t, Options{}, 340, 36, fixture.Everything()) // with room for all columns after the names
	first := locksOf(m).Want.Order.String()
	red := fixture.Hostile().ID.Path
	ordered := map[string]func(*inspect.Lock) string{ // which have what others have too
		"kind":    func(l *inspect.Lock) string { return string(l.Kind) },
		"library": func(l *inspect.Lock) string { return l.Recipe },
		"holder": func(l *inspect.Lock) string {
			if len(l.Holders) == 0 {
				return ""
			}
			return strings.ToLower(describe.Owner(&l.Holders[0]))
		},
	}
	for _, want := range [][]string{ // as s comes to them
		{"lock:cart:42", "lock:dark", "lock:invoices", "lock:left", red, "/locks/billing", "/locks/nightly", "/locks/orders"},
		{red, "/locks/orders", "lock:cart:42", "lock:dark", "lock:invoices", "lock:left", "/locks/billing", "/locks/nightly"},
		{"/locks/orders", "/locks/billing", "lock:cart:42", red},
		{"/locks/billing", red, "/locks/orders", "lock:cart:42"},
		{red, "/locks/orders", "/locks/billing", "lock:cart:42"},
		{"/locks/orders", "/locks/billing"},
		{"/locks/orders", "/locks/billing"},
		{"lock:cart:42", "lock:invoices", "lock:dark", "lock:left"},
		{"lock:invoices", "/locks/orders", "lock:left", "lock:dark", "/locks/billing", red, "lock:cart:42", "/locks/nightly"},
	} {
		press(m, "s")
		by := locksOf(m).Want.Order.String()
		got := listed(m)
		if text := ordered[by]; text != nil {
			last := ""
			for _, e := range locksOf(m).Visible() {
				if now := text(m.snapshot.Lock(e.Row.ID)); now < last && now != "" {
					t.Errorf("by %s: %s after %s", by, now, last)
				} else {
					last = now
				}
			}
			continue
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
			t.Errorf("by %s (a new column has its line in this list, where it stands in the table): %s", by, diff)
		}
		before := slices.Clone(got)
		press(m, "S")
		missing := 0
		for _, e := range locksOf(m).Visible() {
			if e.Row.Key.Missing {
				missing++
			}
		}
		if back := listed(m); slices.Equal(before, back) || !slices.Equal(before[len(before)-missing:], back[len(back)-missing:]) {
			t.Errorf("by %s reversed: %q, %d of them missing (at least two locks of the fixture need a value)", by, back, missing)
		}
		press(m, "S")
	}
	if last := locksOf(m).Want.Order.String(); last != first {
		t.Errorf("the list ends at %q, and not at %q: which column has no line in it?", last, first)
	}
}

func TestHeaderIsMarkedAndSorts(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything())
	wantText(t, m, "FINDING ↓", "sort: worst")
	top := len(frame{m}.head()) + 1
	header := func() string { return splitLines(content(m))[top] }
	at := cellOf(header(), "HELD")
	send(m, tea.MouseClickMsg{X: at, Y: top, Button: tea.MouseLeft})
	wantText(t, m, "HELD ↓", "held longest")
	send(m, tea.MouseClickMsg{X: cellOf(header(), "HELD"), Y: top, Button: tea.MouseLeft})
	wantText(t, m, "HELD ↑", "held longest, reversed")
	send(m, tea.MouseClickMsg{X: 4, Y: top, Button: tea.MouseLeft})
	wantText(t, m, "LOCK ↑")
	m = model(t, Options{}, 120, 36, heldLocks("a"))
	press(m, "s", "s")
	wantText(t, m, "KIND ↑")
	m = model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "s", "s") // no KIND here
	wantText(t, m, "HOLDER ↑")
	fits(t, m)
}

func TestGroups(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 100, 30, fixture.Everything())
	press(m, "p")
	want := []string{
		"[redis:lock:]", "lock:invoices", "lock:left", "lock:dark", "[zk:/locks/]", "lock:cart:42",
	}
	if diff := cmp.Diff(want, listed(m)); diff != "" {
		t.Error(diff)
	}
	if s := locksOf(m); s.Current.Lock.Path != "lock:invoices" {
		t.Errorf("selected %v", s.Current)
	}
	wantText(t, m, "✖ ▾ redis:lock:", "▲ 1  ? 1  3 locks", "▲ ▸ zk:/locks/", "4 locks")
	fits(t, m)
	press(m, "h")
	if diff := cmp.Diff([]string{"[redis:lock:]", "[zk:/locks/]", "lock:cart:42"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	wantText(t, m, "enter open")
	press(m, "j", "enter", "j")
	if got := locksOf(m).Current.Lock.Path; got != "/locks/orders" {
		t.Errorf("selected %q", got)
	}
	// The worst of a group changes; the cursor stays with its lock.
	now = now.Add(time.Minute)
	send(m, tickedMsg{m.ticking})
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{fixture.Split().ID, fixture.Minority().ID, fixture.UnknownLock().ID}, fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Thin(), fixture.Hostile())})
	if diff := cmp.Diff([]string{"[zk:/locks/]", "/locks/orders", "/locks/billing", fixture.Hostile().ID.Path, "/locks/nightly", "lock:cart:42"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	if s := locksOf(m); s.Current.Lock.Path != "/locks/orders" || cursorOf(m) != 1 {
		t.Errorf("selected %v at %d", s.Current, cursorOf(m))
	}
	press(m, "enter")
	wantText(t, m, "▸ chain")
	press(m, "esc", "/")
	typeText(m, "cart")
	press(m, "enter")
	if diff := cmp.Diff([]string{"lock:cart:42"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	fits(t, m)
}

// With very many locks, sorting and filtering are commands; the list follows the locks meanwhile and afterwards.
func TestManyLocksAreArrangedInACommand(t *testing.T) {
	list := fixture.ManyLocks(screen.AtOnce + 1)
	m := New(t.Context(), plain(Options{}))
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	first := send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(fixture.Noon, fixture.Backends(), list)})
	wantText(t, m, "Sorting 1001 locks")
	send(m, answers(first)...)
	wantText(t, m, "1001 locks")
	wantNoText(t, m, "Sorting")
	early := press(m, "/", "9") // overtaken
	late := press(m, "9")
	list[999] = fixture.SomeLock(inspect.ID{Backend: "zk", Path: "/app-099/other-99"}, 1)
	ids := []inspect.ID{{Backend: "zk", Path: "/app-099/lock-000999"}, {Backend: "zk", Path: "/app-099/other-99"}}
	send(m, snapshotArrivedMsg{snapshot: changed(ids, list...)})
	wantText(t, m, "filtering")
	send(m, answers(early)...)
	wantText(t, m, "filtering")
	send(m, answers(late)...)
	s := locksOf(m)
	sameRows(t, "filtered", s.Index, locks.NewIndex(t.Context(), m.snapshot, s.Want, fixture.Noon), nil)
	if slices.Contains(listed(m), "/app-099/lock-000999") || !slices.Contains(listed(m), "/app-099/other-99") {
		t.Error("what changed meanwhile is not there")
	}
	fits(t, m)
}

// answers runs commands, those in batches too, and collects what screens get of them.
func answers(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case answeredMsg:
		return []tea.Msg{msg}
	case tea.BatchMsg:
		var all []tea.Msg
		for _, c := range msg {
			all = append(all, answers(c)...)
		}
		return all
	default:
		return nil
	}
}

func TestTimesInTheFilterGoBy(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, fixture.Everything())
	press(m, "/")
	typeText(m, "age>25s kind=rw")
	wantText(t, m, "0 of 8 locks")
	now = fixture.In(6 * time.Second)
	send(m, tickedMsg{m.ticking})
	wantText(t, m, "1 of 8 locks", "zk:/locks/billing")
}

func TestBadFilterSaysSoAndHidesNothing(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "/")
	wantText(t, m, "words of any name, host or finding, or: lock= holder=")
	fits(t, m)
	typeText(m, "age>5")
	wantText(t, m, "age>5: give a time", "zk:/locks/billing")
	fits(t, m)
	typeText(m, "m")
	wantText(t, m, "2 of 8 locks")
	press(m, "enter")
	wantText(t, m, "/ age>5m")
}

// While a condition is half typed the rows stay as they were, and the cursor comes back to where it was.
func TestHalfTypedFilterKeepsTheRows(t *testing.T) {
	m := model(t, Options{}, 140, 24, fixture.Everything())
	press(m, "G", "/")
	typeText(m, "held>5m")
	wantText(t, m, "2 of 8 locks")
	press(m, "backspace", "backspace")
	wantText(t, m, "2 of 8 locks", "give a time")
	for range 5 {
		press(m, "backspace")
	}
	if got := locksOf(m).Current.Lock.Path; got != "/locks/nightly" {
		t.Errorf("the cursor is on %q", got)
	}
}

// A gauge's full length is the longest time to live that was seen, in front or not.
func TestGaugesKeepTheirLength(t *testing.T) {
	l := fixture.Thin()
	p := playing(t, Options{}, l, 120, 36)
	press(p.Model, "b")
	p.at(0, func(l *inspect.Lock) {
		for i := range l.Masters {
			if !l.Masters[i].ExpiresAt.IsZero() {
				l.Masters[i].ExpiresAt = p.clock().Add(3 * time.Second)
			}
		}
		l.Holders[0].ExpiresAt = p.clock().Add(3 * time.Second)
	})
	press(p.Model, "esc")
	wantText(t, p.Model, "╌   3.0s")
	if got := p.snapshot.Lock(l.ID).LongestTTL(); got < 2*time.Minute {
		t.Errorf("full length %v", got)
	}
}

func sameRows(t *testing.T, what string, got, want *locks.Index, opened map[locks.Prefix]bool) {
	t.Helper()
	list := func(x *locks.Index) (things []locks.Selection) {
		for i, e := range x.Slice(opened, 0, 1<<20) {
			if at := x.Line(opened, e.Selection()); at != i {
				t.Fatalf("%s: %v is at %d, not %d", what, e.Selection(), at, i)
			}
			things = append(things, e.Selection())
		}
		return things
	}
	a, b := list(got), list(want)
	if !slices.Equal(a, b) || got.Lines(opened) != len(a) || got.Shown != want.Shown ||
		got.Contended != want.Contended || got.Warnings != want.Warnings || len(got.Rows) != len(want.Rows) {
		t.Fatalf("%s differs: %s", what, cmp.Diff(fmt.Sprint(b), fmt.Sprint(a)))
	}
	for from := range len(a) {
		part := got.Slice(opened, from, 5)
		for i, e := range part {
			if e.Selection() != a[from+i] {
				t.Fatalf("%s: slice from %d", what, from)
			}
		}
		if len(part) != min(5, len(a)-from) {
			t.Fatalf("%s: slice from %d has %d", what, from, len(part))
		}
	}
}
