package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Every filter, and the palette, is edited like any line of text; a paste goes there and nowhere else.
func TestFiltersAreEdited(t *testing.T) {
	for _, e := range screenList() {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		m.Go(e.name, screen.Subject{})
		send(m, nil)
		before := content(m)
		if send(m, tea.PasteMsg{Content: "qx"}); content(m) != before {
			t.Errorf("%s: a paste is handled as keys", e.name)
		}
		f, ok := m.front().(screen.Filtering)
		if !ok {
			continue
		}
		press(m, "/")
		typeText(m, "bc")
		send(m, tea.KeyPressMsg{Code: tea.KeyHome})
		press(m, "a")
		send(m, tea.KeyPressMsg{Code: tea.KeyEnd}, tea.PasteMsg{Content: "d\ne"})
		if got := f.Input().Text(); got != "abcd e" {
			t.Errorf("%s: %q", e.name, got)
		}
		if press(m, "esc"); f.Input().Text() != "" || f.Input().Open {
			t.Errorf("%s: esc leaves %q", e.name, f.Input().Text())
		}
	}
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, ":")
	send(m, tea.PasteMsg{Content: "orders"})
	press(m, "enter")
	wantText(t, m, "▸ chain", "zk:/locks/orders")
	m = model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "/", "o")
	wantText(t, m, "in any name, host, session or finding")
	typeText(m, " held>5m")
	wantNoText(t, m, "in any name")
}

// Every screen has its filter in the same place, with any problem next to it.
func TestFiltersAreTypedInOnePlace(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
		m.Go(e.name, screen.Subject{})
		m.navigate()
		if m.filter() == nil {
			continue
		}
		line := func() string { return splitLines(content(m))[len(frame{m}.head())] }
		press(m, "/")
		if got := line(); !strings.HasPrefix(got, " / ") || !strings.Contains(got, " words") {
			t.Errorf("%s: %q", e.name, got)
		}
		typeText(m, "zk")
		if got := line(); !strings.HasPrefix(got, " / zk ") || !strings.Contains(got, " of ") {
			t.Errorf("%s: %q", e.name, got)
		}
		typeText(m, " ~[")
		if got := line(); !strings.Contains(got, "~[: missing closing ]") {
			t.Errorf("%s: %q", e.name, got)
		}
		fits(t, m)
	}
}

// Another search replaces the text of the last one, and selects its first match.
func TestANewFilterStartsFresh(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "/")
	typeText(m, "nightly")
	press(m, "enter", "/")
	typeText(m, "lock")
	wantText(t, m, "/ lock ")
	press(m, "enter", "/", "backspace", "enter")
	if got := m.filter().Text(); got != "" {
		t.Errorf("backspace leaves %q of the selected text", got)
	}
	press(m, "/")
	typeText(m, "nightly")
	press(m, "enter", "/", "right")
	typeText(m, "x")
	if got := m.filter().Text(); got != "nightlyx" {
		t.Errorf("after an arrow the text is %q", got)
	}
}

// If the lock under the cursor does not match, the first match is selected, the worst.
func TestAFilterSelectsTheFirstMatch(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	s := locksOf(m)
	at := 0
	for at = range s.Visible() {
		if s.Visible()[at].Selection().Lock.Backend == "redis" && at > 1 {
			break
		}
		press(m, "j")
	}
	press(m, "/")
	typeText(m, "zk:/locks/")
	if first := s.Visible()[0].Selection(); s.Current != first || first.Lock.Backend != "zk" {
		t.Errorf("from row %d the filter selects %v, the first match is %v", at, s.Current, first)
	}
}

// An invalid filter is reported in the empty list, with the names of the fields.
func TestFieldsAreNamedWhereTheyCanBeRead(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "/")
	typeText(m, "hots=batch-7")
	wantText(t, m, "This is not a filter", `no field "hots"`, "holder= host=", "held>5m", "backend=")
	wantNoText(t, m, "No lock matches")
}
