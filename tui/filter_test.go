package tui

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

// Every filter and the palette can be edited like text. Elsewhere, a paste has no effect.
func TestFiltersAreEdited(t *testing.T) {
	for _, e := range screenList() {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		m.Go(e.name, screen.Subject{})
		send(m, nil)
		before := content(m)
		send(m, tea.PasteMsg{Content: "qx"})
		must.Equal(t, content(m), before, e.name, "a paste is handled as keys")
		f, ok := m.front().(screen.Filtering)
		if !ok {
			continue
		}
		press(m, "/", "bc")
		send(m, tea.KeyPressMsg{Code: tea.KeyHome})
		press(m, "a")
		send(m, tea.KeyPressMsg{Code: tea.KeyEnd}, tea.PasteMsg{Content: "d\ne"})
		must.Equal(t, f.Input().Text(), "abcd e", e.name)
		press(m, "esc")
		must.Equal(t, f.Input().Text(), "", e.name, "after esc")
		must.True(t, !f.Input().Open, e.name, "still open")
	}
	m := model(t, Options{}, 120, 36, fixture.Everything(), ":")
	send(m, tea.PasteMsg{Content: "orders"})
	keysShow(t, m, "enter", "▸ chain", "zk:/locks/orders")
	m = model(t, Options{}, 120, 36, fixture.Everything())
	keysShow(t, m, "/ o", "in any name, host, session or finding")
	keysHide(t, m, "esc / held>5m", "in any name")
}

// Home shows all locks: H clears the list's filter, from any screen. Going back does not.
func TestHomeClearsFilter(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	for _, key := range []string{"H", "1"} {
		press(m, "/", "orders", "enter", "enter", "esc")
		must.Equal(t, m.filter().Text(), "orders", "after esc")
		press(m, "c", "/", "worker", "enter", key)
		must.Equal(t, m.filter().Text(), "", key)
		press(m, "c")
		must.Equal(t, m.filter().Text(), "", key, "in clients")
		press(m, "esc")
	}
	first := m.front().Selected()
	press(m, "/", "orders", "enter", "H")
	must.Equal(t, m.filter().Text(), "", "on the list itself")
	must.Equal(t, m.front().Selected(), first, "selected after H")
	keysShow(t, m, "H", "already on the lock list")
}

// Every screen has its filter in the same place, with any problem next to it.
func TestFiltersAreTypedInOnePlace(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
		goTo(m, e.name, screen.Subject{})
		if m.filter() == nil {
			continue
		}
		line := func() string { return splitLines(content(m))[len(frame{m}.head())] }
		press(m, "/")
		must.True(t, strings.HasPrefix(line(), " / "), e.name, line())
		must.Contain(t, line(), " words", e.name)
		press(m, "zk")
		must.True(t, strings.HasPrefix(line(), " / zk "), e.name, line())
		must.Contain(t, line(), " of ", e.name)
		press(m, " ~[")
		must.Contain(t, line(), "~[: missing closing ]", e.name)
		fits(t, m)
	}
}

// A new search replaces the text of the last one, and selects its first match.
func TestANewFilterStartsFresh(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	for _, on := range []string{"", "c", "f", "b", "e", "l"} {
		press(m, on, "/", "nightly", "enter", "/", "lock")
		must.Equal(t, m.filter().Text(), "lock", on)
		press(m, "esc")
	}
	press(m, "esc", "1", "/", "nightly", "enter", "/", "lock", "enter", "/", "backspace", "enter")
	must.Equal(t, m.filter().Text(), "", "text left after backspace on the selection")
	press(m, "/", "nightly", "enter", "/", "right", "x")
	must.Equal(t, m.filter().Text(), "nightlyx", "after an arrow the text is")
}

// host= finds a client as it finds its locks.
func TestHostFindsClients(t *testing.T) {
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	keysShow(t, m, "/ host=dan enter", "1 of 6 clients", "dan")
	keysShow(t, m, "esc / ghost=dan enter", "0 of 6 clients")
}

// An invalid filter is reported in the empty list, with the names of the fields.
func TestInvalidFilterNamesTheFields(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	keysShow(t, m, "/ hots=batch-7", "This filter is invalid", `no field "hots"`, "holder= host=", "held>5m", "backend=")
	wantNoText(t, m, "No lock matches")
}

// A filter that matches a waiter names it, and the chain opens on it.
func TestFilterNamesTheMatchingWaiter(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, snapshotOf(fixture.Orders()))
	titles := func() string { return regexp.MustCompile(`   LOCK .*`).FindString(content(m)) }
	before := titles()
	for _, test := range [][2]string{{"worker-1", "waits: worker-1 · stuck-holder"}, {"held"}, {"contended"}, {"worker-3"}} {
		text, want := test[0], test[1]
		press(m, "/", text, "enter")
		row := regexp.MustCompile(`zk:/locks/orders.*`).FindString(content(m))
		must.Equal(t, strings.Contains(row, "waits: "), want != "", text, row)
		must.Contain(t, row, want)
	}
	press(m, "esc")
	must.Equal(t, titles(), before, "columns after the filter")
	press(m, "/", "worker-1", "enter", "enter")
	_, c := m.front().(screen.Pointing).Contender()
	must.Equal(t, describe.Owner(c), "worker-1")
}

