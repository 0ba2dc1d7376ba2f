package tui

import (
	"github.com/charmbracelet/x/ansi"

	"lockscope/theme"
)

func facts(t *theme.Theme, width int, lead span, parts ...string) []line {
	dot := " " + t.Glyphs.Dot + " "
	lines := []line{{{"   ", t.Text}, lead}}
	first := true
	for _, part := range parts {
		last := len(lines) - 1
		switch {
		case part == "":
			continue
		case first:
		case lines[last].width()+len(dot)+ansi.StringWidth(part) <= width:
			lines[last] = lines[last].add(t.Muted, dot)
		default:
			lines, last = append(lines, line{{"     ", t.Text}}), last+1
		}
		lines[last], first = lines[last].add(t.Text, part), false
	}
	return lines
}

// named is "name text", or empty when there is no text.
func named(name, text string) string {
	if text == "" {
		return ""
	}
	return name + " " + text
}
