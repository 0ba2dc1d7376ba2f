package release

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Time limits of a preview and of a release, from the key to the answer.
const (
	previewLimit = 10 * time.Second
	executeLimit = 20 * time.Second
)

// releasePreviewedMsg carries a preview to the dialog of its generation.
type releasePreviewedMsg struct {
	generation int
	preview    act.Preview
	err        error
}

// ReleaseExecutedMsg carries the result of a release to the dialog of its generation.
type ReleaseExecutedMsg struct {
	Generation int
	Result     act.Result
	err        error
}

// twoLeaders are the words that the operator types to accept that the former leader may still lead.
const twoLeaders = "two leaders"

// words of an action in its dialog.
type words struct {
	title, button, doing, notDone string
	// noun is the action in a sentence.
	noun string
}

var (
	releaseWords = words{"Force-release", "Release", "Releasing", "Not released", "release"}
	removeWords  = words{"Remove a waiter", "Release", "Releasing", "Not released", "release"}
	voteWords    = words{"Delete a value without a quorum", "Release", "Releasing", "Not released", "release"}
	ttlWords     = words{"Set a TTL", "Set", "Setting the TTL", "Not set", "TTL"}
	askWords     = words{"Ask to release", "Ask", "Asking, and watching whether it releases", "Not released", "request"}
)

// notDone returns the words for a failed action, or that nothing was done if it is unsupported.
func notDone(words string, why act.Reason) string {
	if why == act.Unsupported {
		return "Nothing was done"
	}
	return words
}

// Dialog is the dialog of an action on a contender: a forced release, a TTL, or a request to
// release. Each phase defaults to Cancel. Enter acts only after the user has typed the path and
// moved to the button.
type Dialog struct {
	flow
	releaser act.Releaser
	request  act.Request
	target   inspect.Contender
	shown    act.Preview
	result   act.Result
	answered time.Time // when the result came
	err      error
	words    words
	sent     bool // the action was asked for
	// form has the buttons of the warning about a waiter.
	form widget.Form
}

// newDialog returns the dialog of a forced release.
func newDialog(host screen.Context, releaser act.Releaser, l *inspect.Lock, c *inspect.Contender) *Dialog {
	owner := c.Name
	if c.Digest != "" {
		owner = inspect.Untrusted(c.Digest)
	}
	// The preview warns of two leaders, and the user must type other words to confirm.
	request := act.Request{ID: l.ID, Lock: l, Owner: owner, TwoLeaders: true}
	d := &Dialog{releaser: releaser, target: *c, request: request, words: releaseWords}
	d.flow = newFlow(host, &d.request.Why)
	d.preview, d.execute = d.requestPreview, d.send
	d.confirm = confirmation{
		does: releaseWords.button, what: "path", word: inspect.Escape(l.ID.Path),
		accepts: func(typed string) bool { return namesLock(l.ID, typed) },
	}
	if c.State != inspect.Holding {
		d.words = removeWords
	}
	return d
}

// forAsking turns the dialog into one that asks a holder to release.
func (d *Dialog) forAsking() {
	d.request.Ask, d.request.Wait = true, act.DefaultAskWait
	d.speak(askWords)
}

func (d *Dialog) speak(w words) { d.words, d.confirm.does = w, w.button }

// Start starts the preview. For a waiter it first asks the user to confirm that choice. It also
// asks for the preview's or audit's missing details.
func (d *Dialog) Start() tea.Cmd {
	if d.words == removeWords && !d.request.Waiter {
		d.phase, d.form = warning, widget.Form{Button: "Preview", At: 1}
		return nil
	}
	return d.next()
}

func (d *Dialog) requestPreview() tea.Cmd {
	releaser, request, generation, known := d.releaser, d.request, d.generation, d.Snapshot()
	return d.Command(previewLimit, func(ctx context.Context) tea.Msg {
		p, err := releaser.Preview(ctx, request)
		p.Consider(known)
		return releasePreviewedMsg{generation, p, err}
	})
}

func (d *Dialog) send() tea.Cmd {
	d.sent = true
	releaser, preview, generation := d.releaser, d.shown, d.generation
	return d.Command(executeLimit+d.request.Wait, func(ctx context.Context) tea.Msg {
		r, err := releaser.Execute(ctx, preview, "typed")
		r, err = r.Settled(context.Background(), err) // ends when the connection does, at the latest
		return ReleaseExecutedMsg{generation, r, err}
	})
}

// Update handles keys, pastes and answers of the dialog's generation.
func (d *Dialog) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case releasePreviewedMsg:
		if msg.generation == d.generation && d.phase == previewing {
			d.previewed(msg)
		}
	case ReleaseExecutedMsg:
		if msg.Generation == d.generation && d.phase == executing {
			d.result, d.answered, d.err, d.phase = msg.Result, d.Clock(), msg.err, finished
		}
	case screen.ArmedMsg:
		return d.armed(), false
	case tea.PasteMsg:
		d.confirm.pasted = d.phase == confirming
	case tea.KeyPressMsg:
		return d.key(msg)
	}
	return nil, false
}

func (d *Dialog) previewed(msg releasePreviewedMsg) {
	d.shown, d.err, d.phase = msg.preview, msg.err, confirming
	if msg.preview.TwoLeaders {
		d.confirm.what, d.confirm.word = "words", twoLeaders
		d.confirm.accepts = func(typed string) bool { return typed == twoLeaders }
	}
	switch {
	case msg.err != nil:
		d.phase = finished
	case msg.preview.Refused != "":
		p := &msg.preview
		d.result, d.phase = act.Result{Reason: p.Refused, Detail: p.Detail, Seen: p.Seen}, finished
	}
}

func (d *Dialog) key(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	if d.phase != warning {
		return d.press(msg)
	}
	confirmed, closed, _ := d.form.Press(msg)
	if confirmed || msg.String() == "w" {
		d.request.Waiter = true
		return d.next(), false
	}
	return nil, closed || msg.String() == "q"
}

// namesLock reports whether the user typed a lock's path, plain or escaped, with or without its
// backend.
func namesLock(id inspect.ID, typed string) bool {
	if typed == id.Path {
		return true
	}
	if typed = strings.TrimPrefix(typed, id.Backend+":"); typed == "" {
		return false
	}
	raw, err := inspect.Unescape(typed)
	return typed == id.Path || err == nil && raw == id.Path
}

// Actions returns the dialog's keys, for the footer.
func (d *Dialog) Actions() []screen.Action {
	if d.phase == warning {
		return append(screen.FormActions(&d.form), screen.Action{Shown: "w", Hint: "preview anyway"})
	}
	return d.flow.Actions()
}
