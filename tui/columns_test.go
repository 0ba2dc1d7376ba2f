package tui

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/locks"
)

// titles returns the column titles of the list of locks, from left to right.
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
		{"hidden, then cancelled", nil, 80, []string{"C", "j", "space", "esc"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"the lock stays", nil, 80, []string{"C", "space", "enter"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"moved to the left", nil, 80, []string{"C", "j", "j", "left", "left", "left", "enter"}, "HELD LOCK HOLDER WAIT QUEUE FINDING"},
		{"the last one stays last", nil, 80, []string{"C", "G", "right", "enter"}, "LOCK HOLDER HELD WAIT QUEUE FINDING"},
		{"configured, though usually hidden here", []string{"held", "lock", "library", "ttl"}, 80, nil, "HELD LOCK LIBRARY TTL"},
		{"configured, then reset", []string{"lock", "held"}, 80, []string{"C", "j", "space", "0", "enter"}, "LOCK HELD"},
		{"too many: the lock stays", []string{"client", "session", "holder", "finding", "lock"}, 60, nil, "CLIENT SESSION LOCK"},
		{"by fields", []string{"lock", "client", "session", "backend"}, 80, nil, "LOCK CLIENT SESSION BACKEND"},
		{"sorted by a hidden column", []string{"lock", "held"}, 80, []string{"s", "s"}, "LOCK HELD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, Options{Look: Look{Columns: test.columns}}, test.width, 24, fixture.Everything())
			press(m, test.keys...)
			must.Equal(t, strings.Join(titles(m), " "), test.want, content(m))
			fits(t, m)
		})
	}
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
	m := model(t, o, 120, 36, fixture.Everything())
	shows(t, m, ": stuck enter", "1 of 8 locks", "/ held>5m waiting")
	must.Contain(t, fmt.Sprint(CheckLook(Look{Filters: map[string]string{"f2": "age>"}})), ":", "a bad filter")
}
