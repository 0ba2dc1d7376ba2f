package widget

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
)

// words makes a line with a span for each text.
func words(text ...string) (l Line) {
	for _, s := range text {
		l = l.Add(theme.Style{}, s)
	}
	return l
}

func TestLinesFit(t *testing.T) {
	left, right, host := words("left", "over"), words("right"), words("to ", "app.example.com:4")
	for _, test := range []struct {
		what string
		got  Line
		want string
	}{
		{"fits", left.Cut(8, "~"), "leftover"},
		{"cut within a span", left.Cut(6, "~"), "lefto~"},
		{"cut between spans", left.Cut(4, "~"), "lef~"},
		{"cut next to a cut name", words("web~net").Cut(5, "~"), "web~"},
		{"wide characters", words("日本語").Cut(5, "~"), "日本~"},
		{"apart", Spread(left, right, 15, "~"), "leftover  right"},
		{"right loses", Spread(left, right, 14, "~"), "leftover"},
		{"left is cut", KeepRight(left, right, 13, "~"), "lefto~  right"},
		{"both fit", KeepRight(left, right, 15, "~"), "leftover  right"},
		{"nothing to keep", KeepRight(left, nil, 2, "~"), "leftover"},
		{"to the left", left.Align(10, false, "~").Add(plain.Text, "|"), "leftover  |"},
		{"to the right", left.Align(10, true, "~"), "  leftover"},
		{"no room", left.Align(3, true, "~"), "le~"},
		{"middle of the longest", host.Squeeze(15, "~"), "to app.examp~:4"},
		{"fits in whole", host.Squeeze(20, "~"), "to app.example.com:4"},
		{"too little is left", host.Squeeze(7, "~"), "to app.example.com:4"},
		{"without its domain", host.LeaveOut(".example.com", 19), "to app:4"},
		{"with its domain", host.LeaveOut(".example.com", 20), "to app.example.com:4"},
		{"no domain", host.LeaveOut("", 5), "to app.example.com:4"},
		{"first part", Line(nil).Part(true, plain, plain.Text, "a"), "a"},
		{"second part", words("a").Part(true, plain, plain.Text, "b"), "a - b"},
		{"hidden part", words("a").Part(false, plain, plain.Text, "b"), "a"},
		{"last parts left out", Whole(words("a", " - ", "bb", " - ", "cc"), 8), "a - bb"},
		{"all parts", Whole(words("a", " - ", "bb"), 6), "a - bb"},
		{"one part", Whole(words("a", "b"), 1), "ab"},
		{"a rule", Section(plain, 12, "name"), " -- name --"},
		{"a narrow rule", Section(plain, 5, "name"), " -- name"},
		{"not over", left.Over(10, nil).Add(plain.Text, "|"), "leftover|"},
	} {
		must.Equal(t, strings.TrimRight(test.got.Text(), " "), test.want, test.what)
	}
	for text, want := range map[string][2]string{"abcdef": {"abcdef", "~f"}, "日本語": {"日本語", "~"}} {
		must.Equal(t, [2]string{TailOf(text, 6, "~"), TailOf(text, 2, "~")}, want, text)
	}
	for n, want := range map[int]int{-1: 0, 0: 0, 3: 3, 80: 80, 81: 81} {
		must.Equal(t, Blanks(n), strings.Repeat(" ", want), n, "blanks")
	}
}

// Render fills the width of the table; "over" restyles the whole row.
func TestRowsAreFilled(t *testing.T) {
	l := words("ab", "", "cd")
	bold := func(theme.Style) theme.Style { return theme.Style{}.Bold() }
	for _, test := range []struct {
		width int
		over  func(theme.Style) theme.Style
		want  string
	}{
		{6, nil, "abcd  "},
		{3, nil, "ab~"},
		{4, nil, "abcd"},
		{5, bold, "\x1b[1mab\x1b[m\x1b[1mcd\x1b[m\x1b[1m \x1b[m"},
	} {
		must.Equal(t, l.Render(test.width, "~", test.over), test.want, test.width)
	}
	over := l.Over(5, bold)
	l = l.Add(plain.Text, "e")
	l.Restyle(bold)
	for _, line := range []Line{over, l} {
		for _, s := range line {
			must.Equal(t, s.Style, theme.Style{}.Bold(), s.Text, "is not restyled")
		}
		must.Equal(t, line.Width(), 5, line.Text())
	}
	if SelectedStyle(plain, false) != nil || !SelectedStyle(plain, true)(plain.Text).Reversed() {
		t.Error("the selected row is not reversed in the focused pane only")
	}
}

