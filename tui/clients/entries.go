package clients

import (
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// entryColumns returns the columns of a client's holds and waits.
func (s *Screen) entryColumns(entries []inspect.Entry, width int) []widget.Column {
	list := []widget.Column{
		{Title: "STATE", Width: 9},
		{Title: "LOCK", Middle: true, Width: 20, Grow: 5, Most: 60},
		{Title: "FOR", Width: 7, Right: true},
		{Title: "BLOCKS", Width: 6, Right: true},
		{Title: "BLOCKED BY", Middle: true, Width: 16, Grow: 4, Most: 40},
	}
	list[4].Domain = describe.SharedDomain(s.Snapshot())
	name, blocker := 0, 0
	for _, e := range entries {
		name = max(name, lipgloss.Width(e.Lock.ID.String()))
		blocker = max(blocker, s.blocker(e).LeaveOut(list[4].Domain, 0).Width())
	}
	list[1].Fit(s.locks.Keep(name, s.Now()))
	list[4].Fit(s.blockers.Keep(blocker, s.Now()))
	width -= widget.Margin + 1
	if widget.InFull(list, width, 1, 4) || widget.InFull(list, width, 1) {
		return list
	}
	list[3].From = widget.Never
	if blocker <= 1 { // it waits for nothing
		list[4].From = widget.Never
	}
	widget.InFull(list, width, 1)
	return list
}

// blocker is the contender that a client's entry waits for.
func (s *Screen) blocker(e inspect.Entry) widget.Line {
	t := s.Theme()
	switch b := before(e); {
	case e.Contender.State == inspect.Holding:
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	case b == nil:
		return widget.Line{{"unknown", t.Unknown}}
	case b.State != inspect.Holding:
		mark, _ := screen.ContenderSign(t, b)
		return widget.Line{mark, {" " + describe.Owner(b), t.Text}}
	default:
		return widget.Line{{describe.Owner(b), t.Text}}
	}
}

func (s *Screen) entryRow(e inspect.Entry, columns []widget.Column, width int, selected bool) widget.Line {
	t, c := s.Theme(), e.Contender
	mark, word := screen.ContenderSign(t, c)
	if describe.LevelOf(e.Lock) == describe.LevelCritical {
		mark = widget.Span{t.Glyphs.Critical, t.Critical}
	}
	none := widget.Line{{t.Glyphs.Dash, t.Faint}}
	since, blocks := widget.Line{{t.Glyphs.Unknown, t.Unknown}}, none
	if held := screen.Ages(s).Held(e.Lock, c); c.State == inspect.Holding && held.Known != describe.Unbounded {
		since = widget.Line{{t.Glyphs.Translate(held.Known.Sign()), t.Muted}, {describe.Age(held.Duration), t.Text}}
	} else if d, ok := screen.Ages(s).Since(e.Lock, c); ok && c.State != inspect.Holding {
		since = widget.Line{{describe.SignOf(d), t.Muted}, {describe.Age(d.Duration), t.Text}}
	}
	if n := describe.Blocks(e.Lock, c); n != "" {
		blocks = widget.Line{{n, t.Text}}
	}
	lock := widget.Line{
		{describe.Printable(e.Lock.ID.Backend) + ":", t.Muted}, {inspect.Escape(e.Lock.ID.Path), t.Text},
	}
	l := widget.Line{{" ", t.Text}, mark, {" ", t.Text}}
	if selected {
		l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
	}
	l = append(l,
		widget.Join(columns, widget.Lay(columns, width-widget.Margin-1),
			[]widget.Line{{{word, mark.Style}}, lock, since, blocks, s.blocker(e)}, t.Glyphs.Ellipsis)...)
	if selected {
		return l.Over(width, widget.SelectedStyle(s.Theme(), s.inEntries))
	}
	return l
}

// Focus returns the visible locks, so that their queues are read in full.
func (s *Screen) Focus() []inspect.ID {
	var ids []inspect.ID
	add := func(id inspect.ID) {
		if id != (inspect.ID{}) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if s.graphing {
		rows, _ := s.graphRows()
		from, to := s.graph.Visible(len(rows), s.graphHeight())
		for _, r := range rows[from:to] {
			add(r.about.Lock)
		}
	} else if r := s.Row(); r != nil {
		from, to := s.entries.Visible(len(r.entries), s.entryRows())
		for _, e := range r.entries[from:to] {
			add(e.Lock.ID)
		}
	}
	return ids
}
