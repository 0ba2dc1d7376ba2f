package chain

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// rootEvery is the minimum time between two searches for the root blocker. Each search goes
// through all contenders of all locks.
const rootEvery = time.Second

// rootFoundMsg has the root blocker of a lock.
type rootFoundMsg struct {
	lock  inspect.ID
	entry *inspect.Entry // nil unless it is on another lock
}

// rootCause finds the root blocker of the chain's lock if the lock's holder waits for another
// lock.
type rootCause struct {
	seeking bool
	lock    inspect.ID
	at      time.Time
	entry   *inspect.Entry
}

// seekRoot searches for the root blocker of a contended lock, at most once per rootEvery.
func (s *Screen) seekRoot() tea.Cmd {
	r, l := &s.root, s.Snapshot().Lock(s.Pane.id)
	if r.seeking || l == nil {
		return nil
	}
	if len(l.Holders) == 0 || l.Waiting() == l.WaitersAtLeast {
		r.lock, r.entry, s.Pane.root = l.ID, nil, nil
		return nil
	}
	if r.lock == l.ID && s.Now().Sub(r.at) < rootEvery {
		return nil
	}
	r.seeking, r.at = true, s.Now()
	snapshot := s.Snapshot()
	return s.Request(screen.Chain, 0, func(context.Context) tea.Msg {
		e, ok := snapshot.Culprit(l)
		if !ok || e.Lock.ID == l.ID {
			return rootFoundMsg{lock: l.ID}
		}
		return rootFoundMsg{l.ID, &e}
	})
}

func (r *rootCause) found(msg rootFoundMsg) { r.seeking, r.lock, r.entry = false, msg.lock, msg.entry }

// of returns the root blocker of a lock; nil if the last search was for another lock.
func (r *rootCause) of(id inspect.ID) *inspect.Entry {
	if r.lock != id {
		return nil
	}
	return r.entry
}

// rootLines name the root blocker while the holder itself waits; none once it no longer does.
func (p *Pane) rootLines() []widget.Line {
	if p.root == nil {
		return nil
	}
	t := p.Theme()
	l := p.Snapshot().Lock(p.root.Lock.ID)
	if l == nil {
		return nil
	}
	c, ok := l.Contender(p.root.Contender.Name)
	if !ok || c.State != inspect.Holding {
		return nil
	}
	text := describe.Owner(&c) + " holds"
	if held, ok := p.Snapshot().Age(l, &c, c.HeldSince, p.Now()); ok {
		text += " for " + describe.Signed(held)
	}
	var lines []widget.Line
	lead := widget.Span{" " + t.Glyphs.Arrow + " ", t.Warning}
	text = "its holder is itself blocked on " + l.ID.String() + ", which " + text + " (o goes there)"
	for _, part := range widget.Wrap(text, p.width-4, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{lead, {part, t.Text}})
		lead = widget.Span{"   ", t.Text}
	}
	return lines
}
