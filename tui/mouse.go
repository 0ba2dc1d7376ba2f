package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// mouse gives mouse messages to the screen, counted from its own corner.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	if _, turned := msg.(tea.MouseWheelMsg); m.HasDialog() && turned {
		return m.toDialog(msg)
	}
	if click, ok := msg.(tea.MouseClickMsg); ok && m.HasDialog() && !m.small() && click.Button == tea.MouseLeft && click.Y == m.height-1 {
		return m.clickFoot(click.X)
	}
	if m.HasDialog() || m.small() {
		return nil
	}
	top := len(m.head())
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		m.tour.stopped = true
		if msg.Button == tea.MouseLeft {
			return m.click(msg, top)
		}
	case tea.MouseWheelMsg:
		msg.Y -= top
		return m.front().Update(msg)
	}
	return nil
}

// click does what is clicked in the frame; the screen hears only of clicks on itself.
func (m *Model) click(msg tea.MouseClickMsg, top int) tea.Cmd {
	switch {
	case msg.Y == 0:
		return m.clickHead(msg.X)
	case msg.Y < top:
		if m.troubles() != nil {
			m.Go(screen.Backends, m.front().Selected())
		}
	case msg.Y == m.height-1:
		return m.clickFoot(msg.X)
	case msg.Y < m.height-len(m.foot()):
		msg.Y -= top
		return m.front().Update(msg)
	}
	return nil
}

// clickFoot presses the key whose hint was clicked.
func (m *Model) clickFoot(x int) tea.Cmd {
	for _, h := range m.shownHints() {
		if w := h.Width(); x >= w {
			x -= w
			continue
		}
		if key := hintKey(&h.Action); key != "" {
			return m.key(keyPress(key))
		}
		return nil
	}
	return nil
}

// clickHead goes where the part of the title bar leads that was clicked: home, or to the backends; a badge
// explains itself.
func (m *Model) clickHead(x int) tea.Cmd {
	left, backends, badges := m.titleParts()
	at := m.width - m.badgeLine(badges).Width()
	for _, b := range badges {
		next := at + widget.TextWidth(b.Text) + 1
		if x >= at && x < next {
			return b.click()
		}
		at = next
	}
	switch right := backends.Width() + m.badgeLine(badges).Width(); {
	case x >= m.width-right:
		m.Go(screen.Backends, m.front().Selected())
	case x >= left.Width():
	case m.atHome() != "":
		m.Flash(m.atHome())
	case x >= here(left, m.front().Title()):
		m.Flash(m.front().Title() + " is what you see: esc goes back")
	default:
		m.home()
	}
	return nil
}

// here is the cell of a place where the name of the screen in front begins.
func here(place widget.Line, title string) int {
	for i := range slices.Backward(place) {
		if strings.TrimSpace(place[i].Text) == title {
			return place[:i].Width()
		}
	}
	return place.Width()
}
