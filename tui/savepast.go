package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// pastSavedMsg carries the path of the saved past, or the error.
type pastSavedMsg struct {
	path string
	err  error
}

// savePastLimit limits the writing time. The kept past takes up to some tens of megabytes, and
// disks may be slow.
const savePastLimit = 2 * time.Minute

func (m *Model) saveAction() screen.Action {
	return screen.Action{
		Keys: []string{"R"}, Shown: "R", Help: "save the history, for lockscope replay",
		Disabled: func() string {
			switch {
			case m.options.SavePast == nil:
				return "this screen writes no files"
			case m.past.To().IsZero():
				return "nothing has been seen yet"
			}
			return ""
		},
		Run: func() tea.Cmd {
			m.Push(&saving{Model: m, form: widget.Form{Button: "Save"}})
			return nil
		},
	}
}

// words is the message for the footer.
func (msg pastSavedMsg) words() string {
	if msg.err != nil {
		return "not saved: " + describe.OneLine(msg.err)
	}
	return "saved: lockscope replay " + describe.Printable(describe.Quote(msg.path))
}

// saving asks for confirmation before the kept past is written to a file.
type saving struct {
	*Model
	form widget.Form
}

// Update handles keys.
func (d *saving) Update(msg tea.Msg) (tea.Cmd, bool) {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	confirmed, closed, _ := d.form.Press(key)
	if !confirmed {
		return nil, closed
	}
	save, past := d.options.SavePast, d.past.Clone()
	d.Flash("saving" + d.theme.Glyphs.Ellipsis)
	return d.Command(savePastLimit, func(ctx context.Context) tea.Msg {
		path, err := save(ctx, past)
		return pastSavedMsg{path, err}
	}), true
}

// Actions are the dialog's keys.
func (d *saving) Actions() []screen.Action { return screen.FormActions(&d.form) }

// View says what is written, and where.
func (d *saving) View(width, height int) string {
	t := d.theme
	width = min(width-4, 62)
	lines := []widget.Line{{{"Save what was seen since " + d.past.From().Format(time.TimeOnly), t.Strong}}, nil}
	text := "Writes a new file, lockscope-past-TIME.jsonl, to the directory where lockscope was started. " +
		"lockscope replay plays it."
	for _, part := range widget.Wrap(text, width, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{part, t.Text}})
	}
	return widget.Box(t, append(lines, nil, widget.FormButtons(t, &d.form, false)), width, height, false)
}
