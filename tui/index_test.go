package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
)

func TestEveryColumnSorts(t *testing.T) {
	m := model(t, Options{}, 150, 36, everything())
	red := hostile().ID.Path
	for _, want := range [][]string{ // as s comes to them
		{"lock:cart:42", "lock:dark", "lock:invoices", "lock:left", red, "/locks/billing", "/locks/nightly", "/locks/orders"},
		{red, "/locks/orders", "lock:cart:42", "lock:dark", "lock:invoices", "lock:left", "/locks/billing", "/locks/nightly"},
		{"/locks/orders", "/locks/billing", "lock:cart:42", red},
		{"/locks/billing", red, "/locks/orders", "lock:cart:42"},
		{red, "/locks/orders", "/locks/billing", "lock:cart:42"},
		{"/locks/orders", "/locks/billing"},
		{"lock:cart:42", "lock:invoices", "lock:dark", "lock:left"},
		{"lock:invoices", "/locks/orders", "lock:left", "lock:dark", "/locks/billing", red, "lock:cart:42", "/locks/nightly"},
	} {
		press(m, "s")
		by := locksOf(m).want.order.by
		got := listed(m)
		if by == byKind || by == byLibrary || by == byHolder {
			continue // checked below, by what they compare
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
			t.Errorf("by %s: %s", by, diff)
		}
		before := slices.Clone(got)
		press(m, "S")
		missing := 0
		for _, e := range locksOf(m).visible() {
			if e.row.key.missing {
				missing++
			}
		}
		if back := listed(m); slices.Equal(before, back) || !slices.Equal(before[len(before)-missing:], back[len(back)-missing:]) {
			t.Errorf("by %s reversed: %v, %d of them missing", by, back, missing)
		}
		press(m, "S")
	}
	for by, text := range map[sorting]func(*inspect.Lock) string{
		byKind:    func(l *inspect.Lock) string { return string(l.Kind) },
		byLibrary: func(l *inspect.Lock) string { return l.Recipe },
	} {
		locksOf(m).sortBy(by)
		last := ""
		for _, e := range locksOf(m).visible() {
			if now := text(e.row.lock); now < last && now != "" {
				t.Errorf("by %s: %s after %s", by, now, last)
			} else {
				last = now
			}
		}
	}
}

func TestHeaderIsMarkedAndSorts(t *testing.T) {
	m := model(t, Options{}, 120, 36, everything())
	wantText(t, m, "FINDING ↓", "sort: worst")
	top := len(m.head()) + 1
	header := func() string { return splitLines(content(m))[top] }
	at := cellOf(header(), "HELD")
	send(m, tea.MouseClickMsg{X: at, Y: top, Button: tea.MouseLeft})
	wantText(t, m, "HELD ↓", "held longest")
	send(m, tea.MouseClickMsg{X: cellOf(header(), "HELD"), Y: top, Button: tea.MouseLeft})
	wantText(t, m, "HELD ↑", "held longest, reversed")
	send(m, tea.MouseClickMsg{X: 4, Y: top, Button: tea.MouseLeft})
	wantText(t, m, "LOCK ↑")
	press(m, "s") // KIND
	wantText(t, m, "KIND ↑")
	m = model(t, Options{}, 80, 24, everything())
	press(m, "s", "s") // no KIND here
	wantText(t, m, "HOLDER ↑")
	fits(t, m)
}

