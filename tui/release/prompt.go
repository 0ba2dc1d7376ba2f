package release

import (
	"errors"
	"strings"
	"time"

	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/widget"
)

// prompt is a question before the preview.
type prompt struct {
	text string
	form widget.Form // of one row
}

// newPrompt's accept stores the typed text, or says what to correct.
func newPrompt(text, label string, accept func(typed string) error) *prompt {
	field := &widget.Field{}
	check := func() string {
		if err := accept(strings.TrimSpace(field.Value())); err != nil {
			return err.Error()
		}
		return ""
	}
	rows := []widget.FormRow{{Label: label, Typed: field}}
	return &prompt{text, widget.Form{Rows: rows, Button: "Preview", Check: check}}
}

// forTTL turns the dialog into one that sets a key's TTL.
func (d *Dialog) forTTL() {
	d.speak(ttlWords)
	d.prompts = append([]*prompt{ttlPrompt(&d.request)}, d.prompts...)
}

// ttlPrompt asks for the new time to live.
func ttlPrompt(r *act.Request) *prompt {
	return newPrompt("How long should the key last, such as 10m?", "TTL", func(typed string) error {
		ttl, err := time.ParseDuration(typed)
		if err != nil {
			return errors.New("enter a time such as 90s, 10m or 2h")
		}
		r.TTL = ttl
		return act.CheckTTL(ttl)
	})
}

// whyPrompt asks for the reason, which goes to the audit file.
func whyPrompt(why *string) *prompt {
	const asks = "This is production. Why are you doing this? The audit file keeps the reason."
	return newPrompt(asks, "reason", func(typed string) error {
		if *why = typed; typed == "" {
			return errors.New("enter a reason, such as a ticket")
		}
		return nil
	})
}

// promptLines draw the current prompt.
func (f *flow) promptLines(width int) []widget.Line {
	t, p := f.Theme(), f.prompts[0]
	note := widget.Line{{"Nothing is sent yet: a preview comes first.", t.Muted}}
	lines := append([]widget.Line{{{p.text, t.Text}}, nil}, widget.FormLines(t, &p.form, width)...)
	return append(lines, nil, note, nil, widget.FormButtons(t, &p.form, false))
}
