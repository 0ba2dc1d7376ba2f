package tui

import (
	"image/color"
	"strings"

	"lockscope/internal/text"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// span is text in one style; line is a row of them.
type (
	span = struct {
		text  string
		style lipgloss.Style
	}
	line []span
)

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += textWidth(s.text)
	}
	return n
}

func (l line) add(style lipgloss.Style, text string) line { return append(l, span{text, style}) }

// textWidth is how many cells text takes. Most of it is ASCII, where that is quickly told.
func textWidth(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// text is the line without its styles.
func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// render draws a line in exactly width cells: cut with tail, or filled up. over changes every style; nil: none does.
func (l line) render(width int, tail string, over func(lipgloss.Style) lipgloss.Style) string {
	if l.width() > width {
		l = l.cut(width, tail)
	}
	var b strings.Builder
	used := 0
	for i := range l {
		s := &l[i]
		if s.text == "" {
			continue
		}
		used += textWidth(s.text)
		if over != nil {
			b.WriteString(paint(over(s.style), s.text))
		} else {
			b.WriteString(paint(s.style, s.text))
		}
	}
	if used < width {
		rest := blanks(width - used)
		if over != nil {
			rest = paint(over(lipgloss.NewStyle()), rest)
		}
		b.WriteString(rest)
	}
	return b.String()
}

// paint draws text of one line in the colours and weight of a style. lipgloss' own Render lays out blocks, which takes ten
// times as long, for each of the thousand spans of a frame.
func paint(style lipgloss.Style, text string) string {
	var a ansi.Style
	if style.GetBold() {
		a = a.Bold()
	}
	if style.GetFaint() {
		a = a.Faint()
	}
	if style.GetUnderline() {
		a = a.Underline(true)
	}
	if style.GetReverse() {
		a = a.Reverse(true)
	}
	if c := style.GetForeground(); coloured(c) {
		a = a.ForegroundColor(c)
	}
	if c := style.GetBackground(); coloured(c) {
		a = a.BackgroundColor(c)
	}
	if len(a) == 0 || text == "" {
		return text
	}
	return a.Styled(text)
}

func coloured(c color.Color) bool { return c != nil && c != color.Color(lipgloss.NoColor{}) }

// cut is the line in at most width cells, the last ones tail where something was cut off.
func (l line) cut(width int, tail string) line {
	if l.width() <= width {
		return l
	}
	var out line
	for _, s := range l {
		w := textWidth(s.text)
		if w >= width { // more follows or this is too long itself
			return append(out, span{ansi.Truncate(s.text+" ", width, tail), s.style})
		}
		width -= w
		out = append(out, s)
	}
	return out
}

// spread puts right at the end of a line of width cells. Where both do not fit, right loses.
func spread(left, right line, width int, tail string) line {
	gap := width - left.width() - right.width()
	if gap < 1 {
		return left.cut(width, tail)
	}
	out := append(line{}, left...)
	out = append(out, span{text: strings.Repeat(" ", gap)})
	return append(out, right...)
}

// align puts a line to the left or right of width cells.
func (l line) align(width int, right bool, tail string) line {
	l = l.cut(width, tail)
	blank := span{text: strings.Repeat(" ", max(0, width-l.width()))}
	if right {
		return append(line{blank}, l...)
	}
	return append(append(line{}, l...), blank)
}

// blanks is n blanks; none for less than one.
func blanks(n int) string {
	const some = "                                                                                "
	if n <= len(some) {
		return some[:max(0, n)]
	}
	return strings.Repeat(" ", n)
}

// squeeze cuts the longest part of a line in its middle, so that the line fits into width cells.
func (l line) squeeze(width int, ellipsis string) line {
	over := l.width() - width
	if over <= 0 || len(l) == 0 {
		return l
	}
	out := append(line{}, l...)
	long := &out[0]
	for i := range out {
		if ansi.StringWidth(out[i].text) > ansi.StringWidth(long.text) {
			long = &out[i]
		}
	}
	if room := ansi.StringWidth(long.text) - over; room > 4 {
		long.text = text.Middle(long.text, room, ellipsis)
	}
	return out
}

// wrap breaks text at blanks into at most n lines of width cells. Only a word that is wider than a line is broken
// itself: names and commands stay as they are typed.
func wrap(s string, width, n int, tail string) []string {
	width = max(1, width)
	var lines []string
	rest := ""
	for _, word := range strings.Fields(s) {
		if len(lines) > n {
			break // what follows is cut off
		}
		switch {
		case rest == "":
			rest = word
		case ansi.StringWidth(rest)+1+ansi.StringWidth(word) <= width:
			rest += " " + word
		default:
			lines, rest = append(lines, rest), word
		}
		for ansi.StringWidth(rest) > width && len(lines) <= n {
			head := ansi.Truncate(rest, width, "")
			if head == "" {
				break // one character is wider than a line
			}
			lines, rest = append(lines, head), strings.TrimPrefix(rest, head)
		}
	}
	lines = append(lines, rest)
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] = ansi.Truncate(lines[n-1]+" "+tail, width, tail)
	}
	return lines
}

// wrapCommand breaks a command between its words, so that pasting the lines runs it as a whole.
func wrapCommand(command string, width int) []string {
	var words []string
	quoted, from := false, 0
	for i := range len(command) {
		switch c := command[i]; {
		case c == '\'' && (quoted || i == 0 || command[i-1] != '\\'):
			quoted = !quoted
		case c == ' ' && !quoted:
			words, from = append(words, command[from:i]), i+1
		}
	}
	words = append(words, command[from:])
	lines := []string{words[0]}
	for _, word := range words[1:] {
		if last := &lines[len(lines)-1]; ansi.StringWidth(*last)+1+ansi.StringWidth(word)+2 <= width {
			*last += " " + word
		} else {
			*last += ` \`
			lines = append(lines, word)
		}
	}
	return lines
}

// over changes the styles of a line that is filled up to width cells.
func (l line) over(width int, style func(lipgloss.Style) lipgloss.Style) line {
	if style == nil {
		return l
	}
	l = l.align(width, false, "")
	for i := range l {
		l[i].style = style(l[i].style)
	}
	return l
}
