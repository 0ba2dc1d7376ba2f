package release

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/lockops/act"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// Bounds of a preview and of a release, from the key to the answer.
const (
	previewLimit = 10 * time.Second
	executeLimit = 20 * time.Second
)

// releasePreviewedMsg has the preview that a dialog asked for, by its generation.
type releasePreviewedMsg struct {
	generation int
	preview    act.Preview
	err        error
}

// ReleaseExecutedMsg has the result of the release that a dialog asked for, by its generation.
type ReleaseExecutedMsg struct {
	Generation int
	Result     act.Result
	err        error
}

// phase of a release dialog.
type phase int

const (
	warning    phase = iota // a waiter: to be confirmed first
	asking                  // something is typed that the preview needs
	previewing              // the preview is under way
	confirming              // the path is being typed
	executing               // the release is under way
	finished                // its result is shown, or why there is none
)

// Dialog is the dialog of a forced release. Its default is Cancel in every phase: Enter releases only after the
// path was typed and the Release button was chosen.
type Dialog struct {
	screen.Context
	releaser   act.Releaser
	request    act.Request
	target     inspect.Contender
	generation int
	phase      phase
	preview    act.Preview
	result     act.Result
	err        error
	field      widget.Field
	chosen     bool // the Release button; otherwise Cancel
	pasted     bool
	wrong      bool // enter was pressed with another path
	hasty      bool // the button was chosen, or enter pressed without: then enter cancels
	sent       bool // the release was asked for
	ttl        bool // it gives the key a TTL, in place of a release
	// prompts are still to be answered; refused is the reason why the answer to the first was not taken.
	prompts []*prompt
	refused error
	// text scrolls the requests, of which hidden lines are out of sight.
	text   widget.Scroller
	hidden int
}

func New(host screen.Context, releaser act.Releaser, l *inspect.Lock, c *inspect.Contender) *Dialog {
	owner := c.Name
	if c.Digest != "" {
		owner = inspect.Untrusted(c.Digest)
	}
	d := &Dialog{
		Context: host, releaser: releaser, target: *c, generation: host.Number(),
		request: act.Request{ID: l.ID, Lock: l, Owner: owner},
	}
	if host.Production() && host.MayAct() == "" {
		d.prompts = append(d.prompts, whyPrompt())
	}
	return d
}

// Start asks for the preview; for a waiter it first asks whether that is meant, and for what the preview or the audit needs.
func (d *Dialog) Start() tea.Cmd {
	switch {
	case d.target.State != inspect.Holding && !d.request.Waiter && !d.ttl:
		d.phase = warning
	case len(d.prompts) > 0:
		d.phase = asking
	default:
		return d.askPreview()
	}
	return nil
}

func (d *Dialog) askPreview() tea.Cmd {
	d.phase = previewing
	releaser, request, generation, known := d.releaser, d.request, d.generation, d.Snapshot()
	return d.Command(previewLimit, func(ctx context.Context) tea.Msg {
		p, err := releaser.Preview(ctx, request)
		p.Consider(known)
		return releasePreviewedMsg{generation, p, err}
	})
}

func (d *Dialog) execute() tea.Cmd {
	d.phase, d.sent = executing, true
	releaser, preview, generation := d.releaser, d.preview, d.generation
	return d.Command(executeLimit, func(ctx context.Context) tea.Msg {
		r, err := releaser.Execute(ctx, preview, "typed")
		r, err = r.Settled(context.Background(), err) // ends when the connection does, at the latest
		return ReleaseExecutedMsg{generation, r, err}
	})
}

// Update takes keys, pastes and the answers that carry the dialog's generation.
func (d *Dialog) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case releasePreviewedMsg:
		if msg.generation == d.generation && d.phase == previewing {
			d.previewed(msg)
		}
	case ReleaseExecutedMsg:
		if msg.Generation == d.generation && d.phase == executing {
			d.result, d.err, d.phase = msg.Result, msg.err, finished
		}
	case tea.PasteMsg:
		d.pasted = d.phase == confirming
	case tea.KeyPressMsg:
		return d.key(msg)
	}
	return nil, false
}

