package release

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// confirmation is an operator's consent: the user types a word, moves to the button and presses
// enter. Enter in the field moves to the button once the word is right.
type confirmation struct {
	// does is the button's label, what names the word, and word is the word as shown.
	does, what, word string
	// accepts reports whether the typed text is the word.
	accepts func(typed string) bool

	field  widget.Field
	focus  focus
	pasted bool
	tried  bool // enter or tab was pressed without the right word
}

// focus is where the keys go.
type focus int

const (
	onField focus = iota
	onButton
	onCancel
)

// consent is the outcome of a key.
type consent int

const (
	undecided consent = iota
	cancelled
	given
)

func (c *confirmation) matches() bool { return c.accepts(c.field.Value()) }

func (c *confirmation) press(msg tea.KeyPressMsg) consent {
	switch key := msg.String(); {
	case key == "esc" || key == "enter" && c.focus == onCancel:
		return cancelled
	case key == "enter" && c.focus == onButton:
		return given
	case key == "enter" && !c.matches():
		c.tried, c.pasted = true, false
	case key == "enter":
		c.focus = onButton
	case key == "tab" || key == "shift+tab" || c.focus != onField && (key == "left" || key == "right"):
		c.turn()
	case c.field.Press(msg):
		c.focus, c.pasted, c.tried = onField, false, false
	}
	return undecided
}

// turn moves the focus to the next button or back to the field. A wrong word keeps the focus, so
// that tab and enter do not close the dialog without an explanation.
func (c *confirmation) turn() {
	switch {
	case c.focus != onButton && c.matches():
		c.focus = onButton
	case c.focus != onCancel && (c.field.Value() == "" || c.matches()):
		c.focus = onCancel
	default:
		c.focus, c.tried, c.pasted = onField, c.field.Value() != "", false
	}
}

// lines are the word's field and the two buttons.
func (c *confirmation) lines(t *theme.Theme) []widget.Line {
	confirm, cancel := t.Muted, t.Text
	switch {
	case c.focus == onButton:
		confirm = t.BadgeCritical
	case c.matches():
		confirm = t.Critical
	}
	if c.focus == onCancel {
		cancel = t.Strong.Reverse()
	}
	return []widget.Line{
		{{"Type the " + c.what + " ", t.Text}, {c.word, t.Strong}, {" to confirm:", t.Text}},
		append(widget.Line{{t.Glyphs.Breadcrumb + " ", t.Waiting}}, c.fieldLine(t)...),
		nil,
		{{"[ " + c.does + " ]", confirm}, {"   ", t.Text}, {"[ Cancel ]", cancel}, {"   ", t.Text}, c.note(t)},
	}
}

func (c *confirmation) note(t *theme.Theme) widget.Span {
	typed := c.field.Value() != ""
	switch {
	case c.pasted:
		return widget.Span{"pasting is off here: type it", t.Warning}
	case c.focus == onButton:
		return widget.Span{"press Enter again to " + strings.ToLower(c.does), t.Warning}
	case c.focus == onCancel:
		return widget.Span{}
	case c.matches():
		return widget.Span{"press Enter twice", t.Text}
	case c.tried && typed:
		return widget.Span{c.what + " does not match", t.Warning}
	case c.tried:
		return widget.Span{"type the " + c.what + ", or Esc cancels", t.Warning}
	case typed:
		return widget.Span{c.what + " incomplete", t.Muted}
	}
	return widget.Span{}
}

// fieldLine has a cursor while the field has the focus.
func (c *confirmation) fieldLine(t *theme.Theme) widget.Line {
	if c.focus != onField {
		return widget.Line{{widget.TailOf(text.Printable(c.field.Value()), confirmWidth, t.Glyphs.Ellipsis), t.Strong}}
	}
	return c.field.View(t, confirmWidth)
}

// confirmWidth is the width of the field, in cells.
const confirmWidth = 70

// actions returns the keys, for the footer.
func (c *confirmation) actions() []screen.Action {
	cancel := screen.Action{Shown: "esc", Hint: "cancel"}
	switch {
	case c.focus == onButton:
		return []screen.Action{{Shown: "enter", Hint: strings.ToUpper(c.does)}, cancel}
	case c.focus == onCancel:
		return []screen.Action{{Shown: "enter/esc", Hint: "cancel"}}
	case c.matches():
		return []screen.Action{{Shown: "enter", Hint: "go to [" + c.does + "]"}, cancel}
	}
	return []screen.Action{cancel, {Shown: "type", Hint: "the " + c.what}}
}
