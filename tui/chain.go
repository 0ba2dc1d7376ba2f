package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

const chainScreen screenName = "chain"

// chain shows one lock: who holds it and who waits on whom, or how the masters vote.
type chain struct {
	*world
	pane *chainPane
}

func newChain(w *world) screen { return &chain{world: w, pane: newChainPane(w)} }

func (s *chain) Open(p place) {
	if p.lock != (inspect.ID{}) {
		s.pane.Show(p.lock)
	}
}

func (s *chain) Selected() subject { return s.pane.Selected() }

func (s *chain) Crumb() string { return string(chainScreen) }

func (s *chain) SetSize(width, height int) { s.pane.SetSize(width, height) }

func (s *chain) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.pane.Refresh()
	case tea.MouseWheelMsg:
		s.pane.Move(wheel(msg))
	case tea.MouseClickMsg:
		s.pane.Click(msg.Y)
	}
	return nil
}

func (s *chain) Actions() []action {
	list := []action{
		{keys: []string{"esc", "h", "left"}, shown: "esc h", hint: "back", help: "back to where you came from", run: do(s.back)},
		s.releaseAction(),
		{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the path, the session, a command... by the terminal (OSC 52)", run: s.copy},
	}
	list = append(list, action{
		keys: []string{"tab"}, shown: "tab", help: "next pane",
		disabled: func() string { return "this screen has one pane" },
	})
	return append(list, moves(s.pane.Move, s.pane.page)...)
}

// copy offers what there is of the lock and of the selected contender.
func (s *chain) copy() tea.Cmd {
	l := s.snapshot.Lock(s.pane.id)
	if l == nil {
		return s.copyMenu(nil, nil)
	}
	return s.copyMenu(l, s.pane.Target(l))
}

// releaseAction is the way to the release dialog. Where nothing may be written the key only says so.
func (s *chain) releaseAction() action {
	a := action{
		keys: []string{"x"}, shown: "x", hint: "force-release",
		help:   "force-release the selected holder: preview, then type the path",
		writes: true, disabled: s.cannotRelease, run: s.release,
	}
	if s.options.Release == nil {
		a.help = "force-release (read-only: start with --write)"
		a.writes = false
		a.disabled = func() string { return "read-only: start with --write" }
		a.run = func() tea.Cmd { return nil }
	}
	return a
}

func (s *chain) cannotRelease() string {
	l := s.snapshot.Lock(s.pane.id)
	switch {
	case l == nil:
		return "the lock is gone"
	case s.pane.Target(l) == nil:
		return "nobody holds it: there is nothing to release"
	}
	if _, ok := s.options.Release(s.pane.id.Backend); !ok {
		return "backend " + printed(s.pane.id.Backend) + " cannot be written to"
	}
	return ""
}

func (s *chain) release() tea.Cmd {
	l := s.snapshot.Lock(s.pane.id)
	releaser, _ := s.options.Release(s.pane.id.Backend)
	d := newRelease(s.world, releaser, l, s.pane.Target(l))
	s.modal = d
	return d.start()
}

func (s *chain) Focus() []inspect.ID { return []inspect.ID{s.pane.id} }

func (s *chain) Lively() bool { return s.pane.Lively() }

func (s *chain) View() string { return s.pane.View() }
