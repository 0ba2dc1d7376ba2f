package tui

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
)

// titles are the columns of the list of locks, from left to right.
func titles(m *Model) []string {
	lines := splitLines(content(m))
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "LOCK") })
	table, _, _ := strings.Cut(lines[at], "│")
	return slices.DeleteFunc(strings.Fields(table), func(s string) bool { return s == "↑" || s == "↓" })
}

func TestColumnsAreChosen(t *testing.T) {
	for _, test := range []struct {
		name    string
		columns []string
		width   int
		keys    []string
		want    string
	}{
		{"usual", nil, 80, nil, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"hidden on the screen", nil, 80, []string{"C", "j", "space", "enter"}, "LOCK HELD WAIT QUEUE FINDING"},
		{"hidden and given up", nil, 80, []string{"C", "j", "space", "esc"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"the lock stays", nil, 80, []string{"C", "space", "enter"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"moved to the left", nil, 80, []string{"C", "j", "j", "left", "left", "left", "enter"}, "HELD LOCK HOLDER WAIT QUEUE FINDING"},
		{"the last one moved on", nil, 80, []string{"C", "G", "right", "enter"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"configured, also those that are hidden at this width", []string{"held", "lock", "library", "ttl"}, 80, nil, "HELD LOCK LIBRARY TTL"},
		{"configured, and back to them", []string{"lock", "held"}, 80, []string{"C", "j", "space", "0", "enter"}, "LOCK HELD"},
		{"too many: the last ones go, the lock does not", []string{"client", "session", "holder", "finding", "lock"}, 60, nil, "CLIENT SESSION LOCK"},
		{"by fields", []string{"lock", "client", "session", "backend"}, 80, nil, "LOCK CLIENT SESSION BACKEND"},
		{"sorted by a column that is not there", []string{"lock", "held"}, 80, []string{"s", "s"}, "LOCK HELD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, Options{Look: Look{Columns: test.columns}}, test.width, 24, fixture.Everything())
			press(m, test.keys...)
			if got := strings.Join(titles(m), " "); got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, content(m))
			}
			fits(t, m)
		})
	}
}

// allColumns are the names of all columns of the list of locks.
func allColumns() []string {
	_, names, _ := strings.Cut(locks.View{Columns: []string{"?"}}.Check().Error(), "not one of ")
	return strings.Split(names, ", ")
}

// chosenOnly are the columns that are shown only if the user chose them.
func chosenOnly(t *testing.T) []string {
	t.Helper()
	usual := titles(model(t, Options{}, 340, 24, fixture.Everything())) // with room for all after the names
	return slices.DeleteFunc(allColumns(), func(name string) bool { return slices.Contains(usual, strings.ToUpper(name)) })
}

// Each column that is shown only if the user chose it has its cell of one lock here; TestCells has those
// of the others.
func TestChosenColumnsShowFields(t *testing.T) {
	cells := map[string]string{"client": "10.2.0.2:53122", "session": "0x10000abcd025a", "backend": "zk"}
	for _, name := range chosenOnly(t) {
		t.Run(name, func(t *testing.T) {
			m := model(t, Options{Look: Look{Columns: []string{"lock", name}}}, 80, 24, fixture.Everything())
			if cells[name] == "" {
				t.Errorf("what the column shows of %s is not tried: its cell goes into this table\n%s", fixture.Orders().ID, content(m))
			}
			wantText(t, m, strings.ToUpper(name), cells[name])
		})
	}
}

// The dialog has what a configuration needs, and says where a column has no room.
func TestColumnsDialog(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "C", "j", "j", "j", "j", "j", "j", "j", "j", "space", "j", "space", "j", "space", "j", "space", "k", "k", "k")
	goldenScreen(t, "columns-80x24", m)
	fits(t, m)
	cmd := press(m, "y")
	if got, want := fmt.Sprint(cmd()), "  NAME:\n    filter: \"\"\n    sort: finding\n    columns: [lock, holder, held, wait, queue, finding, ttl, client, session, backend]\n"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// A view of the configuration is a filter, an order and columns; what it leaves out is as usual.
func TestViewsAreChosen(t *testing.T) {
	o := Options{Look: Look{Columns: []string{"lock", "held", "finding"}, Views: map[string]locks.View{
		"Slow": {Filter: "held", Sort: "held", Columns: []string{"held", "lock", "client"}}, "plain": {Sort: "-lock"},
	}}}
	must.Succeed(t, CheckLook(o.Look))
	m := model(t, o, 80, 24, fixture.Everything())
	choose := func(name string) {
		press(m, ":")
		typeText(m, name)
		press(m, "enter")
	}
	choose("slow")
	wantText(t, m, "/ held", "4 of 8 locks", "HELD ↓")
	if got := strings.Join(titles(m), " "); got != "HELD LOCK CLIENT" {
		t.Error(got)
	}
	if got := listed(m)[1]; got != fixture.Orders().ID.Path {
		t.Errorf("%s comes second", got)
	}
	choose("plain")
	wantText(t, m, " 8 locks", "sort: name, reversed")
	if got := strings.Join(titles(m), " "); got != "LOCK HELD FINDING" {
		t.Error(got)
	}
}

// The list is sorted by each of them, too, those without a value last in both directions;
// TestEveryColumnSorts has the others.
func TestChosenColumnsSort(t *testing.T) {
	red, billing, orders := fixture.Hostile().ID.Path, "/locks/billing", "/locks/orders"
	first := map[string][2][]string{ // and in reverse
		"client":  {{red, billing, orders, "lock:cart:42"}, {orders, billing, red, "lock:cart:42"}},
		"session": {{red, billing, orders, "lock:cart:42"}, {orders, billing, red, "lock:cart:42"}},
		"backend": {{"lock:cart:42", "lock:dark", "lock:invoices", "lock:left"}, {red, billing, "/locks/nightly", orders}},
	}
	for _, name := range chosenOnly(t) {
		for i, sort := range []string{name, "-" + name} {
			t.Run(sort, func(t *testing.T) {
				view := locks.View{Sort: sort, Columns: []string{"lock", name}}
				m := model(t, Options{Look: Look{Views: map[string]locks.View{"this": view}}}, 80, 24, fixture.Everything())
				press(m, ":")
				typeText(m, "this")
				press(m, "enter")
				want := first[name][i]
				if got := listed(m); len(want) == 0 || !slices.Equal(got[:len(want)], want) {
					t.Errorf("first come %q, want %q (a new column has its line in this table)", got, want)
				}
			})
		}
	}
}

// What a configuration may name as a column is in the contract.
func TestTheContractNamesEveryColumn(t *testing.T) {
	page := must.Have(os.ReadFile("../docs/cli.md"))(t)
	_, section, _ := strings.Cut(string(page), "\n### config check")
	section, _, _ = strings.Cut(section, "\n### ")
	for _, name := range allColumns() {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/cli.md names no column %s at config", name)
		}
	}
}

// Names are whole where no lock in sight has a finding, or where clients have no room: what is empty gives
// its room away.
func TestNamesHaveTheRoomOfWhatIsEmpty(t *testing.T) {
	t.Parallel()
	free := fixture.FreeLock()
	free.ID = fixture.Id("zk:/app/locks/payments")
	for _, other := range []*inspect.Lock{fixture.Thin(), fixture.Orders()} {
		for _, size := range sizes {
			m := model(t, Options{}, size.width, size.height, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{free, other}))
			wantText(t, m, "zk:/app/locks/payments", "FINDING")
		}
	}
}
