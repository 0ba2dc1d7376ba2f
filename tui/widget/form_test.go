package widget

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
)

var plain = theme.New(theme.Options{ASCII: true, NoColor: true})

// drawn is a line with its reversed parts in «».
func drawn(l Line) string {
	var b strings.Builder
	for _, s := range l {
		if s.Style.Reversed() {
			fmt.Fprintf(&b, "«%s»", s.Text)
		} else {
			b.WriteString(s.Text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// key makes the key message of a named key or a letter.
func key(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "home": tea.KeyHome,
	}
	switch code, ok := codes[name]; {
	case ok:
		return tea.KeyPressMsg{Code: code}
	case name == "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case name == "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func TestFieldsAreTypedInto(t *testing.T) {
	f := &Field{}
	for _, step := range []struct {
		press string // a key, or paste and a text, or all: everything is selected
		want  string
		did   bool
	}{
		{"all", "« »", false}, // there is nothing to select
		{"a", "a« »", true},
		{"é", "aé« »", true},
		{"c", "aéc« »", true},
		{"right", "aéc« »", false},
		{"left", "aé«c»", true},
		{"backspace", "a«c»", true},
		{"paste bd\ne", "abd e«c»", true},
		{"paste ", "abd e«c»", false},
		{"home", "«a»bd ec", true},
		{"backspace", "«a»bd ec", false},
		{"all", "«abd ec»", false},
		{"left", "«a»bd ec", false}, // still at the start, and no longer selected
		{"all", "«abd ec»", false},
		{"x", "x« »", true},
		{"all", "«x»", false},
		{"delete", "« »", true},
		{"y", "y« »", true},
		{"all", "«y»", false},
		{"paste z\x1b", "z« »", true},
		{"0123456789", "z0123456789« »", true},
		{"abc", "~23456789abc« »", true}, // the cursor stays visible
		{"home", "«z»0123456789a~", true},
	} {
		did := false
		switch text, pasted := strings.CutPrefix(step.press, "paste "); {
		case pasted:
			did = f.Paste(tea.PasteMsg{Content: text})
		case step.press == "all":
			f.SelectAll()
		default:
			did = f.Press(key(step.press))
		}
		if got := drawn(f.View(plain, 13)); got != step.want || did != step.did {
			t.Errorf("%s: %s %v, want %s %v", step.press, got, did, step.want, step.did)
		}
	}
	if f = NewField("abc"); drawn(f.View(plain, 9)) != "abc« »" {
		t.Errorf("new: %s", drawn(f.View(plain, 9)))
	}
}

// Enter in any row presses the form's own button. Cancel and esc close the form.
func TestFormKeys(t *testing.T) {
	f := &Form{Button: "Go", Rows: []FormRow{
		{Label: "Name", Typed: NewField("a")}, {Label: "Why", Off: "not asked"}, {Label: "Kind", Choices: []string{"x", "y", "z"}},
	}}
	f.Check = func() string {
		if len(f.Rows[0].Typed.Value()) < 2 {
			return "too short"
		}
		return ""
	}
	f.Rows[2].Choose("z")
	f.Rows[2].Choose("nothing")
	for _, step := range []struct{ press, want string }{
		{"b", "ab z at 0 changed"},
		{"tab", "ab z at 2"},
		{"q", "ab z at 2: left and right choose here"},
		{"right", "ab x at 2 changed"},
		{"left", "ab z at 2 changed"},
		{"space", "ab x at 2 changed"},
		{"enter", "ab x at 2 confirmed"},
		{"down", "ab x on Go"},
		{"q", "ab x on Go"},
		{"right", "ab x on Cancel"},
		{"left", "ab x on Go"},
		{"enter", "ab x on Go confirmed"},
		{"down", "ab x on Cancel"},
		{"enter", "ab x on Cancel closed"},
		{"tab", "ab x at 0"},
		{"up", "ab x on Go"}, // not on Cancel
		{"shift+tab", "ab x at 2"},
		{"shift+tab", "ab x at 0"},
		{"backspace", "a x at 0 changed"},
		{"enter", "a x at 0: too short"},
		{"b", "ab x at 0 changed"},
		{"enter", "ab x at 0 confirmed"},
		{"up", "ab x on Go"},
		{"tab", "ab x on Cancel"},
		{"tab", "ab x at 0"},
		{"paste", "ab x at 0: pasting is off here: type it"},
		{"esc", "ab x at 0 closed"},
	} {
		var confirmed, closed, changed bool
		if step.press == "paste" {
			f.Paste()
		} else {
			confirmed, closed, changed = f.Press(key(step.press))
		}
		got := fmt.Sprintf("%s %s at %d", f.Rows[0].Typed.Value(), f.Rows[2].Choice(), f.At)
		got = strings.NewReplacer("at 3", "on Go", "at 4", "on Cancel").Replace(got)
		for word, is := range map[string]bool{" confirmed": confirmed, " closed": closed, " changed": changed, ": " + f.Note: f.Note != ""} {
			if is {
				got += word
			}
		}
		must.Equal(t, got, step.want, step.press)
		if f.OnButton() != strings.Contains(got, "on Go") || f.OnCancel() != strings.Contains(got, "on Cancel") {
			t.Errorf("%s: on the button %v, on Cancel %v", got, f.OnButton(), f.OnCancel())
		}
	}
	none := FormRow{}
	must.Equal(t, none.Choice(), "", "choice of an empty row")
}

func TestTheUsersChoiceStays(t *testing.T) {
	f := &Form{Rows: []FormRow{{Choices: []string{"x", "y"}}}}
	r := &f.Rows[0]
	for _, step := range []struct {
		choices []string
		want    string
		press   string
	}{
		{[]string{"x", "y", "z"}, "z", "left"}, // no choice by the user: the wanted one
		{[]string{"y", "z", "x"}, "y", ""},
		{[]string{"x", "z"}, "z", ""}, // no longer offered
	} {
		if r.Offer(step.choices, "z"); r.Choice() != step.want {
			t.Errorf("of %v: %s, want %s", step.choices, r.Choice(), step.want)
		}
		if step.press != "" {
			f.Press(key(step.press))
		}
	}
}

func TestFormsAreDrawn(t *testing.T) {
	f := &Form{Button: "Go", Rows: []FormRow{
		{Label: "Name", Typed: NewField("0123456789012345")},
		{Label: "Why", Off: "not asked"},
		{Label: "Kind", Choices: []string{"one", "two"}},
		{Label: "Many", Choices: []string{"first", "second", "third"}, At: 1},
	}}
	for at, want := range map[int]string{
		0: "> Name        ~789012345« »|  Why         not asked|  Kind        [one]  two|  Many        < [second] > 2 of 3|[ Go ]   [ Cancel ]",
		2: "  Name        ~6789012345|  Why         not asked|> Kind        «[one]»  two|  Many        < [second] > 2 of 3|[ Go ]   [ Cancel ]",
		5: "  Name        ~6789012345|  Why         not asked|  Kind        [one]  two|  Many        < [second] > 2 of 3|[ Go ]   «[ Cancel ]»   but",
	} {
		f.At = at
		if f.Note = ""; at == 5 {
			f.Note = "but"
		}
		var lines []string
		for _, l := range append(FormLines(plain, f, 27), FormButtons(plain, f, false)) {
			lines = append(lines, drawn(l))
		}
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("at %d:\n%s, want\n%s", at, got, want)
		}
	}
	coloured := theme.New(theme.Options{})
	for _, test := range []struct {
		at      int
		refused bool
		want    any
	}{{0, false, coloured.Text}, {4, false, coloured.BadgeWarning}, {4, true, coloured.Muted}, {0, true, coloured.Muted}, {5, true, coloured.Text}} {
		if f.At = test.at; fmt.Sprint(FormButtons(coloured, f, test.refused)[0].Style) != fmt.Sprint(test.want) {
			t.Errorf("%+v: wrong button", test)
		}
	}
}
