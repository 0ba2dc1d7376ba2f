package widget

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/theme"
)

// Box draws lines in a border, width cells wide inside and at most height lines high in total.
func Box(t *theme.Theme, lines []Line, width, height int, dangerous bool) string {
	lines = lines[:max(0, min(len(lines), height-2))]
	rows := make([]string, len(lines))
	for i, l := range lines {
		rows[i] = l.Render(width, t.Glyphs.Ellipsis, nil)
	}
	frame := t.Frame
	if dangerous {
		frame = t.FrameCritical
	}
	return lipgloss.NewStyle().
		Border(t.Glyphs.Border).
		BorderForeground(frame.Foreground()).
		Padding(0, 1).
		Render(strings.Join(rows, "\n"))
}