func TestGroups(t *testing.T) {
	m := model(t, Options{}, 100, 30, everything())
	press(m, "p")
	want := []string{
		"[redis:lock:]", "lock:invoices", "lock:left", "lock:dark", "[zk:/locks/]", "[redis:lock:cart:]",
	}
	if diff := cmp.Diff(want, listed(m)); diff != "" {
		t.Error(diff)
	}
	if s := locksOf(m); s.selected.lock.Path != "lock:invoices" {
		t.Errorf("selected %v", s.selected)
	}
	wantText(t, m, "✖ ▾ redis:lock:", "▲ 1  ? 1  3 locks", "▲ ▸ zk:/locks/", "4 locks")
	fits(t, m)
	press(m, "h")
	if diff := cmp.Diff([]string{"[redis:lock:]", "[zk:/locks/]", "[redis:lock:cart:]"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	wantText(t, m, "enter open")
	press(m, "j", "enter", "j")
	if got := locksOf(m).selected.lock.Path; got != "/locks/orders" {
		t.Errorf("selected %q", got)
	}
	// The worst of a group changes; the cursor stays with its lock.
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{split().ID, minority().ID, unknownLock().ID}, orders(), readers(), freeLock(), thin(), hostile())})
	if diff := cmp.Diff([]string{"[zk:/locks/]", "/locks/orders", "/locks/billing", hostile().ID.Path, "/locks/nightly", "[redis:lock:cart:]"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	if s := locksOf(m); s.selected.lock.Path != "/locks/orders" || s.cursor != 1 {
		t.Errorf("selected %v at %d", s.selected, s.cursor)
	}
	press(m, "enter")
	wantText(t, m, "▸ chain")
	press(m, "esc", "/")
	typeText(m, "cart")
	press(m, "enter")
	if diff := cmp.Diff([]string{"[redis:lock:cart:]"}, listed(m)); diff != "" {
		t.Error(diff)
	}
	fits(t, m)
}

// With very many locks, sorting and filtering are commands; the list follows the locks meanwhile and afterwards.
func TestManyLocksAreArrangedInACommand(t *testing.T) {
	list := manyLocks(atOnce + 1)
	m := New(t.Context(), plain(Options{}))
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	first := send(m, snapshotArrivedMsg{snapshot: inspect.NewSnapshot(noon, backends(), list)})
	wantText(t, m, "Sorting 1001 locks")
	send(m, answers(first)...)
	wantText(t, m, "1001 locks")
	wantNoText(t, m, "Sorting")
	early := press(m, "/", "9") // overtaken
	late := press(m, "9")
	list[999] = someLock(inspect.ID{Backend: "zk", Path: "/app-099/other-99"}, 1)
	ids := []inspect.ID{{Backend: "zk", Path: "/app-099/lock-000999"}, {Backend: "zk", Path: "/app-099/other-99"}}
	send(m, snapshotArrivedMsg{snapshot: changed(ids, list...)})
	wantText(t, m, "filtering")
	send(m, answers(early)...)
	wantText(t, m, "filtering")
	send(m, answers(late)...)
	s := locksOf(m)
	sameRows(t, "filtered", s.index, newIndex(t.Context(), m.snapshot, s.want, noon), nil)
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
	now := noon
	m := model(t, Options{Now: func() time.Time { return now }}, 120, 36, everything())
	press(m, "/")
	typeText(m, "age>25s kind=rw")
	wantText(t, m, "0 of 8 locks")
	now = in(6 * time.Second)
	send(m, tickedMsg{m.ticking})
	wantText(t, m, "1 of 8 locks", "zk:/locks/billing")
}

func TestBadFilterSaysSoAndHidesNothing(t *testing.T) {
	m := model(t, Options{}, 80, 24, everything())
	press(m, "/")
	wantText(t, m, "words, or: held free")
	fits(t, m)
	typeText(m, "age>5")
	wantText(t, m, "age>5: give a time", "zk:/locks/billing")
	fits(t, m)
	typeText(m, "m")
	wantText(t, m, "2 of 8 locks")
	press(m, "enter")
	wantText(t, m, "/ age>5m")
}

func TestGaugesKeepTheirLength(t *testing.T) {
	m := model(t, Options{}, 120, 36, everything())
	s := locksOf(m)
	l := thin()
	for i := range l.Masters {
		if !l.Masters[i].ExpiresAt.IsZero() {
			l.Masters[i].ExpiresAt = l.Masters[i].ExpiresAt.Add(-3 * time.Second)
		}
	}
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, l)}, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID}, l)})
	if got := s.spans.of(l); got != 7100*time.Millisecond {
		t.Errorf("full length %v", got)
	}
	send(m, snapshotArrivedMsg{snapshot: changed([]inspect.ID{l.ID})})
	if len(s.spans) != 0 {
		t.Error("a lock that is gone is remembered")
	}
}

func sameRows(t *testing.T, what string, got, want *index, opened map[prefix]bool) {
	t.Helper()
	list := func(x *index) (things []thing) {
		for i, e := range x.slice(opened, 0, 1<<20) {
			if at := x.line(opened, e.thing()); at != i {
				t.Fatalf("%s: %v is at %d, not %d", what, e.thing(), at, i)
			}
			things = append(things, e.thing())
		}
		return things
	}
	a, b := list(got), list(want)
	if !slices.Equal(a, b) || got.lines(opened) != len(a) || got.shown != want.shown ||
		got.contended != want.contended || got.warnings != want.warnings || len(got.rows) != len(want.rows) {
		t.Fatalf("%s differs: %s", what, cmp.Diff(fmt.Sprint(b), fmt.Sprint(a)))
	}
	for from := range len(a) {
		part := got.slice(opened, from, 5)
		for i, e := range part {
			if e.thing() != a[from+i] {
				t.Fatalf("%s: slice from %d", what, from)
			}
		}
		if len(part) != min(5, len(a)-from) {
			t.Fatalf("%s: slice from %d has %d", what, from, len(part))
		}
	}
}
