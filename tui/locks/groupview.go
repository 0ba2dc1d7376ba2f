package locks

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// groupView draws the header of a group: the sign of its worst lock, its prefix, and a summary of its locks.
func (s *Screen) groupView(g *lockGroup, width int, selected bool) string {
	t := s.Theme()
	mark := screen.LevelSign(t, g.worst())
	lead := t.Glyphs.Closed
	if s.Opened[g.Prefix] {
		lead = t.Glyphs.Opened
	}
	l := append(make(widget.Line, 0, 16), widget.Span{" ", t.Text}, mark, widget.Span{" " + lead + " ", t.Muted})
	l = l.Add(t.Muted, describe.Printable(g.Backend)+":")
	if g.Path == "" {
		l = l.Add(t.Muted, "(no prefix)")
	} else {
		l = l.Add(t.Strong, inspect.Escape(g.Path))
	}
	over := widget.SelectedStyle(t, !s.keysInChain())
	if selected {
		l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
	} else {
		over = nil
	}
	counts := groupCounts(t, g)
	room := width - counts.Width() - 2
	l = l.Squeeze(room, t.Glyphs.Ellipsis).Cut(room, t.Glyphs.Ellipsis)
	l = append(l.Add(t.Text, widget.Blanks(width-counts.Width()-l.Width())), counts...)
	return l.Render(width, t.Glyphs.Ellipsis, over)
}

func groupCounts(t *theme.Theme, g *lockGroup) widget.Line {
	parts := make(widget.Line, 0, 8)
	add := func(n int, sign widget.Span, what string) {
		if n > 0 {
			parts = parts.Add(sign.Style, fmt.Sprintf("%s %d%s  ", sign.Text, n, what))
		}
	}
	add(g.ranks[describe.LevelCritical], screen.LevelSign(t, describe.LevelCritical), "")
	add(g.ranks[describe.LevelWarning], screen.LevelSign(t, describe.LevelWarning), "")
	add(g.ranks[describe.LevelUnknown], screen.LevelSign(t, describe.LevelUnknown), "")
	if g.contended > 0 {
		parts = parts.Add(t.Muted, fmt.Sprintf("%d %s  ", g.contended, describe.StateWord(inspect.StateContended)))
	}
	parts = parts.Add(t.Text, describe.Count(g.rows.count, "lock")+" ")
	return parts
}
