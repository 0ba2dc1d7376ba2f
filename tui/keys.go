package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

// namedKeys maps the names of keys in hints to their codes.
func namedKeys() map[string]rune {
	return map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace, "up": tea.KeyUp,
		"down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace,
	}
}

// keyPress is the message of a key, as actions name it.
func keyPress(name string) tea.KeyPressMsg {
	if code, ok := namedKeys()[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

// escapes splits a key that came with a preceding escape. Terminal readers turn two escapes in a
// row, or an escape and a letter, into one key with alt. Letters are split only while the user
// types no text.
func (m *Model) escapes(msg tea.Msg) (esc, rest tea.KeyPressMsg, ok bool) {
	k, isKey := msg.(tea.KeyPressMsg)
	if !isKey || k.Mod != tea.ModAlt {
		return esc, rest, false
	}
	f := m.filter()
	typing := m.HasDialog() || f != nil && f.Open
	if k.Code != tea.KeyEscape && (typing || k.Code > unicodeMax || k.Code < ' ') {
		return esc, rest, false
	}
	rest = tea.KeyPressMsg{Code: k.Code}
	if k.Code >= ' ' && k.Code <= unicodeMax && k.Code != tea.KeyEscape && k.Code != tea.KeySpace {
		rest.Text = string(k.Code)
	}
	return tea.KeyPressMsg{Code: tea.KeyEscape}, rest, true
}

// unicodeMax is the last code of a character; codes of other keys are larger.
const unicodeMax = '\U0010FFFF'

// atHome is the reason why the home key is disabled; empty if it works.
func (m *Model) atHome() string {
	if f := m.filter(); len(m.backStack) == 1 && (f == nil || f.Text() == "") {
		return "already on the lock list"
	}
	return ""
}

// atFirst is the reason why nothing is left to go back to.
func atFirst(m *Model) string {
	if m.inPast() && !m.filmed() {
		return "already on the lock list (backspace returns to now)"
	}
	return "already on the lock list (q quits)"
}

// goHome clears the filters of all screens, and goes home.
func goHome(m *Model) {
	for _, s := range m.screens {
		if f, ok := s.(screen.Filtering); ok && f.Input().Clear() {
			f.Input().Changed()
		}
	}
	m.home()
	if s, ok := m.front().(*locks.Screen); ok {
		s.Home()
	}
}

// home goes to the first screen, and clears the back stack.
func (m *Model) home() {
	m.backStack = m.backStack[:1]
	m.openedFrom = ""
	m.Later(m.open(m.backStack[0]))
}

// commonActions are the keys with the same meaning on every screen, for screens that do not
// define them. Disabled ones have a reason.
func (m *Model) commonActions() []screen.Action {
	about := m.front().Selected()
	return append(acting{m.world}.actions(), []screen.Action{
		{
			Keys: []string{"y"}, Shown: "y", Help: "copy the selection", Disabled: m.noLock,
			Run: func() tea.Cmd { return screen.CopyMenu(m, m.snapshot.Lock(about.Lock), nil) },
		},
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Help: "open the selected lock's chain",
			Disabled: m.noLock,
			Run:      screen.Do(func() { m.Go(screen.Chain, about) }),
		},
		{
			Keys: []string{"/"}, Shown: "/", Help: "go to a lock by its name",
			Run: screen.Do(func() {
				m.goTo() // whatever is typed next is a lock's name, not a command
				m.Flash("no list to filter here: go to a lock or a screen")
			}),
		},
		screen.Cannot("n", "the next match", "no filter is on: / sets one"),
		screen.Cannot("N", "the previous match", "no filter is on: / sets one"),
		screen.Cannot("s", "sort", "this screen cannot be sorted"),
		screen.Cannot("tab", "next pane", "this screen has one pane"),
		screen.Cannot("v", "mark a lock", "nothing to mark here: mark locks in their list (1)"),
		screen.Cannot("V", "mark all that is shown", "nothing to mark here: mark locks in their list (1)"),
		{
			Keys: []string{"esc", "h", "left"}, Shown: "esc h", Help: "back",
			Disabled: func() string { return atFirst(m) },
		},
	}...)
}

func (w *world) noLock() string {
	if about := w.front().Selected(); about.Lock.Path == "" {
		return "no lock is selected"
	}
	return ""
}

// unbound reports that a key does nothing here, except for keys with ctrl or alt.
func (w *world) unbound(msg tea.KeyPressMsg) {
	if name := msg.String(); msg.Text != "" || len(name) > 1 && name[0] == 'f' || namedKeys()[name] != 0 {
		w.Flash(fmt.Sprintf("%s does nothing here: ? lists the keys", inspect.Escape(name)))
	}
}

// hintKey is the key of a hint in the footer; empty if the hint has several.
func hintKey(a *screen.Action) string {
	if len(a.Keys) > 0 {
		return a.Keys[0]
	}
	words := strings.Fields(a.Shown)
	if len(words) > 0 && (namedKeys()[words[0]] != 0 || len(words[0]) == 1) {
		return words[0]
	}
	return ""
}

// shownHints are the hints in the footer, from the left.
func (f frame) shownHints() []screen.Hint {
	if f.HasDialog() {
		return screen.Hints(f.theme, f.top().Actions(), f.width)
	}
	if typed := f.filter(); typed != nil && typed.Open {
		return screen.Hints(f.theme, screen.TypingActions(), f.width)
	}
	var vital, others []screen.Action
	for _, a := range offered(f.globalActions()) {
		if a.Vital {
			vital = append(vital, a)
		} else {
			others = append(others, a)
		}
	}
	last := screen.Hints(f.theme, vital, f.width)
	room := f.width + 1 // the blank after the last hint may be cut
	for _, h := range last {
		room -= h.Width()
	}
	own, at := offered(f.front().Actions()), 0
	if f.inFront == screen.Locks {
		at = 1 // after enter
	}
	own = slices.Insert(own, at, offered(acting{f.world}.hint())...)
	if f.width < longHints {
		var there []screen.Action
		if there, others = timeHints(others); f.inFront == screen.Chain || f.inFront == screen.Events {
			own = append(own, there...)
		}
	}
	all := offered(append(own, others...))
	slices.SortStableFunc(all, func(a, b screen.Action) int {
		switch {
		case a.Late == b.Late:
			return 0
		case a.Late:
			return 1
		default:
			return -1
		}
	})
	return append(screen.Hints(f.theme, all, room), last...)
}

// longHints is the width from which the footer has room for all hints in words.
const longHints = 140

// timeHints keeps the time keys in a narrow footer. The hint that goes to the selected moment is
// returned separately, since screens with moments show it first.
func timeHints(all []screen.Action) (there, rest []screen.Action) {
	for _, a := range all {
		switch {
		case slices.Contains(a.Keys, "["):
			a.Late = false
		case slices.Contains(a.Keys, "@"):
			a.Late = false
			there = append(there, a)
			continue
		}
		rest = append(rest, a)
	}
	return there, rest
}