func TestBlocksAreDrawn(t *testing.T) {
	text := func(lines []Line) string {
		var all []string
		for _, l := range lines {
			all = append(all, strings.TrimRight(l.Text(), " "))
		}
		return strings.Join(all, "\n")
	}
	rows := func(top, n, all int) string {
		list := []Line{words("one"), words("two"), words("three")}[:n]
		More(plain, list, top, all, 20)
		return text(list)
	}
	many := strings.Repeat("many words ", 9)
	for _, test := range []struct{ what, got, want string }{
		{"box", Box(plain, []Line{words("a"), words("bcdef"), words("g")}, 4, 4, false), "+------+\n| a    |\n| bcd~ |\n+------+"},
		{"box without room", Box(plain, []Line{words("a")}, 1, 1, true), "+--+\n|  |\n+--+"},
		{"sheet", Sheet(plain, []Line{words("abcd"), words("e"), words("f")}, 3, 2), "ab~\ne  "},
		{"longer sheet", Sheet(plain, []Line{words("a")}, 2, 2), "a \n  "},
		{"all are shown", rows(0, 3, 3), "one\ntwo\nthree"},
		{"more below", rows(0, 2, 5), "one\ntwo       v 3 more"},
		{"more above", rows(2, 2, 4), "one       ^ 2 more\ntwo"},
		{"more on both sides", rows(1, 3, 9), "one       ^ 1 more\ntwo\nthree     v 5 more"},
		{"none", rows(1, 0, 9), ""},
		{"facts", text(Facts(plain, 16, Span{Text: "led: "}, "", "one", "two", "", "three", "four")), "   led: one\n     two - three\n     four"},
		{"fact that just fits", text(Facts(plain, 17, Span{Text: "led: "}, "one", "two")), "   led: one - two"},
		{"no facts", text(Facts(plain, 16, Span{Text: "led"})), "   led"},
		{"empty list", text(Wordy(plain, 33, "No locks.", many)), "\n   No locks.\n   many words many words many\n   words many words many words\n   many words many words many ~"},
		{"filled", strings.Join(Filled([]string{"a"}, 3), "|"), "a||"},
		{"cut", strings.Join(Filled([]string{"a", "b"}, 1), "|"), "a"},
		{"never empty", strings.Join(Filled([]string{"a", "b"}, 0), "|"), "a"},
		{"named", Named("client", "c1"), "client c1"},
		{"unnamed", Named("client", ""), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.what, test.got, test.want)
		}
	}
	coloured := theme.New(theme.Options{})
	must.True(t, Box(coloured, nil, 9, 9, true) != Box(coloured, nil, 9, 9, false), "a dangerous box looks like any other")
	for _, test := range []struct{ n, lines, want int }{{100, 50, 36}, {100, 30, 18}, {100, 20, 11}, {100, 5, 4}, {3, 50, 3}, {0, 50, 1}} {
		must.Equal(t, RowsAbove(test.n, test.lines), test.want, test)
	}
}

func TestWrapBreaksAtBlanks(t *testing.T) {
	for _, test := range []struct {
		text     string
		width, n int
		want     string
	}{
		{"look at a-b-c-d now", 8, 5, "look at|a-b-c-d|now"},
		{"look at", 7, 5, "look at"},
		{"look at", 6, 5, "look|at"},
		{"abcdefghij kl", 4, 5, "abcd|efgh|ij|kl"},
		{"abcdefghij kl", 4, 2, "abcd|efg…"},
		{"", 4, 2, ""},
		{"日本語 x", 4, 2, "日本|語 x"},
	} {
		must.Equal(t, strings.Join(Wrap(test.text, test.width, test.n, "…"), "|"), test.want, test.text)
	}
}

// A shell runs the wrapped lines of a command like the single line.
func TestWrappedCommandsStayWhole(t *testing.T) {
	command := `lockscope release 'redis:a  b' --owner 'it'\''s one' --waiter`
	for width := 10; width < 90; width += 4 {
		lines := WrapCommand(command, width)
		must.Equal(t, strings.ReplaceAll(strings.Join(lines, "\n"), " \\\n", " "), command, "width", width)
		for _, l := range lines {
			must.True(t, len(l) <= max(width, len(`'it'\''s one' \`)), "width", width, l)
		}
	}
	for width, want := range map[int]int{7: 2, 8: 1} { // 8 cells have room for the last word's backslash
		if got := WrapCommand("abc de", width); len(got) != want {
			t.Errorf("width %d: %q", width, got)
		}
	}
}
