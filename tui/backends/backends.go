package backends

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen lists the backends with their servers, and the details of the selected one.
type Screen struct {
	screen.Context
	width, height int
	input         screen.FilterInput
	rows          []serverRow
	table         widget.Scroller
	Current       ServerKey
	text          widget.Scroller // of the details
	inDetails     bool            // the keys scroll them
}

// serverRow is a backend or one of its servers.
type serverRow struct {
	backend *inspect.Backend
	Server  *inspect.Server // nil for the backend itself
}

// ServerKey identifies a row across snapshots. A target may name a server twice.
type ServerKey struct {
	Backend string
	Server  int // -1 for the backend itself
}

func New(host screen.Context) screen.Screen {
	s := &Screen{Context: host, input: screen.NewFilterInput(screen.NewWords)}
	s.input.Move, s.input.Changed = s.move, s.refresh
	return s
}

// Open selects the backend of the place's lock.
func (s *Screen) Open(p screen.Place, _ screen.SnapshotMsg) tea.Cmd {
	if p.Lock.Backend != "" && p.Lock.Backend != s.Current.Backend {
		s.Current, s.text.Top, s.inDetails = ServerKey{p.Lock.Backend, -1}, 0, false
	}
	s.refresh()
	return nil
}

func (s *Screen) Selected() screen.Subject { return screen.Subject{} }

func (s *Screen) Title() string { return string(screen.Backends) }

func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.moveTo(s.table.At)
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.refresh()
	case tea.MouseWheelMsg:
		g := s.layout()
		if s.inDetails = msg.Y >= g.top && msg.X >= g.left; s.inDetails {
			s.scroll(screen.Wheel(msg))
		} else {
			s.moveTo(s.table.At + screen.Wheel(msg))
		}
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// click selects a row, or goes to the details.
func (s *Screen) click(msg tea.MouseClickMsg) {
	g := s.layout()
	at := s.table.Top + msg.Y - 2
	switch {
	case msg.X >= g.left && msg.Y >= g.top:
		s.inDetails = len(s.rows) > 0
	case msg.Y >= 2 && msg.Y < 2+g.rows && msg.X < g.tableWidth && at < len(s.rows):
		s.inDetails = false
		s.moveTo(at)
	}
}

// refresh copies the backends from the snapshot.
func (s *Screen) refresh() {
	s.rows = nil
	for _, b := range s.Snapshot().Backends {
		var servers []serverRow
		for i := range b.Servers {
			if r := (serverRow{b, &b.Servers[i]}); s.input.MatchText(r.words()...) {
				servers = append(servers, r)
			}
		}
		if r := (serverRow{backend: b}); len(servers) > 0 || s.input.MatchText(r.words()...) {
			s.rows = append(append(s.rows, r), servers...)
		}
	}
	at := slices.IndexFunc(s.rows, func(r serverRow) bool { return r.key() == s.Current })
	if at < 0 {
		at = s.table.At
	}
	s.moveTo(at)
}

func (r serverRow) key() ServerKey {
	for i := range r.backend.Servers {
		if r.Server == &r.backend.Servers[i] {
			return ServerKey{r.backend.Name, i}
		}
	}
	return ServerKey{r.backend.Name, -1}
}

// words returns the texts that the filter searches.
func (r serverRow) words() []string {
	b := r.backend
	words := []string{describe.Printable(b.Name), string(b.Kind), string(b.State), string(b.Mode)}
	if v := r.Server; v != nil {
		return append(words[:1], describe.Printable(v.Addr), string(v.State), describe.Printable(v.Role),
			describe.Printable(v.Version))
	}
	for i := range b.Findings {
		words = append(words, describe.Printable(b.Findings[i].Rule))
	}
	return words
}

// Row returns the selected row; false if none.
func (s *Screen) Row() (serverRow, bool) {
	if s.table.At < len(s.rows) {
		return s.rows[s.table.At], true
	}
	return serverRow{}, false
}

func (s *Screen) moveTo(at int) {
	s.table.To(at, len(s.rows), s.layout().rows)
	if r, ok := s.Row(); ok && r.key() != s.Current {
		s.Current, s.text.Top = r.key(), 0
	}
	s.scroll(0)
}

// scroll moves the details, but not past their end.
func (s *Screen) scroll(by int) {
	g := s.layout()
	s.text.Scroll(by, len(s.details(g.paneWidth)), g.paneRows)
}

func (s *Screen) move(by int) {
	if s.inDetails {
		s.scroll(by)
		return
	}
	s.moveTo(s.table.At + by)
}

func (s *Screen) ScrollPosition() (at, of, rows int) { return s.table.At, len(s.rows), s.layout().rows }

func (s *Screen) page() int {
	if s.inDetails {
		return s.layout().paneRows
	}
	return s.layout().rows
}

// Input returns the filter of the list.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

func (s *Screen) Actions() []screen.Action {
	none := func() string {
		if _, ok := s.Row(); !ok {
			return "no backend is selected"
		}
		return ""
	}
	hint := "details"
	if s.inDetails {
		hint = "servers"
	}
	list := []screen.Action{{
		Keys: []string{"tab", "enter", "l", "right"}, Shown: "tab enter", Hint: hint,
		Help:     "next pane: the servers, or the selected one's details",
		Disabled: none, Run: screen.Do(func() { s.inDetails = !s.inDetails }),
	}}
	if s.inDetails {
		list = append(list, screen.LeaveAction(func() { s.inDetails = false }))
	}
	list = append(list,
		s.input.Actions("filter: show only servers that have all these words: address, role, backend, finding")...)
	list = append(list, screen.BackAction(s.Context),
		screen.Action{
			Keys: []string{"y"}, Shown: "y", Hint: "copy", Late: true,
			Help: "copy the server's address, via the terminal's clipboard (OSC 52)", Disabled: none,
			Run: s.copyAddress,
		})
	return append(list, screen.Moves(s.move, s.page)...)
}

// copyAddress puts a server's address, or those of all servers of a backend, on the clipboard.
func (s *Screen) copyAddress() tea.Cmd {
	r, _ := s.Row()
	text := ""
	for i := range r.backend.Servers {
		if v := &r.backend.Servers[i]; r.Server == nil || r.Server == v {
			if text != "" {
				text += ","
			}
			text += describe.Printable(v.Addr)
		}
	}
	return screen.ToClipboard(s, text, text)
}

// Focus returns nil: this screen shows no locks.
func (s *Screen) Focus() []inspect.ID { return nil }

// NeedsFastTick is false, since ages are shown in whole seconds.
func (s *Screen) NeedsFastTick() bool { return false }
