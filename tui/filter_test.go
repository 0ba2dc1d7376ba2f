package tui

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
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
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, ":")
	send(m, tea.PasteMsg{Content: "orders"})
	press(m, "enter")
	wantText(t, m, "▸ chain", "zk:/locks/orders")
	m = model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "/", "o")
	wantText(t, m, "in any name, host, session or finding")
	press(m, "esc", "/", "held>5m")
	wantNoText(t, m, "in any name")
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
	press(m, "H")
	wantText(t, m, "already on the lock list")
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
	press(m, "esc", "1", "/", "nightly", "enter", "/", "lock")
	press(m, "enter", "/", "backspace", "enter")
	must.Equal(t, m.filter().Text(), "", "text left after backspace on the selection")
	press(m, "/", "nightly", "enter", "/", "right", "x")
	must.Equal(t, m.filter().Text(), "nightlyx", "after an arrow the text is")
}

// host= finds a client as it finds its locks.
func TestHostFindsClients(t *testing.T) {
	t.Parallel()
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	press(m, "/", "host=dan", "enter")
	wantText(t, m, "1 of 6 clients", "dan")
	press(m, "esc", "/", "ghost=dan", "enter")
	wantText(t, m, "0 of 6 clients")
}

// An invalid filter is reported in the empty list, with the names of the fields.
func TestInvalidFilterNamesTheFields(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "/", "hots=batch-7")
	wantText(t, m, "This filter is invalid", `no field "hots"`, "holder= host=", "held>5m", "backend=")
	wantNoText(t, m, "No lock matches")
}

// A filter that matches a waiter names it, and the chain opens on it.
func TestFilterNamesTheMatchingWaiter(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{fixture.Orders()}))
	for _, test := range [][2]string{{"worker-1", "waits: worker-1 · stuck-holder"}, {"held"}, {"contended"}, {"worker-3"}} {
		text, want := test[0], test[1]
		press(m, "/", text, "enter")
		row := regexp.MustCompile(`zk:/locks/orders.*`).FindString(content(m))
		must.Equal(t, strings.Contains(row, "waits: "), want != "", text, row)
		must.Contain(t, row, want)
	}
	press(m, "/", "worker-1", "enter", "enter")
	_, c := m.front().(screen.Pointing).Contender()
	must.Equal(t, describe.Owner(c), "worker-1")
}
