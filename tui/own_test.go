package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

func TestOwnKeysAndFilters(t *testing.T) {
	o := Options{Look: Look{Keys: map[string]string{"f2": "findings", "j": "k", "ctrl+o": "G"}, Filters: map[string]string{"stuck": "held>5m waiting"}}}
	if err := CheckLook(o.Look); err != nil {
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

func TestBadLooksAreReported(t *testing.T) {
	for _, test := range []struct{ filters, keys map[string]string }{
		{nil, map[string]string{"enter": "f"}},
		{nil, map[string]string{"ctrl+c": "f"}},
		{nil, map[string]string{"ctrl+": "f"}},
		{nil, map[string]string{"f2": ""}},
		{nil, map[string]string{"f2": "finding"}},
		{map[string]string{"f2": "age>"}, nil},
	} {
		if err := CheckLook(Look{Filters: test.filters, Keys: test.keys}); err == nil || !strings.Contains(err.Error(), ":") {
			t.Errorf("%v: %v", test, err)
		}
	}
}

// A key that means something else by configuration is offered for that alone, and any fixed key may be one.
func TestOwnKeysShadowFixedOnes(t *testing.T) {
	for _, key := range []string{"Y", "[", "]", "{", "}", "<", ">", "R", "P", "f", "q", "backspace", "ctrl+d"} {
		o := Options{Look: Look{Keys: map[string]string{key: "events", "f9": "backspace", "f8": "pgdown"}}, Scenes: twoScenes()}
		if err := CheckLook(o.Look); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		m := model(t, o, 200, 50, fixture.Everything())
		for _, h := range m.shownHints() {
			if shown := strings.TrimSpace(h.Line[0].Text); shown == key && h.Hint != "events" {
				t.Errorf("%s: the footer offers %v", key, h.Line)
			}
		}
		switch key {
		case "backspace":
			send(m, tea.KeyPressMsg{Code: tea.KeyBackspace})
		case "ctrl+d":
			send(m, tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
		default:
			press(m, key)
		}
		if m.inFront != screen.Events {
			t.Errorf("%s leads to %s", key, m.inFront)
		}
		press(m, "1", "?")
		for _, line := range strings.Split(content(m), "\n") {
			if words := strings.Fields(line); slices.Contains(words, strings.Replace(key, "ctrl+", "ctrl-", 1)) && !strings.Contains(line, "as configured") && !strings.Contains(line, "events: what happened") && !strings.Contains(line, "demo stopped") && key != "q" && key != "f" {
				t.Errorf("%s: the help has %q", key, line)
			}
		}
	}
	r := seen(t, Options{Look: Look{Keys: map[string]string{"f9": "backspace"}}}, 120, 36)
	press(r.Model, "[")
	if send(r.Model, tea.KeyPressMsg{Code: tea.KeyF9}); r.inPast() {
		t.Error("f9 does not lead to now")
	}
}

// Where an action has a key of one's own, that is the one that footer and help show for it, and it works by click, too.
func TestOwnKeysAreShown(t *testing.T) {
	m := model(t, Options{Look: Look{Keys: map[string]string{"z": "/", "f2": "findings", "/": "events"}}}, 200, 50, fixture.Everything())
	wantText(t, m, " z filter ", " f2 findings ", " / events ")
	wantNoText(t, m, " / filter ", " f findings ")
	press(m, "?")
	for _, want := range []string{"z          filter: show only locks", "f2 f 4     findings: what is wrong", "/ e 5      events: what happened"} {
		wantText(t, m, want)
	}
	press(m, "esc")
	lines := splitLines(content(m))
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: cellOf(lines[49], "f2 findings") + 1, Y: 49})
	if m.inFront != screen.Findings {
		t.Errorf("a click leads to %s", m.inFront)
	}
	press(m, "1")
	lines = splitLines(content(m))
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: cellOf(lines[49], "z filter") + 1, Y: 49})
	if f := m.filter(); f == nil || !f.Open {
		t.Error("a click on a key of one's own that is the only one left does nothing")
	}
}

// Words that name a key name the one that does it, where its own means something else.
func TestWordsNameOwnKeys(t *testing.T) {
	m := model(t, Options{Look: Look{Keys: map[string]string{"t": "e", "f2": "timeline", "space": "f", "tab": "f", "ctrl+x": "tab", "f9": "t", "p": "space"}}}, 120, 36, fixture.Everything())
	for key, want := range map[string]string{"t": "f9", "space": "p", "tab": "ctrl+x", "w": "w", "p": "(no key)"} {
		if got := m.Key(key); got != want {
			t.Errorf("%s is on %s, want %s", key, got, want)
		}
	}
	send(m, tea.KeyPressMsg{Code: '4', Text: "4"})
	send(m, tea.KeyPressMsg{Code: 'x', Mod: tea.ModCtrl})
	wantText(t, m, "ctrl+x: to the list")
	wantNoText(t, m, "tab: to")
}
