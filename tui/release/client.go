package release

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Ender finds what ends connections of a backend's clients; it may connect.
type Ender func(ctx context.Context, backend string) (act.Ender, error)

// Client is the dialog that ends a client's connections.
type Client struct {
	flow
	ender   Ender
	request act.ClientRequest
	name    string // of the client, escaped
	shown   act.ClientPreview
	result  act.ClientResult
	err     error
	sent    bool
}

// clientPreviewedMsg and clientEndedMsg carry the answers to a dialog, with its generation.
type clientPreviewedMsg struct {
	generation int
	preview    act.ClientPreview
	err        error
}

type clientEndedMsg struct {
	generation int
	result     act.ClientResult
	err        error
}

// NewClient returns the dialog about a backend's client, given by its address or session.
func NewClient(host screen.Context, ender Ender, backend, client, name string) *Client {
	d := &Client{ender: ender, request: act.ClientRequest{Backend: backend, Client: client}, name: name}
	d.flow = newFlow(host, &d.request.Why)
	d.preview, d.execute = d.requestPreview, d.send
	d.confirm = confirmation{
		does: "End", what: "address", word: describe.Printable(client), accepts: func(typed string) bool {
			return typed == client
		},
	}
	return d
}

// Start asks for the preview.
func (d *Client) Start() tea.Cmd { return d.next() }

func (d *Client) requestPreview() tea.Cmd {
	ender, request, generation, known := d.ender, d.request, d.generation, d.Snapshot()
	return d.Command(previewLimit, func(ctx context.Context) tea.Msg {
		e, err := ender(ctx, request.Backend)
		if err != nil {
			return clientPreviewedMsg{generation: generation, err: err}
		}
		p, err := e.PreviewEnd(ctx, request)
		p.Consider(known)
		return clientPreviewedMsg{generation, p, err}
	})
}

func (d *Client) send() tea.Cmd {
	d.sent = true
	ender, preview, generation := d.ender, d.shown, d.generation
	return d.Command(executeLimit, func(ctx context.Context) tea.Msg {
		e, err := ender(ctx, preview.Request.Backend)
		if err != nil {
			return clientEndedMsg{generation: generation, err: err}
		}
		r, err := e.EndClient(ctx, preview, "typed")
		return clientEndedMsg{generation, r, err}
	})
}

// Update handles keys, pastes and answers of the dialog's generation.
func (d *Client) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case clientPreviewedMsg:
		if msg.generation != d.generation || d.phase != previewing {
			break
		}
		d.shown, d.err, d.phase = msg.preview, msg.err, confirming
		if msg.err != nil || msg.preview.Refused != "" {
			d.result, d.phase = act.ClientResult{Reason: msg.preview.Refused, Detail: msg.preview.Detail}, finished
		}
	case clientEndedMsg:
		if msg.generation == d.generation && d.phase == executing {
			d.result, d.err, d.phase = msg.result, msg.err, finished
		}
	case screen.ArmedMsg:
		return d.armed(), false
	case tea.PasteMsg:
		d.confirm.pasted = d.phase == confirming
	case tea.KeyPressMsg:
		return d.press(msg)
	}
	return nil, false
}

// SetSize keeps the scroll position within the text.
func (d *Client) SetSize(width, height int) {
	if d.phase == confirming {
		lines, _, room := d.parts(min(width-4, widest), height)
		d.fit(lines, room)
	}
}

// View draws the dialog.
func (d *Client) View(width, height int) string {
	width = min(width-4, widest)
	t := d.Theme()
	lines := []widget.Line{
		{{"End a client  ", t.Critical}, {d.name, t.Strong}, {"  " + describe.Printable(d.request.Backend), t.Muted}},
		nil,
	}
	switch d.phase {
	case asking:
		lines = append(lines, d.promptLines(width)...)
	case previewing:
		lines = append(lines, widget.Line{{"Looking it up" + t.Glyphs.Ellipsis + " nothing is sent yet.", t.Muted}})
	case confirming:
		text, tail, room := d.parts(width, height)
		lines = append(append(lines, d.scrolled(text, room)...), tail...)
	case executing:
		lines = append(lines, widget.Line{{"Ending its connection" + t.Glyphs.Ellipsis, t.Warning}},
			widget.Line{{fmt.Sprintf("Its result comes within %d s.", int(executeLimit.Seconds())), t.Muted}})
	case finished:
		lines = append(lines, d.resultLines(width)...)
	}
	return widget.Box(t, lines, width, height, true)
}

// parts returns the preview's lines that scroll in the given room, and the tail, which always
// fits with the title.
func (d *Client) parts(width, height int) (lines, tail []widget.Line, room int) {
	t, p := d.Theme(), &d.shown
	for i := range p.Seen {
		c := &p.Seen[i]
		label := ""
		if i == 0 {
			label = "Seen"
		}
		text := fmt.Sprintf("%s  id %d, %s, connected for %s, last command %s %s ago", inspect.Escape(c.Server), c.ID,
			clientName(c.Name), describe.Age(c.Age), c.Command, describe.Age(c.Idle))
		for j, part := range widget.Wrap(text, width-9, 2, t.Glyphs.Ellipsis) {
			if j > 0 {
				label = ""
			}
			lines = append(lines, d.labelled(label, widget.Line{{part, t.Text}}))
		}
	}
	for i, text := range p.Lines() {
		label := ""
		if i == 0 {
			label = "Locks"
		}
		for _, part := range widget.Wrap(describe.Printable(text), width-9, 4, t.Glyphs.Ellipsis) {
			lines = append(lines, d.labelled(label, widget.Line{{part, t.Text}}))
			label = ""
		}
	}
	lines = append(append(lines, nil), d.bullets(width, p.Warnings...)...)
	lines = append(append(lines, nil), d.sends(width, height, p.Sends, false)...)
	tail = append([]widget.Line{nil}, d.consentLines()...)
	return lines, tail, max(2, height-4-len(tail))
}

func clientName(name inspect.Untrusted) string {
	if name == "" {
		return "without a name"
	}
	return "named " + name.String()
}

func (d *Client) resultLines(width int) []widget.Line {
	t, r := d.Theme(), &d.result
	var lines []widget.Line
	switch {
	case len(r.Ended) > 0:
		lines = append(lines, widget.Line{
			{t.Glyphs.Holding + " Ended: ", t.Holding},
			{describe.Count(len(r.Ended), "connection"), t.Strong},
			{" of " + d.name + ".", t.Text},
		})
		for i := range r.Again {
			lines = append(lines, widget.Line{
				{t.Glyphs.Warning + " A client of the same name has connected again, from ", t.Warning},
				{r.Again[i].Addr.String(), t.Strong},
			})
		}
	case r.Unknown:
		lines = append(lines, widget.Line{{t.Glyphs.Unknown + " Unknown whether it was ended.", t.Unknown}})
	case d.err != nil && !d.sent:
		lines = append(lines, widget.Line{{t.Glyphs.Critical + " No preview, nothing was sent.", t.Critical}})
	default:
		lines = append(lines, widget.Line{
			{t.Glyphs.Warning + " " + notDone("Not ended", r.Reason), t.Warning},
			{" (" + describe.Printable(string(r.Reason)) + ")", t.Muted},
		})
	}
	texts := []string{r.Detail}
	if d.err != nil {
		texts = append(texts, describe.OneLine(d.err))
	}
	for _, text := range texts {
		for _, part := range widget.Wrap(describe.Printable(text), width-2, 8, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{"  " + part, t.Text}})
		}
	}
	return append(lines, nil, widget.Line{{"[ Close ]", t.Strong.Reverse()}})
}
