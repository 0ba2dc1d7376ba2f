package text

import "github.com/charmbracelet/x/ansi"

// Middle shortens text to at most that many cells. It keeps the start and the end, and puts tail
// between them.
func Middle(text string, cells int, tail string) string {
	w := ansi.StringWidth(text)
	if w <= cells {
		return text
	}
	end := (cells - 1) * 2 / 3
	return ansi.Truncate(text, cells-1-end, "") + tail + ansi.Cut(text, w-end, w)
}
