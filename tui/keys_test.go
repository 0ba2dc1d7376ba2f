package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/tui/backends"
	"github.com/lockscope/lockscope/tui/findings"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// onScreen is a screen in a window. With selected, every list has rows and a lock is selected;
// otherwise all lists are empty.
func onScreen(t *testing.T, o Options, name screen.Name, width, height int, selected bool) *Model {
	t.Helper()
	s, about := snapshotOf(), screen.Subject{}
	if selected {
		s, about.Lock = fixture.Everything(), fixture.Orders().ID
	}
	m := model(t, o, width, height, s)
	if selected {
		send(m, happening(allKinds()...))
	}
	goTo(m, name, about)
	if name == screen.Clients {
		makeClients(m)
	}
	send(m, tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// silent reports whether a key did nothing and gave no reason.
func silent(m *Model, do func() tea.Cmd) bool {
	before, front := m.View().Content, m.inFront // with styles, which mark the row with the focus
	return do() == nil && m.View().Content == before && m.inFront == front
}

// windows returns the usual size and, in long runs, the smallest and one with panes. With nothing
// selected the usual one is enough, since messages then do not depend on the room.
func windows(t *testing.T, selected bool) []struct{ width, height int } {
	t.Helper()
	if !selected {
		return sizes[:1]
	}
	list := []struct{ width, height int }{sizes[0], {minWidth, minHeight}, sizes[1]}
	return list[:servertest.Effort(t, 1, 3)]
}

// Every key does something on every screen, or gives a reason.
func TestNoKeyIsSilent(t *testing.T) {
	all := []string{"enter", "esc", "tab", "space", "left", "right", "backspace"}
	for r := '!'; r <= '~'; r++ {
		all = append(all, string(r))
	}
	moves := func(key string) bool {
		return slices.ContainsFunc(screen.Moves(func(int) {}, func() int { return 1 }), func(a screen.Action) bool { return slices.Contains(a.Keys, key) })
	}
	for _, e := range screenList() {
		for _, selected := range []bool{true, false} {
			for _, size := range windows(t, selected) {
				t.Run(fmt.Sprintf("%s %dx%d selected=%v", e.name, size.width, size.height, selected), func(t *testing.T) {
					t.Parallel()
					first := onScreen(t, Options{}, e.name, size.width, size.height, selected)
					keys := all
					switch {
					case first.small():
						wantText(t, first, "at least 80x24", "esc goes back") // no invisible actions
						return
					case !selected || size != sizes[0]: // other keys have no effect there either
						keys = boundKeys(first)
					}
					for _, key := range keys {
						m := onScreen(t, Options{}, e.name, size.width, size.height, selected)
						quiet := silent(m, func() tea.Cmd { return send(m, keyPress(key)) })
						must.True(t, !quiet || moves(key), key, "does nothing and gives no reason")
					}
				})
			}
		}
	}
}

// boundKeys are the keys of the visible screen, and those of every screen.
func boundKeys(m *Model) (keys []string) {
	for _, a := range slices.Concat(m.front().Actions(), m.commonActions()) {
		for _, k := range a.Keys {
			if utf8.RuneCountInString(k) == 1 || namedKeys()[k] != 0 {
				keys = append(keys, k)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(keys)))
}

// Every key in a footer does something or gives a reason, whether pressed or clicked.
func TestEveryKeyOfTheFooterWorks(t *testing.T) {
	for _, e := range screenList() {
		for _, state := range []struct{ selected, acts bool }{{false, false}, {true, false}, {true, true}} {
			list := windows(t, state.selected)
			if state.acts {
				list = sizes[2:] // has room for all hints
			}
			for _, size := range list {
				t.Run(fmt.Sprintf("%s %dx%d %+v", e.name, size.width, size.height, state), func(t *testing.T) {
					t.Parallel()
					open := func() *Model {
						o := Options{}
						if state.acts {
							o = Options{Release: newFakeReleaser().of, Lab: newFakeLab(), Faults: &fakeFaults{}}
						}
						return onScreen(t, o, e.name, size.width, size.height, state.selected)
					}
					if m := open(); !m.small() {
						everyHintWorks(t, m, open)
					}
				})
			}
		}
	}
}

// everyHintWorks presses and clicks each hint of a model's footer, each time on a new model.
func everyHintWorks(t *testing.T, m *Model, open func() *Model) {
	t.Helper()
	hints, x := frame{m}.shownHints(), 0
	must.True(t, len(hints) != 0, "no footer")
	for _, h := range hints {
		at := x + 1
		x += h.Width()
		key := hintKey(&h.Action)
		must.True(t, key != "", h.Text(), "is not a key")
		pressed, clicked := open(), open()
		click := tea.MouseClickMsg{X: at, Y: m.height - 1, Button: tea.MouseLeft}
		must.True(t, !silent(pressed, func() tea.Cmd { return send(pressed, keyPress(key)) }), h.Text(), "does nothing")
		must.True(t, !silent(clicked, func() tea.Cmd { return send(clicked, click) }), "a click on", h.Text(), "does nothing")
		must.Equal(t, content(clicked), content(pressed), "a click on", h.Text())
	}
}

// The hints of a dialog's footer can be clicked.
func TestDialogFooterHintsAreClickable(t *testing.T) {
	for _, e := range screenList() {
		m := onScreen(t, Options{}, e.name, 200, 50, true)
		keysShow(t, m, "?", "Keys of this screen")
		send(m, tea.MouseClickMsg{X: 1, Y: 49, Button: tea.MouseLeft}) // esc close
		wantNoText(t, m, "Keys of this screen")
	}
}

// Two escapes that arrive together count twice, and one that arrives with a letter counts.
func TestNoEscapeIsLost(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID, "?")
	send(m, tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	must.True(t, !m.HasDialog(), "the dialog is open")
	must.Equal(t, m.inFront, screen.Locks, "in front")
	m = opened(t, Options{}, 120, 36, fixture.Orders().ID)
	send(m, tea.KeyPressMsg{Code: 'f', Mod: tea.ModAlt})
	must.Equal(t, m.inFront, screen.Findings, "in front")
	must.Equal(t, len(m.backStack), 2, m.backStack)
}

// A digit opens its screen from any other. H and a click on the title go to the first screen, where
// esc does nothing.
func TestDigitsAndHome(t *testing.T) {
	for i, e := range screenList() {
		m := model(t, Options{}, 120, 36, fixture.Everything(), "b", "f", string(rune('1'+i)))
		must.Equal(t, m.inFront, e.name, i+1, "opens")
		fits(t, m)
		press(m, "H")
		must.Equal(t, m.inFront, screen.Locks, e.name, "H leads to")
		must.Equal(t, len(m.backStack), 1, e.name, m.backStack)
	}
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	wantText(t, m, "locks ▸ chain")
	press(m, "t", "b", "1")
	must.Equal(t, m.inFront, screen.Locks, "1 leads to")
	must.Equal(t, len(m.backStack), 1, m.backStack)
	press(m, "c", "t")
	send(m, tea.MouseClickMsg{X: 14, Y: 0, Button: tea.MouseLeft})
	must.Equal(t, m.inFront, screen.Locks, "a click leads to")
	must.Equal(t, len(m.backStack), 1, m.backStack)
	receives(t, m, tea.MouseClickMsg{X: 119, Y: 0, Button: tea.MouseLeft}, "read-only: start with --write")
}

// The help finds a key by words of its description, and signs by theirs.
func TestHelpSearches(t *testing.T) {
	m := model(t, Options{}, 200, 50, fixture.Everything())
	receives(t, m, tea.KeyPressMsg{Code: tea.KeyF1}, "Everywhere", "reverse the order", "at least")
	keysShow(t, m, "/ filter", "filter: show only locks")
	wantNoText(t, m, "reverse the order")
	keysShow(t, m, "esc", "reverse the order")
	press(m, "/", "at least")
	wantText(t, m, "≥ at least")
	wantNoText(t, m, "Everywhere", "no watch")
	keysShow(t, m, "xyz", "no key or symbol matches")
}

// Keys of other screens and of the filter leave the comparison, and other keys do not.
func TestScreenKeysLeaveComparison(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"f", "5", "/", ":", "?", "x", "m"} {
		r := handedOverFor(t, Options{}, 120, 36)
		run(t, r.Model, press(r.Model, "D"))
		press(r.Model, key)
		_, open := r.top().(*comparing)
		must.Equal(t, open, key == "x" || key == "m", key)
		must.Equal(t, r.inFront == screen.Findings, key == "f", key, "leads to findings")
	}
}

// Screens that need a lock show the last selected one, however they are opened.
func TestScreensRememberTheLock(t *testing.T) {
	for key, name := range map[string]screen.Name{"L": screen.Lab, "t": screen.Timeline} {
		m := model(t, Options{}, 120, 36, fixture.Everything(), "j", "b", key)
		must.Equal(t, m.inFront, name, key, "opens")
		must.Equal(t, m.front().Selected().Lock, fixture.Orders().ID, key, "is about")
		wantText(t, m, "/locks/orders")
	}
}

// The help of every screen fits 120x36 in two columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := model(t, Options{Lab: newFakeLab(), Release: newFakeReleaser().of, Scenes: twoScenes()}, 120, 36, fixture.Everything())
		goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
		keysShow(t, m, "?", "Everywhere", "Symbols", "about; the clock")
		wantNoText(t, m, "more lines")
	}
}

