package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// mouse sends mouse messages to the screen, with coordinates relative to its corner.
func (f frame) mouse(msg tea.MouseMsg) tea.Cmd {
	if _, turned := msg.(tea.MouseWheelMsg); f.HasDialog() && turned {
		return f.toDialog(msg)
	}
	if f.small() {
		return nil
	}
	if f.HasDialog() {
		if click, ok := msg.(tea.MouseClickMsg); ok && click.Button == tea.MouseLeft && click.Y == f.height-1 {
			return f.clickFoot(click.X)
		}
		return nil
	}
	top := len(f.head())
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		f.tour.stopped = true
		if msg.Button == tea.MouseLeft {
			return f.click(msg, top)
		}
	case tea.MouseWheelMsg:
		msg.Y -= top
		return f.front().Update(msg)
	}
	return nil
}

// click handles clicks in the frame, and forwards only clicks on the screen itself.
func (f frame) click(msg tea.MouseClickMsg, top int) tea.Cmd {
	switch {
	case msg.Y == 0:
		return f.clickHead(msg.X)
	case msg.Y < top:
		if f.troubles() != nil {
			f.Go(screen.Backends, f.front().Selected())
		}
	case msg.Y == f.height-1:
		return f.clickFoot(msg.X)
	case msg.Y < f.height-len(f.foot()):
		msg.Y -= top
		return f.front().Update(msg)
	}
	return nil
}

// clickFoot presses the key whose hint was clicked.
func (f frame) clickFoot(x int) tea.Cmd {
	for _, h := range f.shownHints() {
		if w := h.Width(); x >= w {
			x -= w
			continue
		}
		if key := hintKey(&h.Action); key != "" {
			return f.key(keyPress(key))
		}
		return nil
	}
	return nil
}

// clickHead handles a click on the title bar: it goes home or to the backends, or explains a
// badge.
func (f frame) clickHead(x int) tea.Cmd {
	left, backends, badges := f.titleParts()
	at := f.width - f.badgeLine(badges).Width()
	for _, b := range badges {
		next := at + widget.TextWidth(b.Text) + 1
		if x >= at && x < next {
			return b.click()
		}
		at = next
	}
	switch right := backends.Width() + f.badgeLine(badges).Width(); {
	case x >= f.width-right:
		f.Go(screen.Backends, f.front().Selected())
	case x >= left.Width():
	case f.atHome() != "":
		f.Flash(f.atHome())
	case x >= here(left, f.front().Title()):
		f.Flash("already on " + f.front().Title() + ": esc goes back")
	default:
		f.home()
	}
	return nil
}

// here is the column where the front screen's name begins in a breadcrumb.
func here(place widget.Line, title string) int {
	for i := range slices.Backward(place) {
		if strings.TrimSpace(place[i].Text) == title {
			return place[:i].Width()
		}
	}
	return place.Width()
}