func (d *Dialog) previewed(msg releasePreviewedMsg) {
	d.preview, d.err, d.phase = msg.preview, msg.err, confirming
	switch {
	case msg.err != nil:
		d.phase = finished
	case msg.preview.Refused != "":
		d.result, d.phase = act.Result{Reason: msg.preview.Refused, Detail: msg.preview.Detail, Seen: msg.preview.Seen}, finished
	}
}

func (d *Dialog) key(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	key := msg.String()
	switch d.phase {
	case executing:
		return nil, false // a request that was sent cannot be called back; its result must be seen
	case warning:
		if key == "w" {
			d.request.Waiter = true
			return d.Start(), false
		}
		return nil, key == "esc" || key == "enter" || key == "q"
	case asking:
		return d.promptKey(msg)
	case confirming:
		if d.MayAct() != "" {
			return d.lookKey(key)
		}
		return d.confirmKey(msg)
	default:
		return nil, key == "esc" || key == "enter" || key == "q"
	}
}

// lookKey takes a key of a preview that nothing may be sent of.
func (d *Dialog) lookKey(key string) (cmd tea.Cmd, done bool) {
	switch key {
	case "up":
		d.text.Scroll(-1, d.hidden, 0)
	case "down":
		d.text.Scroll(1, d.hidden, 0)
	}
	return nil, key == "esc" || key == "enter" || key == "q"
}

func (d *Dialog) confirmKey(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	switch msg.String() {
	case "esc":
		return nil, true
	case "up":
		d.text.Scroll(-1, d.hidden, 0)
	case "down":
		d.text.Scroll(1, d.hidden, 0)
	case "tab", "shift+tab", "left", "right":
		d.chosen, d.hasty = !d.chosen && d.matches(), true
	case "enter":
		switch {
		case d.chosen && d.matches():
			return d.execute(), false
		case d.field.Value() != "" && !d.matches():
			d.wrong, d.pasted = true, false // after typing, enter is meant: show the mistake, rather than close without a word
			return nil, false
		case d.matches() && !d.hasty:
			d.hasty = true // the path was typed, and enter alone must not act: name the key that goes on
			return nil, false
		}
		return nil, true
	default:
		if d.field.Press(msg) {
			d.chosen, d.pasted, d.wrong, d.hasty = false, false, false, false
		}
	}
	return nil, false
}

// button is the one that acts.
func (d *Dialog) button() string {
	if d.ttl {
		return "Set"
	}
	return "Release"
}

// matches reports whether the lock's path was typed, as it is or escaped, with its backend before it or without.
func (d *Dialog) matches() bool {
	id := d.request.Lock.ID
	typed, path := strings.TrimPrefix(d.field.Value(), id.Backend+":"), id.Path
	if d.field.Value() == path {
		return true
	}
	if typed == "" {
		return false
	}
	raw, err := inspect.Unescape(typed)
	return typed == path || err == nil && raw == path
}

// Actions are the dialog's keys, for the footer.
func (d *Dialog) Actions() []screen.Action {
	switch d.phase {
	case warning:
		return []screen.Action{{Shown: "enter/esc", Hint: "cancel"}, {Shown: "w", Hint: "go on with a waiter"}}
	case asking:
		return []screen.Action{{Shown: "enter", Hint: "go on"}, {Shown: "esc", Hint: "cancel"}}
	case confirming:
		switch {
		case d.MayAct() != "":
			return []screen.Action{{Shown: "enter/esc", Hint: "close"}}
		case d.chosen:
			return []screen.Action{{Shown: "enter", Hint: strings.ToUpper(d.button())}, {Shown: "esc", Hint: "cancel"}}
		case d.matches():
			return []screen.Action{{Shown: "tab", Hint: "choose " + d.button()}, {Shown: "esc", Hint: "cancel"}}
		case d.field.Value() != "":
			return []screen.Action{{Shown: "esc", Hint: "cancel"}, {Shown: "type", Hint: "the lock's path"}}
		default:
			return []screen.Action{{Shown: "enter/esc", Hint: "cancel"}, {Shown: "type", Hint: "the lock's path"}}
		}
	case executing:
		return []screen.Action{{Shown: "...", Hint: "wait for the result"}}
	case finished:
		return []screen.Action{{Shown: "enter", Hint: "close"}}
	default:
		return []screen.Action{{Shown: "esc", Hint: "cancel"}}
	}
}