// If only a few keys fit, the footer shows the most useful: findings, events, the ticket and help.
func TestFooterShowsMostUsefulKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		screen        screen.Name
		width, height int
		want          []string
	}{
		{screen.Locks, 80, 24, []string{"enter chain", "/ filter", "Y ticket", "t timeline", "f findings", "? help", "q quit"}},
		{screen.Chain, 80, 24, []string{"esc back", "enter client", "y copy", "Y ticket", "@ rewind", "t timeline", "? help"}},
		{screen.Timeline, 80, 24, []string{"esc back", "Y ticket", "? help"}},
		{screen.Findings, 80, 24, []string{"enter chain", "/ filter", "y copy", "Y ticket", "esc back", "? help"}},
		{screen.Events, 80, 24, []string{"/ filter", "esc back", "w 2m/10m/all", "p group", "? help"}},
		{screen.Locks, 40, 12, []string{"enter chain", "/ filter", "? help", "q quit"}},
		{screen.Locks, 120, 36, []string{"f findings", "e events", "c clients", "b backends", "L lab", "[ past", "? help", "q quit"}},
		{screen.Chain, 120, 36, []string{"@ rewind", "f findings", "e events", "c clients", "L lab"}},
		{screen.Locks, 200, 50, []string{"[ past", "@ rewind", "D changes"}},
	} {
		m := model(t, Options{}, test.width, test.height, fixture.Everything())
		if test.screen != screen.Locks {
			goTo(m, test.screen, screen.Subject{Lock: fixture.Orders().ID})
		}
		wantIn(t, foot(m), test.want...)
		must.True(t, strings.HasSuffix(foot(m), "? help  q quit"), test.screen, "at", test.width, foot(m))
	}
}

