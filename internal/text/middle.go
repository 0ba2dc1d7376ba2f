package text

import "github.com/charmbracelet/x/ansi"

// Middle cuts text in its middle to at most that many cells, so that its start and its end stay; tail stands for what
// was cut.
func Middle(text string, cells int, tail string) string {
	w := ansi.StringWidth(text)
	if w <= cells {
		return text
	}
	end := (cells - 1) * 2 / 3
	return ansi.Truncate(text, cells-1-end, "") + tail + ansi.Cut(text, w-end, w)
}
