package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// backendsPage lists the backends with their servers, and all that is known of the selected one.
type backendsPage struct {
	Context
	width, height int
	input         filterInput
	rows          []serverRow
	table         scroller
	selected      serverKey
	// below is how far the details are scrolled; inDetails: the keys scroll them.
	below     int
	inDetails bool
}

// serverRow is a backend or one of its servers.
type serverRow struct {
	backend *inspect.Backend
	server  *inspect.Server // nil for the backend itself
}

// serverKey tells rows apart from one snapshot to the next. A server may be named twice in a target.
type serverKey struct {
	backend string
	server  int // -1 for the backend itself
}

func newBackends(host Context) screen {
	return &backendsPage{Context: host, input: newFilterInput(newWords)}
}

// Open selects the backend of the place's lock.
func (s *backendsPage) Open(p place) {
	if p.lock.Backend != "" && p.lock.Backend != s.selected.backend {
		s.selected, s.below, s.inDetails = serverKey{p.lock.Backend, -1}, 0, false
	}
	s.refresh()
}

func (s *backendsPage) Selected() subject { return subject{} }

func (s *backendsPage) Crumb() string { return string(backendsScreen) }

func (s *backendsPage) SetSize(width, height int) {
	s.width, s.height = width, height
	s.moveTo(s.table.at)
}

func (s *backendsPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.refresh()
	case tea.MouseWheelMsg:
		g := s.layout()
		if s.inDetails = msg.Y >= g.top && msg.X >= g.left; s.inDetails {
			s.scroll(wheel(msg))
		} else {
			s.moveTo(s.table.at + wheel(msg))
		}
	case tea.MouseClickMsg:
		g := s.layout()
		if at := s.table.top + msg.Y - 2; msg.Button == tea.MouseLeft && msg.Y >= 2 && msg.Y < 2+g.rows && msg.X < g.tableWidth && at < len(s.rows) {
			s.inDetails = false
			s.moveTo(at)
		}
	}
	return nil
}

// refresh takes over the backends from the snapshot.
func (s *backendsPage) refresh() {
	s.rows = nil
	for _, b := range s.Snapshot().Backends {
		var servers []serverRow
		for i := range b.Servers {
			if r := (serverRow{b, &b.Servers[i]}); s.input.matchText(r.words()...) {
				servers = append(servers, r)
			}
		}
		if r := (serverRow{backend: b}); len(servers) > 0 || s.input.matchText(r.words()...) {
			s.rows = append(append(s.rows, r), servers...)
		}
	}
	at := slices.IndexFunc(s.rows, func(r serverRow) bool { return r.key() == s.selected })
	if at < 0 {
		at = s.table.at
	}
	s.moveTo(at)
}

func (r serverRow) key() serverKey {
	for i := range r.backend.Servers {
		if r.server == &r.backend.Servers[i] {
			return serverKey{r.backend.Name, i}
		}
	}
	return serverKey{r.backend.Name, -1}
}

// words are what the filter looks in.
func (r serverRow) words() []string {
	b := r.backend
	words := []string{describe.Printable(b.Name), string(b.Kind), string(b.State), string(b.Mode)}
	if v := r.server; v != nil {
		return append(words[:1], describe.Printable(v.Addr), string(v.State), describe.Printable(v.Role), describe.Printable(v.Version))
	}
	for i := range b.Findings {
		words = append(words, describe.Printable(b.Findings[i].Rule))
	}
	return words
}

// row is the selected one; false when there is none.
func (s *backendsPage) row() (serverRow, bool) {
	if s.table.at < len(s.rows) {
		return s.rows[s.table.at], true
	}
	return serverRow{}, false
}

func (s *backendsPage) moveTo(at int) {
	s.table.to(at, len(s.rows), s.layout().rows)
	if r, ok := s.row(); ok && r.key() != s.selected {
		s.selected, s.below = r.key(), 0
	}
	s.scroll(0)
}

// scroll moves the details as far as there are any.
func (s *backendsPage) scroll(by int) {
	g := s.layout()
	s.below = max(0, min(s.below+by, len(s.details(g.paneWidth))-g.paneRows))
}

func (s *backendsPage) move(by int) {
	if s.inDetails {
		s.scroll(by)
		return
	}
	s.moveTo(s.table.at + by)
}

func (s *backendsPage) Sight() (at, of, rows int) { return s.table.at, len(s.rows), s.layout().rows }

func (s *backendsPage) page() int {
	if s.inDetails {
		return s.layout().paneRows
	}
	return s.layout().rows
}

func (s *backendsPage) leave() {
	if s.inDetails {
		s.inDetails = false
		return
	}
	s.Back()
}

func (s *backendsPage) Typing() bool { return s.input.open }

// TakeKey types into the filter while it is open.
func (s *backendsPage) TakeKey(msg tea.KeyPressMsg) bool {
	if !s.input.open {
		return false
	}
	if s.input.key(msg) {
		s.refresh()
	}
	return true
}

func (s *backendsPage) Actions() []action {
	none := func() string {
		if _, ok := s.row(); !ok {
			return "no backend is selected"
		}
		return ""
	}
	hint := "details"
	if s.inDetails {
		hint = "servers"
	}
	list := []action{{
		keys: []string{"tab", "enter", "l", "right"}, shown: "tab enter", hint: hint, help: "next pane: the servers, or what is known of the selected one",
		disabled: none, run: do(func() { s.inDetails = !s.inDetails }),
	}}
	list = append(list, s.input.actions("show only servers that have all these words: address, role, backend, finding", s.refresh)...)
	list = append(list,
		action{keys: []string{"esc", "h", "left"}, shown: "esc h", hint: "back", help: "back to the servers, or to where you came from", run: do(s.leave)},
		action{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the server's address, by the terminal (OSC 52)", disabled: none, run: s.copyAddress})
	return append(list, moves(s.move, s.page)...)
}

// copyAddress puts a server's address, or those of all servers of a backend, on the clipboard.
func (s *backendsPage) copyAddress() tea.Cmd {
	r, _ := s.row()
	text := ""
	for i := range r.backend.Servers {
		if v := &r.backend.Servers[i]; r.server == nil || r.server == v {
			if text != "" {
				text += ","
			}
			text += describe.Printable(v.Addr)
		}
	}
	s.Flash(fmt.Sprintf("copied %s", text))
	return tea.SetClipboard(text)
}

// Focus is on no lock.
func (s *backendsPage) Focus() []inspect.ID { return nil }

// Lively: ages are shown in whole seconds.
func (s *backendsPage) Lively() bool { return false }