// h and left go back, l and right open, on every screen. On the first screen they say why they cannot.
func TestBackAndOpenWorkEverywhere(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		for _, key := range []string{"h", "left", "l", "right"} {
			m := onScreen(t, Options{Lab: newFakeLab()}, e.name, 120, 36, true)
			before := content(m)
			press(m, key)
			switch back := key == "h" || key == "left"; {
			case back && e.name == screen.Locks:
				wantText(t, m, "already on the lock list")
			case back && m.inFront != screen.Locks:
				t.Errorf("%s: %s leads to %s", e.name, key, m.inFront)
			case !back && content(m) == before:
				t.Errorf("%s: %s opens nothing", e.name, key)
			case !back:
				wantNoText(t, m, "does nothing here")
			}
		}
	}
}

// From a pane of a screen, the first esc goes to its list, and the next one leaves the screen.
func TestEscLeavesThePaneFirst(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"esc", "h", "left"} {
		for _, name := range []screen.Name{screen.Locks, screen.Findings, screen.Clients, screen.Backends} {
			s := fixture.BlockedClients(t)
			if name == screen.Findings {
				s = allFindings()
			}
			m := inClients(t, Options{}, 200, 50, s, screen.Subject{})
			goTo(m, name, screen.Subject{})
			press(m, "tab")
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			wantText(t, m, "esc list")
			press(m, key)
			must.Equal(t, m.inFront, name, key, "leads to")
			wantNoText(t, m, "esc list")
			press(m, key)
			must.True(t, m.inFront != name || name == screen.Locks, name, "is still in front after another", key)
		}
	}
}