// With very many locks, sorting and filtering run in commands, and the list keeps following the locks.
func TestManyLocksAreSortedInBackground(t *testing.T) {
	list := fixture.ManyLocks(screen.AtOnce + 1)
	m := New(t.Context(), plain(Options{}))
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	first := send(m, snapshotArrivedMsg{snapshot: snapshotOf(list...)})
	wantText(t, m, "Sorting 1001 locks")
	send(m, answers(first)...)
	wantText(t, m, "1001 locks")
	wantNoText(t, m, "Sorting")
	early := press(m, "/", "9") // overtaken
	late := press(m, "9")
	list[999] = fixture.SomeLock(inspect.ID{Backend: "zk", Path: "/app-099/other-99"}, 1)
	ids := []inspect.ID{{Backend: "zk", Path: "/app-099/lock-000999"}, {Backend: "zk", Path: "/app-099/other-99"}}
	receives(t, m, snapshotArrivedMsg{snapshot: changed(ids, list...)}, "filtering")
	send(m, answers(early)...)
	wantText(t, m, "filtering")
	send(m, answers(late)...)
	must.True(t, !slices.Contains(listed(m), "/app-099/lock-000999"), "a lock gone during the command is listed")
	must.True(t, slices.Contains(listed(m), "/app-099/other-99"), "a lock found during the command is missing")
	fits(t, m)
}

// answers runs commands, including batches, and collects the messages for screens.
func answers(cmd tea.Cmd) []tea.Msg { return messages[answeredMsg](cmd) }

// While a condition is half typed, the rows stay, and the cursor returns to its old place.
func TestHalfTypedFilterKeepsTheRows(t *testing.T) {
	m := model(t, Options{}, 140, 24, fixture.Everything())
	keysShow(t, m, "G / held>5", "held>5: use a time", "zk:/locks/billing")
	keysShow(t, m, "m", "2 of 8 locks")
	keysShow(t, m, "backspace backspace", "2 of 8 locks", "use a time")
	press(m, "backspace", "backspace", "backspace", "backspace", "backspace")
	must.Equal(t, locksOf(m).Current.Lock.Path, "/locks/nightly", "the cursor is on")
}

// A gauge's full length is the longest TTL seen, even while another screen is in front.
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
	keysShow(t, p.Model, "esc", "╌   3.0s")
	must.True(t, p.snapshot.Lock(l.ID).LongestTTL() >= 2*time.Minute, "full length")
}

// titles returns the column titles of the list of locks, from left to right.
func titles(m *Model) []string {
	table, _, _ := strings.Cut(splitLines(content(m))[lineAt(m, "LOCK")], "│")
	return slices.DeleteFunc(strings.Fields(table), func(s string) bool { return s == "↑" || s == "↓" })
}

// allColumns returns the names of all columns of the list of locks.
func allColumns() []string {
	_, names, _ := strings.Cut(locks.View{Columns: []string{"?"}}.Check().Error(), "not one of ")
	return strings.Split(names, ", ")
}

// This tests the cells of columns that are never shown by default; tui/locks tests the others.
func TestChosenColumnsShowFields(t *testing.T) {
	for name, cell := range map[string]string{"client": "10.2.0.2:53122", "session": "0x10000abcd025a", "backend": "zk"} {
		m := model(t, Options{Look: Look{Columns: []string{"lock", name}}}, 80, 24, fixture.Everything())
		wantText(t, m, strings.ToUpper(name), cell)
	}
}

// The dialog shows the columns as configuration text, and says which do not fit.
func TestColumnsDialog(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "C", "j", "j", "j", "j", "j", "j", "j", "j", "space", "j", "space", "j", "space", "j", "space", "k", "k", "k")
	goldenScreen(t, "columns-80x24", m)
	fits(t, m)
	const columns = "lock, holder, held, wait, queue, finding, ttl, client, session, backend"
	want := "  NAME:\n    filter: \"\"\n    sort: finding\n    columns: [" + columns + "]\n"
	must.Equal(t, fmt.Sprint(press(m, "y")()), want, "copied")
}

// A configured view has a filter, an order and columns; what it omits keeps its default.
func TestViewsAreChosen(t *testing.T) {
	o := Options{Look: Look{Columns: []string{"lock", "held", "finding"}, Views: map[string]locks.View{
		"Slow": {Filter: "held", Sort: "held", Columns: []string{"held", "lock", "client"}}, "plain": {Sort: "-lock"},
	}}}
	must.Succeed(t, CheckLook(o.Look))
	m := model(t, o, 80, 24, fixture.Everything())
	choose := func(name string) {
		press(m, ":", name, "enter")
	}
	choose("slow")
	wantText(t, m, "/ held", "4 of 8 locks", "HELD ↓")
	must.Equal(t, strings.Join(titles(m), " "), "HELD LOCK CLIENT")
	must.Equal(t, listed(m)[1], fixture.Orders().ID.Path, "comes second")
	choose("plain")
	wantText(t, m, " 8 locks", "sort: name, reversed")
	must.Equal(t, strings.Join(titles(m), " "), "LOCK HELD FINDING")
}

// docs/cli.md lists every column that the configuration accepts.
func TestTheContractNamesEveryColumn(t *testing.T) {
	page := must.Have(os.ReadFile("../docs/cli.md"))(t)
	_, section, _ := strings.Cut(string(page), "\n### config check")
	section, _, _ = strings.Cut(section, "\n### ")
	for _, name := range allColumns() {
		must.Contain(t, section, "`"+name+"`", "docs/cli.md names no column", name, "at config")
	}
}

func TestFiltersAreChosenByName(t *testing.T) {
	o := Options{Look: Look{Filters: map[string]string{"stuck": "held>5m waiting"}}}
	must.Succeed(t, CheckLook(o.Look))
	wantText(t, model(t, o, 120, 36, fixture.Everything(), ":", "stuck", "enter"), "1 of 8 locks", "/ held>5m waiting")
	must.Contain(t, fmt.Sprint(CheckLook(Look{Filters: map[string]string{"f2": "age>"}})), ":", "a bad filter")
}
