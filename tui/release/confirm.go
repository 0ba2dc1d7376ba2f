package release

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// confirmation is an operator's consent: a word is typed and the button chosen. Until then Enter cancels.
type confirmation struct {
	// does is the button's name, what names the word, and word the word as it is shown.
	does, what, word string
	// accepts reports whether the typed text is the word.
	accepts func(typed string) bool

	field  widget.Field
	chosen bool // the button; otherwise Cancel
	pasted bool
	wrong  bool // enter was pressed with another word
	hasty  bool // the button was chosen, or enter pressed without: then enter cancels
}

// consent is the outcome of a key.
type consent int

const (
	undecided consent = iota
	cancelled
	given
)

func (c *confirmation) matches() bool { return c.accepts(c.field.Value()) }

func (c *confirmation) press(msg tea.KeyPressMsg) consent {
	switch msg.String() {
	case "esc":
		return cancelled
	case "tab", "shift+tab", "left", "right":
		c.chosen, c.hasty = !c.chosen && c.matches(), true
	case "enter":
		switch {
		case c.chosen && c.matches():
			return given
		case c.field.Value() != "" && !c.matches():
			c.wrong, c.pasted = true, false // after typing, enter is meant: show the mistake, rather than close without a word
			return undecided
		case c.matches() && !c.hasty:
			c.hasty = true // the word was typed, and enter alone must not act: name the key that goes on
			return undecided
		}
		return cancelled
	default:
		if c.field.Press(msg) {
			c.chosen, c.pasted, c.wrong, c.hasty = false, false, false, false
		}
	}
	return undecided
}

// lines are the field for the word and the two buttons.
func (c *confirmation) lines(t *theme.Theme) []widget.Line {
	lines := []widget.Line{
		{{"Type " + c.what + " ", t.Text}, {c.word, t.Strong}, {" to confirm:", t.Text}},
		append(widget.Line{{t.Glyphs.Breadcrumb + " ", t.Waiting}}, c.fieldLine(t)...),
	}
	note := widget.Span{Style: t.Muted}
	switch {
	case c.pasted:
		note = widget.Span{"pasting is off here: type it", t.Warning}
	case c.wrong:
		note = widget.Span{"this is not " + c.what, t.Warning}
	case c.field.Value() != "" && !c.matches():
		note.Text = "not " + c.what + " yet"
	}
	cancel, confirm := t.Text, t.Muted
	if c.left() && !c.chosen {
		cancel = t.Strong.Reverse(true)
	}
	if c.matches() {
		confirm = t.Critical
		if c.chosen {
			confirm = t.BadgeCritical
		} else if note = (widget.Span{"tab chooses " + c.does, t.Text}); c.hasty {
			note = widget.Span{"nothing was sent: tab chooses " + c.does + ", esc cancels", t.Warning}
		}
	}
	return append(lines, nil, widget.Line{{"[ Cancel ]", cancel}, {"   ", t.Text}, {"[ " + c.does + " ]", confirm}, {"   ", t.Text}, note})
}

// left reports whether the buttons have been gone to: until then the cursor is in the field, and marks what
// the keys are for.
func (c *confirmation) left() bool { return c.hasty && (c.field.Value() == "" || c.matches()) }

func (c *confirmation) fieldLine(t *theme.Theme) widget.Line {
	if c.left() {
		return widget.Line{{widget.TailOf(text.Printable(c.field.Value()), confirmWidth, t.Glyphs.Ellipsis), t.Strong}}
	}
	return c.field.View(t, confirmWidth)
}

// confirmWidth is the width of the field, in cells.
const confirmWidth = 70

// actions are the keys, for the footer.
func (c *confirmation) actions() []screen.Action {
	cancel := screen.Action{Shown: "esc", Hint: "cancel"}
	word := screen.Action{Shown: "type", Hint: c.what}
	switch {
	case c.chosen:
		return []screen.Action{{Shown: "enter", Hint: strings.ToUpper(c.does)}, cancel}
	case c.matches():
		return []screen.Action{{Shown: "tab", Hint: "choose " + c.does}, cancel}
	case c.field.Value() != "":
		return []screen.Action{cancel, word}
	}
	return []screen.Action{{Shown: "enter/esc", Hint: "cancel"}, word}
}
