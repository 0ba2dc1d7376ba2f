package tui

import (
	"fmt"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// groupView draws the head of a group: its worst sign, its prefix, and what is in it.
func (s *locks) groupView(g *lockGroup, width int, selected bool) string {
	t := s.Theme()
	mark := rankSign(t, g.worst())
	lead := t.Glyphs.Closed
	if s.opened[g.prefix] {
		lead = t.Glyphs.Opened
	}
	l := append(make(line, 0, 16), span{" ", t.Text}, mark, span{" " + lead + " ", t.Muted}, span{describe.Printable(g.backend) + ":", t.Muted})
	if g.path == "" {
		l = l.add(t.Muted, "(no prefix)")
	} else {
		l = l.add(t.Strong, inspect.Escape(g.path))
	}
	over := s.Theme().Selected
	if selected {
		l[0] = span{t.Glyphs.Cursor, t.Holding}
	} else {
		over = nil
	}
	counts := s.groupCounts(g)
	room := width - counts.width() - 2
	l = l.squeeze(room, t.Glyphs.Ellipsis).cut(room, t.Glyphs.Ellipsis)
	l = append(l.add(t.Text, blanks(width-counts.width()-l.width())), counts...)
	return l.render(width, t.Glyphs.Ellipsis, over)
}

func (s *locks) groupCounts(g *lockGroup) line {
	t := s.Theme()
	parts := make(line, 0, 8)
	put := func(n int, sign span, what string) {
		if n > 0 {
			parts = parts.add(sign.style, fmt.Sprintf("%s %d%s  ", sign.text, n, what))
		}
	}
	put(g.ranks[describe.LevelCritical], rankSign(t, describe.LevelCritical), "")
	put(g.ranks[describe.LevelWarning], rankSign(t, describe.LevelWarning), "")
	put(g.ranks[describe.LevelUnknown], rankSign(t, describe.LevelUnknown), "")
	if g.contended > 0 {
		parts = parts.add(t.Muted, fmt.Sprintf("%d contended  ", g.contended))
	}
	parts = parts.add(t.Text, describe.Count(g.rows.count, "lock")+" ")
	return parts
}
