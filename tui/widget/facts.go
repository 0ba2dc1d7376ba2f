package widget

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/theme"
)

func Facts(t *theme.Theme, width int, lead Span, parts ...string) []Line {
	dot := " " + t.Glyphs.Dot + " "
	lines := []Line{{{"   ", t.Text}, lead}}
	first := true
	for _, part := range parts {
		last := len(lines) - 1
		switch {
		case part == "":
			continue
		case first:
		case lines[last].Width()+len(dot)+ansi.StringWidth(part) <= width:
			lines[last] = lines[last].Add(t.Muted, dot)
		default:
			lines, last = append(lines, Line{{"     ", t.Text}}), last+1
		}
		lines[last], first = lines[last].Add(t.Text, part), false
	}
	return lines
}

// Named is "name text", or empty if there is no text.
func Named(name, text string) string {
	if text == "" {
		return ""
	}
	return name + " " + text
}
