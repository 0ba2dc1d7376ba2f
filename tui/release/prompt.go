package release

import (
	"errors"
	"strings"
	"time"

	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/widget"
)

// prompt is something that the dialog asks for before its preview.
type prompt struct {
	text  string
	field widget.Field
	// accept checks the typed text; its error says what to correct.
	accept func(typed string) error
}

func (p *prompt) submit() error { return p.accept(strings.TrimSpace(p.field.Value())) }

// forTTL makes it the dialog that gives a lock's key a TTL.
func (d *Dialog) forTTL() {
	d.speak(ttlWords)
	d.prompts = append([]*prompt{ttlPrompt(&d.request)}, d.prompts...)
}

// ttlPrompt asks for the time to live that a request sets.
func ttlPrompt(r *act.Request) *prompt {
	return &prompt{text: "How long is the key to last, such as 10m?", accept: func(typed string) error {
		ttl, err := time.ParseDuration(typed)
		if err != nil {
			return errors.New("give a time such as 90s, 10m or 2h")
		}
		r.TTL = ttl
		return act.CheckTTL(ttl)
	}}
}

// whyPrompt asks for the reason, which the audit file keeps.
func whyPrompt(why *string) *prompt {
	return &prompt{text: "This is production. Why is it done? The audit file keeps it.", accept: func(typed string) error {
		if *why = typed; typed == "" {
			return errors.New("give a reason, such as a ticket")
		}
		return nil
	}}
}

// promptLines draw the current prompt.
func (f *flow) promptLines() []widget.Line {
	t, p := f.Theme(), f.prompts[0]
	note := widget.Line{{"enter goes on to the preview: nothing is sent yet", t.Muted}}
	if f.refused != nil {
		note = widget.Line{{f.refused.Error(), t.Warning}}
	}
	return []widget.Line{{{p.text, t.Text}}, append(widget.Line{{t.Glyphs.Breadcrumb + " ", t.Waiting}}, p.field.View(t, 70)...), nil, note}
}
