package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
)

// Span is text in one style; Line is a row of spans.
type (
	Span = struct {
		Text  string
		Style theme.Style
	}
	Line []Span
)

func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += TextWidth(s.Text)
	}
	return n
}

func (l Line) Add(style theme.Style, text string) Line { return append(l, Span{text, style}) }

// Part appends a part if it is shown, with a dot before it unless it is the first.
func (l Line) Part(shown bool, t *theme.Theme, style theme.Style, text string) Line {
	if !shown {
		return l
	}
	if len(l) > 0 {
		l = l.Add(t.Muted, " "+t.Glyphs.Dot+" ")
	}
	return l.Add(style, text)
}

// TextWidth is the width in cells. Most text is ASCII, whose width is its length.
func TextWidth(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Text is the line without its styles.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Render draws a line in exactly width cells, cut with tail or padded. over changes every style;
// nil changes none.
func (l Line) Render(width int, tail string, over func(theme.Style) theme.Style) string {
	if l.Width() > width {
		l = l.Cut(width, tail)
	}
	var b strings.Builder
	used := 0
	for i := range l {
		s := &l[i]
		if s.Text == "" {
			continue
		}
		used += TextWidth(s.Text)
		style := s.Style
		if over != nil {
			style = over(style)
		}
		b.WriteString(style.Render(s.Text))
	}
	if used < width {
		var style theme.Style
		if over != nil {
			style = over(style)
		}
		b.WriteString(style.Render(Blanks(width - used)))
	}
	return b.String()
}

// Cut is the line in at most width cells. It ends in tail if something was cut off.
func (l Line) Cut(width int, tail string) Line {
	if l.Width() <= width {
		return l
	}
	var out Line
	for _, s := range l {
		w := TextWidth(s.Text)
		if w >= width { // more follows or this is too long itself
			text := ansi.Truncate(s.Text+" ", width, tail)
			if strings.HasSuffix(text, tail+tail) { // it was cut next to a cut name
				text = strings.TrimSuffix(text, tail)
			}
			return append(out, Span{text, s.Style})
		}
		width -= w
		out = append(out, s)
	}
	return out
}

// Spread puts right at the end of a line of width cells. If both do not fit with a gap, right is
// dropped.
func Spread(left, right Line, width int, tail string) Line {
	gap := width - left.Width() - right.Width()
	if gap < Gap {
		return left.Cut(width, tail)
	}
	out := append(Line{}, left...)
	out = append(out, Span{Text: strings.Repeat(" ", gap)})
	return append(out, right...)
}

// Align aligns a line to the left or right of width cells.
func (l Line) Align(width int, right bool, tail string) Line {
	l = l.Cut(width, tail)
	blank := Span{Text: strings.Repeat(" ", max(0, width-l.Width()))}
	if right {
		return append(Line{blank}, l...)
	}
	return append(append(Line{}, l...), blank)
}

// Blanks returns n blanks, or none if n is negative.
func Blanks(n int) string {
	const some = "                                                                                "
	if n <= len(some) {
		return some[:max(0, n)]
	}
	return strings.Repeat(" ", n)
}

// Squeeze cuts the middle of a line's longest part, or the start of a path, so that the line fits
// into width cells.
func (l Line) Squeeze(width int, ellipsis string) Line {
	over := l.Width() - width
	if over <= 0 || len(l) == 0 {
		return l
	}
	out := append(Line{}, l...)
	long := &out[0]
	for i := range out {
		if ansi.StringWidth(out[i].Text) > ansi.StringWidth(long.Text) {
			long = &out[i]
		}
	}
	if room := ansi.StringWidth(long.Text) - over; room > 4 {
		if strings.HasPrefix(long.Text, "/") {
			long.Text = text.PathEnd(long.Text, room, ellipsis)
		} else {
			long.Text = text.Middle(long.Text, room, ellipsis)
		}
	}
	return out
}

// LeaveOut drops a domain from host names in a line wider than width.
func (l Line) LeaveOut(domain string, width int) Line {
	if domain == "" || l.Width() <= width {
		return l
	}
	out := append(Line{}, l...)
	for i := range out {
		out[i].Text = text.WithoutDomain(out[i].Text, domain)
	}
	return out
}

// Wrap breaks text at blanks into at most n lines of width cells. It only splits a word that is
// wider than a line, so that names and commands stay as typed.
func Wrap(s string, width, n int, tail string) []string {
	width = max(1, width)
	var lines []string
	rest := ""
	for _, word := range strings.Fields(s) {
		if len(lines) > n {
			break // the rest is cut off
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
			if at := strings.LastIndexAny(head, "/_-"); at > len(head)/2 { // no number is broken
				head = head[:at+1]
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

// Wordy explains an empty list, below a blank line: the reason, and what to do.
func Wordy(t *theme.Theme, width int, why, more string) []Line {
	lines := []Line{nil}
	for _, part := range Wrap(why, width-Margin, wordyLines, t.Glyphs.Ellipsis) {
		lines = append(lines, Line{{Blanks(Margin) + part, t.Text}})
	}
	for _, part := range Wrap(more, width-Margin, wordyLines, t.Glyphs.Ellipsis) {
		lines = append(lines, Line{{Blanks(Margin) + part, t.Muted}})
	}
	return lines
}

// wordyLines limits the lines of each part.
const wordyLines = 3

// WrapCommand breaks a command between its words, so that pasting the lines runs it as a whole.
func WrapCommand(command string, width int) []string {
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

// Restyle changes the styles of a line.
func (l Line) Restyle(style func(theme.Style) theme.Style) {
	for i := range l {
		l[i].Style = style(l[i].Style)
	}
}

// Over changes the styles of a line padded to width cells.
func (l Line) Over(width int, style func(theme.Style) theme.Style) Line {
	if style == nil {
		return l
	}
	l = l.Align(width, false, "")
	for i := range l {
		l[i].Style = style(l[i].Style)
	}
	return l
}
