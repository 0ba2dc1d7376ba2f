package release

import (
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/lockops/act"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// prompt is something that the dialog asks for before its preview.
type prompt struct {
	text  string
	field widget.Field
	// accept takes what was typed into the request; the error says why it cannot be taken.
	accept func(r *act.Request, typed string) error
}

// NewTTL is the dialog that gives a lock's key a TTL.
func NewTTL(host screen.Context, releaser act.Releaser, l *inspect.Lock, c *inspect.Contender) *Dialog {
	d := New(host, releaser, l, c)
	d.ttl = true
	d.prompts = append([]*prompt{{text: "How long is the key to last, such as 10m?", accept: takeTTL}}, d.prompts...)
	return d
}

func takeTTL(r *act.Request, typed string) error {
	ttl, err := time.ParseDuration(typed)
	if err != nil {
		return errors.New("give a time such as 90s, 10m or 2h")
	}
	r.TTL = ttl
	return act.CheckTTL(ttl)
}

// whyPrompt asks for the reason, which the audit file keeps.
func whyPrompt() *prompt {
	return &prompt{text: "This is production. Why is it done? The audit file keeps it.", accept: func(r *act.Request, typed string) error {
		if r.Why = typed; typed == "" {
			return errors.New("give a reason, such as a ticket")
		}
		return nil
	}}
}

// promptKey takes a key while something is asked for.
func (d *Dialog) promptKey(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	p := d.prompts[0]
	switch msg.String() {
	case "esc":
		return nil, true
	case "enter":
		if d.refused = p.accept(&d.request, strings.TrimSpace(p.field.Value())); d.refused != nil {
			return nil, false
		}
		d.prompts = d.prompts[1:]
		return d.Start(), false
	}
	if p.field.Press(msg) {
		d.refused = nil
	}
	return nil, false
}

// promptLines draw what is asked for.
func (d *Dialog) promptLines() []widget.Line {
	t, p := d.Theme(), d.prompts[0]
	note := widget.Line{{"enter goes on to the preview: nothing is sent yet", t.Muted}}
	if d.refused != nil {
		note = widget.Line{{d.refused.Error(), t.Warning}}
	}
	return []widget.Line{{{p.text, t.Text}}, append(widget.Line{{t.Glyphs.Breadcrumb + " ", t.Waiting}}, p.field.View(t, 70)...), nil, note}
}
