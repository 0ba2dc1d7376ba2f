package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

func TestOwnKeysAndFilters(t *testing.T) {
	o := Options{Keys: map[string]string{"f2": "findings", "j": "k", "ctrl+o": "G"}, Filters: map[string]string{"stuck": "held>5m waiting"}}
	if err := CheckLook(o.Filters, o.Keys); err != nil {
		t.Fatal(err)
	}
	m := model(t, o, 120, 36, fixture.Everything())
	send(m, tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
	if got := cursorOf(m); got != 7 {
		t.Errorf("ctrl+o leads to %d", got)
	}
	if press(m, "j"); cursorOf(m) != 6 {
		t.Errorf("j leads to %d", cursorOf(m))
	}
	send(m, tea.KeyPressMsg{Code: tea.KeyF2})
	if m.inFront != screen.Findings {
		t.Errorf("f2 leads to %s", m.inFront)
	}
	press(m, ":")
	typeText(m, "stuck")
	press(m, "enter")
	wantText(t, m, "1 of 8 locks", "/ held>5m waiting")
	press(m, "?", "/")
	typeText(m, "configured")
	wantText(t, m, "as configured: findings")
	press(m, "esc", "esc", "/")
	typeText(m, "j") // what is typed is no key
	wantText(t, m, "/ held>5m waitingj")
}

func TestBadLooksAreTold(t *testing.T) {
	for _, test := range []struct{ filters, keys map[string]string }{
		{nil, map[string]string{"enter": "f"}},
		{nil, map[string]string{"ctrl+c": "f"}},
		{nil, map[string]string{"ctrl+": "f"}},
		{nil, map[string]string{"f2": ""}},
		{nil, map[string]string{"f2": "finding"}},
		{map[string]string{"f2": "age>"}, nil},
	} {
		if err := CheckLook(test.filters, test.keys); err == nil || !strings.Contains(err.Error(), ":") {
			t.Errorf("%v: %v", test, err)
		}
	}
}
