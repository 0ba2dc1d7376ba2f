package release

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Mutes stores acknowledged findings and who acknowledged them. Both methods may block. Unmute
// only uses the lock and the rule of each mute.
type Mutes interface {
	Mute(ctx context.Context, list []inspect.Mute) error
	Unmute(ctx context.Context, list []inspect.Mute) error
}

// muteLimit limits the time to save a mute, since another program may be changing the file.
const muteLimit = 10 * time.Second

// Mute is the dialog that mutes findings for some time.
type Mute struct {
	screen.Context
	mutes      Mutes
	list       []inspect.Mute
	generation int
	form       widget.Form
	busy       bool
	err        error
}

// MutedMsg carries the result of muting or unmuting, with the dialog's generation; 0 means no
// dialog.
type MutedMsg struct {
	Generation int
	Text       string // the outcome in words
	Err        error
}

// NewMute returns the dialog about one or more findings.
func NewMute(host screen.Context, mutes Mutes, list []inspect.Mute) *Mute {
	return &Mute{Context: host, mutes: mutes, list: list, generation: host.Number(), form: widget.Form{
		Rows: []widget.FormRow{
			muteFor:    {Label: "for", Choices: []string{"30m", "1h", "8h", "1d", "7d"}, At: 1},
			muteReason: {Label: "reason", Typed: &widget.Field{}},
		},
		At:     muteReason,
		Button: "Mute",
	}}
}

// The rows of the form.
const (
	muteFor = iota
	muteReason
)

// muteSpans are the choices of muteFor.
func muteSpans() []time.Duration {
	return []time.Duration{30 * time.Minute, time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
}

// Update handles keys and the answer.
func (d *Mute) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case MutedMsg:
		if msg.Generation != d.generation {
			break
		}
		if d.busy, d.err = false, msg.Err; d.err != nil {
			break
		}
		d.Flash(msg.Text)
		return nil, true
	case tea.PasteMsg:
		if d.form.At == muteReason {
			d.form.Rows[muteReason].Typed.Paste(msg)
		}
	case tea.KeyPressMsg:
		if d.busy {
			break
		}
		confirmed, closed, changed := d.form.Press(msg)
		if changed {
			d.err = nil
		}
		if confirmed {
			return d.mute(), false
		}
		return nil, closed
	}
	return nil, false
}

func (d *Mute) mute() tea.Cmd {
	reason := cmp.Or(strings.TrimSpace(d.form.Rows[muteReason].Typed.Value()), "no reason given")
	chosen := &d.form.Rows[muteFor]
	span := muteSpans()[chosen.At]
	d.busy, d.err = true, nil
	mutes, list, generation := d.mutes, slices.Clone(d.list), d.generation
	text := "muted for " + chosen.Choice() + ": " + named(list)
	for i := range list {
		list[i].Until, list[i].Reason = d.Clock().Add(span), reason
	}
	return d.Command(muteLimit, func(ctx context.Context) tea.Msg {
		return MutedMsg{generation, text, mutes.Mute(ctx, list)}
	})
}

// Unmute returns the command that unmutes findings. The root handles its MutedMsg.
func Unmute(host screen.Context, mutes Mutes, list []inspect.Mute) tea.Cmd {
	text := "unmuted: " + named(list)
	if others := stillMuted(host, list); len(others) > 0 {
		text += ", not " + strings.Join(others, ", ")
	}
	return host.Command(muteLimit, func(ctx context.Context) tea.Msg {
		return MutedMsg{0, text, mutes.Unmute(ctx, list)}
	})
}

// stillMuted lists the other muted findings of the first one's lock.
func stillMuted(host screen.Context, list []inspect.Mute) (rules []string) {
	l := host.Snapshot().Lock(list[0].Lock)
	if l == nil {
		return nil
	}
	for _, f := range l.Findings {
		if f.Muted != nil && !slices.ContainsFunc(list, func(m inspect.Mute) bool { return m.Rule == f.Rule }) {
			rules = append(rules, describe.Printable(f.Rule))
		}
	}
	return rules
}

// named describes findings in a few words. If all are on one lock or backend, it lists their
// rules.
func named(list []inspect.Mute) string {
	var rules []string
	for _, m := range list {
		if m.Lock != list[0].Lock {
			return describe.Count(len(list), "finding") + ", such as " + named(list[:1])
		}
		rules = append(rules, describe.Printable(m.Rule))
	}
	return strings.Join(rules, ", ") + " on " + placeOf(list[0].Lock)
}

func placeOf(on inspect.ID) string {
	if on.Path == "" {
		return "backend " + describe.Printable(on.Backend)
	}
	return on.String()
}

// Actions returns the dialog's keys, for the footer.
func (d *Mute) Actions() []screen.Action {
	if d.busy {
		return []screen.Action{{Shown: "...", Hint: "wait for the result"}}
	}
	return screen.FormActions(&d.form)
}

// View draws the dialog.
func (d *Mute) View(width, height int) string {
	width = min(width-4, widest)
	t := d.Theme()
	var lines []widget.Line
	label := "Mute  "
	for _, text := range widget.Wrap(named(d.list), width-len(label), 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{label + text, t.Strong}})
		label = "      "
	}
	lines = append(append(append(lines, nil), widget.FormLines(t, &d.form, width)...), nil)
	const means = "For that time it shows as muted, does not set the lock's severity, and does not fail doctor. " +
		"Nothing is sent to a server. The reason is optional."
	for _, text := range widget.Wrap(means, width, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{text, t.Muted}})
	}
	lines = append(lines, nil)
	if d.err != nil {
		for _, text := range widget.Wrap(describe.OneLine(d.err), width, 3, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{text, t.Warning}})
		}
	}
	return widget.Box(t, append(lines, widget.FormButtons(t, &d.form, d.busy)), width, height, false)
}
