package tui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
)

func TestSortedIsALargeSortedList(t *testing.T) {
	compare := func(a, b int) int { return a - b }
	s := newSorted(compare, nil)
	want := []int{}
	r := rand.New(rand.NewPCG(1, 2))
	check := func() {
		t.Helper()
		got := []int{}
		s.all(func(n int) { got = append(got, n) })
		if !slices.Equal(got, want) || s.count != len(want) {
			t.Fatalf("%d of %d", len(got), len(want))
		}
		for _, p := range s.pages {
			if len(p) == 0 || len(p) >= 2*pageSize {
				t.Fatalf("a page of %d", len(p))
			}
		}
	}
	for step := range 20_000 {
		n := r.IntN(5000)
		at, found := slices.BinarySearch(want, n)
		if take := r.IntN(100) < 20+60*(step/10_000); take {
			if s.take(n) != found {
				t.Fatalf("take %d", n)
			}
			if found {
				want = slices.Delete(want, at, at+1)
			}
		} else {
			s.put(n)
			if !found {
				want = slices.Insert(want, at, n)
			}
			if s.place(n) != at {
				t.Fatalf("%d is at %d, not %d", n, s.place(n), at)
			}
		}
	}
	check()
	for _, from := range []int{0, 1, 255, 256, 700, len(want) - 3, len(want), len(want) + 9} {
		end := min(from+300, len(want))
		if got := s.slice(from, 300); !slices.Equal(got, want[min(from, len(want)):end]) {
			t.Errorf("slice from %d: %v", from, got)
		}
	}
	if s.place(-1) != -1 || s.take(99_999) {
		t.Error("found what is not there")
	}
	for _, n := range slices.Clone(want) {
		s.take(n)
	}
	want = []int{}
	check()
	s = newSorted(compare, []int{1, 3, 5})
	s.put(4)
	want = []int{1, 3, 4, 5}
	check()
}

// What is updated bit by bit must be what a new look at everything gives, in every arrangement.
func TestIndexUpdatesAsItIsMade(t *testing.T) {
	t.Parallel()
	var arrangements []arrangement
	for by := range sortings {
		for _, reversed := range []bool{false, true} {
			arrangements = append(arrangements,
				arrangement{order: order{by, reversed}, filter: newFilter("lock !free")}, arrangement{order: order{by, reversed}, grouped: true})
		}
	}
	locks := make(map[inspect.ID]*inspect.Lock)
	updated := make([]*index, len(arrangements))
	empty := inspect.NewSnapshot(noon, nil, nil)
	for i, a := range arrangements {
		updated[i] = newIndex(t.Context(), empty, a, noon)
	}
	opened := map[prefix]bool{{"zk", "/dir-2/"}: true, {"zk", "/dir-4/"}: true, {"zk", "/nowhere/"}: true}
	for step := range 300 {
		id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/dir-%d/lock-%d", step*31%7, step*7919%97)}
		locks[id] = someLock(id, step)
		if step%11 == 0 {
			delete(locks, id)
		}
		var list []*inspect.Lock
		for _, l := range locks {
			list = append(list, l)
		}
		s := inspect.NewSnapshot(noon, nil, list)
		for i, a := range arrangements {
			x := updated[i]
			x.update(s, []inspect.ID{id}, noon)
			if step%10 == 0 {
				sameIndex(t, fmt.Sprintf("%v step %d", a.order, step), x, newIndex(t.Context(), s, a, noon), opened)
			}
		}
	}
}

func someLock(id inspect.ID, i int) *inspect.Lock {
	l := inspect.FreeDirectory(id, nil, noon)
	if i%3 > 0 {
		c := znode(int32(i), "w", time.Duration(i*31%50)*time.Second, nil, 0)
		l.Holders, l.State = []inspect.Contender{c}, inspect.StateHeld
		if i%3 == 2 {
			l.Waiters, l.State = []inspect.Contender{znode(int32(i+1), "v", time.Duration(i*17%40)*time.Second, &c, 0)}, inspect.StateContended
		}
	}
	if i%5 == 0 {
		l.Findings = []inspect.Finding{{Rule: "herd", Severity: inspect.Warning}}
	}
	return l
}

func sameIndex(t *testing.T, what string, got, want *index, opened map[prefix]bool) {
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

func TestPrefixes(t *testing.T) {
	for path, want := range map[string]string{
		"/locks/orders": "/locks/", "/orders": "/", "lock:cart:42": "lock:cart:", "lock": "", "a/b:c": "a/b:", "/": "", "lock:": "", "": "",
	} {
		if got := prefixOf(inspect.ID{Backend: "b", Path: path}); got.path != want {
			t.Errorf("%q: %q, want %q", path, got.path, want)
		}
	}
}

// manyLocks are more than are arranged at once.
func manyLocks(n int) []*inspect.Lock {
	list := make([]*inspect.Lock, n)
	for i := range list {
		id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/app-%03d/lock-%06d", i%100, i)}
		list[i] = someLock(id, i)
	}
	return list
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
	sameIndex(t, "filtered", s.index, newIndex(t.Context(), m.snapshot, s.want, noon), nil)
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

func TestNewIndexEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := newIndex(ctx, everything(), arrangement{}, noon); len(x.rows) != 0 {
		t.Error("it went on")
	}
}