// If esc has two effects, the footer shows the first.
func TestFooterListsEachKeyOnce(t *testing.T) {
	m := model(t, Options{}, 120, 36, fixture.Everything(), "f", "/", "stuck", "enter")
	wantIn(t, foot(m), "esc clear filter", "h back")
	must.Equal(t, strings.Count(foot(m), "esc "), 1, foot(m))
	keysHide(t, m, "n esc", "esc clear filter")
}

// The filter of clients has the same keys as all others.
func TestClientsHaveTheFilterKeys(t *testing.T) {
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	keysHide(t, m, "/ jobs enter n", "no filter is on")
	wantText(t, m, "esc clear filter")
	press(m, "h")
	must.Equal(t, m.inFront, screen.Locks, "h leads to")
}

// clickAt clicks on the first occurrence of a text.
func clickAt(t *testing.T, m *Model, text string) {
	t.Helper()
	for y, line := range splitLines(content(m)) {
		if before, _, ok := strings.Cut(line, text); ok {
			send(m, tea.MouseClickMsg{X: len([]rune(before)), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, content(m))
}

// The badges and the breadcrumb can be clicked at every window width.
func TestTitleIsClickable(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{40, 12}, {80, 24}, {200, 50}} {
		open := func(o Options) *Model {
			m := model(t, o, size.width, size.height, fixture.Everything(), "f")
			return m
		}
		m := open(Options{})
		clickAt(t, m, "READ-ONLY")
		wantText(t, m, "read-only")
		must.Equal(t, m.inFront, screen.Findings, size, "READ-ONLY leads to")
		clickAt(t, m, "findings")
		wantText(t, m, "already on findings")
		clickAt(t, m, "locks")
		must.Equal(t, m.inFront, screen.Locks, size, "locks leads to")
		clickAt(t, m, "locks")
		wantText(t, m, "already on the lock list")

		m = open(Options{})
		press(m, "space")
		clickAt(t, m, "PAUSED")
		must.True(t, !m.paused, size, "a click on PAUSED does not resume")
		clickAt(t, m, "redis degraded")
		must.Equal(t, m.inFront, screen.Backends, size, "the problem of a backend leads to")
	}
	m := model(t, Options{Sandbox: true}, 120, 36, fixture.Everything())
	clickAt(t, m, "SANDBOX")
	wantText(t, m, "inside this program")
	clickAt(t, m, "READ-ONLY")
	wantText(t, m, "read-only")
	clickAt(t, m, "zk ●")
	must.Equal(t, m.inFront, screen.Backends, "a backend's sign leads to")
}

// Clicks on the frame do not reach the list: the row below the last visible one stays unselected.
func TestFrameClicksSelectNothing(t *testing.T) {
	m := model(t, Options{}, 40, 12, fixture.Everything())
	before := locksOf(m).Current
	send(m, tea.MouseClickMsg{X: 20, Y: 10, Button: tea.MouseLeft})
	must.Equal(t, locksOf(m).Current, before, "a click on the rule selected")
	m = opened(t, Options{}, 80, 24, fixture.Orders().ID)
	for range 2 {
		send(m, tea.MouseClickMsg{X: 20, Y: 9, Button: tea.MouseRight})
	}
	must.Equal(t, m.inFront, screen.Chain, "the right button opened")
}

// A click selects a row and focuses its pane.
func TestClickFocusesThePane(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 200, 50, fixture.Everything())
	clickAt(t, m, "zk:/locks/orders")
	clickAt(t, m, "└─○ waits")
	wantText(t, m, "worker-7 · waits")
	press(m, "j")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "the keys did not move in the table")
	wantNoText(t, m, "worker-7 · waits")
	clickAt(t, m, "└─○ waits")
	wantNoText(t, m, "locks ▸ chain")
	clickAt(t, m, "└─○ waits")
	wantText(t, m, "locks ▸ chain")
	m = model(t, Options{}, 200, 50, fixture.Everything(), "b")
	s := m.front().(*backends.Screen)
	before := s.Current
	clickAt(t, m, "changes")
	press(m, "j", "j")
	must.Equal(t, s.Current, before, "backends: the keys moved the list, not the details")

	m = model(t, Options{}, 200, 50, fixture.Everything(), "f")
	chosen := m.front().(*findings.Screen).Chosen
	clickAt(t, m, "reported")
	press(m, "j", "j")
	must.Equal(t, m.front().(*findings.Screen).Chosen, chosen, "findings: the keys moved the list, not the details")
}
