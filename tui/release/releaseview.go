package release

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// widest limits the dialog's width, in cells, so that its sentences stay readable.
const widest = 86

// View draws the dialog.
func (d *Dialog) View(width, height int) string {
	width = min(width-4, widest)
	t := d.Theme()
	lines := []widget.Line{{{d.words.title + "  ", t.Critical}, {d.request.Lock.ID.String(), t.Strong}}, nil}
	switch d.phase {
	case warning:
		lines = append(lines, d.warningLines(width)...)
	case asking:
		lines = append(lines, d.promptLines(width)...)
	case previewing:
		lines = append(lines, widget.Line{{"Reading it again" + t.Glyphs.Ellipsis + " nothing is sent yet.", t.Muted}})
	case confirming:
		lines = append(lines, d.previewLines(width, height)...)
	case executing:
		lines = append(lines, widget.Line{{d.words.doing + t.Glyphs.Ellipsis, t.Warning}},
			widget.Line{{
				fmt.Sprintf("Its result comes within %d s.", int((executeLimit + d.request.Wait).Seconds())), t.Muted,
			}})
	case finished:
		lines = append(lines, d.resultLines(width)...)
	}
	return widget.Box(t, lines, width, height, true)
}

func (d *Dialog) warningLines(width int) []widget.Line {
	t := d.Theme()
	lines := []widget.Line{
		{
			{t.Glyphs.Waiting + " " + describe.Owner(&d.target), t.Waiting},
			{" waits; it does not hold the lock.", t.Text},
		},
		nil,
	}
	lines = append(lines,
		d.bullets(width, "Removing a waiter frees nothing. Clients that use go-zookeeper's lock then believe "+
			"that they hold it: two may run at once.")...)
	return append(lines, nil, widget.FormButtons(t, &d.form, false))
}

// person describes a contender. Its client and session go below its name if they do not fit next
// to it. none replaces nil.
func (d *Dialog) person(label string, c *inspect.Contender, none string, width int) []widget.Line {
	t := d.Theme()
	if c == nil {
		return []widget.Line{d.labelled(label, widget.Line{{none, t.Muted}})}
	}
	c = d.known(c)
	s, _ := screen.ContenderSign(t, c)
	at := ""
	if client := describe.Client(&c.Owner); client != "" && client != describe.Owner(c) {
		at = "  " + client
	}
	if c.Owner.Session != 0 {
		at += "  session " + inspect.SessionID(c.Owner.Session)
	}
	name := d.labelled(label, widget.Line{
		{s.Text + " ", s.Style}, {screen.Short(d, describe.Owner(c), width-labelWidth-2), t.Strong},
	})
	name = append(name, screen.You(t, &c.Owner)...)
	if name.Width()+widget.TextWidth(at) <= width {
		return []widget.Line{name.Add(t.Muted, at)}
	}
	return []widget.Line{name, d.labelled("", widget.Line{{at, t.Muted}})}
}

// known adds the client that the screen knows for the contender's session, since the server did
// not report it.
func (d *Dialog) known(c *inspect.Contender) *inspect.Contender {
	for _, l := range []*inspect.Lock{d.Snapshot().Lock(d.request.ID), d.request.Lock} {
		if l == nil || c.Owner.Client != "" {
			continue
		}
		if shown, ok := l.Contender(c.Name); ok && shown.Czxid == c.Czxid && shown.Owner.Session == c.Owner.Session {
			joined := *c
			joined.Owner.Client = shown.Owner.Client
			return &joined
		}
	}
	return c
}

func (d *Dialog) previewLines(width, height int) []widget.Line {
	lines, tail, room := d.previewParts(width, height)
	return append(d.scrolled(lines, room), tail...)
}

// SetSize keeps the scroll position within the preview.
func (d *Dialog) SetSize(width, height int) {
	if d.phase == confirming {
		lines, _, room := d.previewParts(min(width-4, widest), height)
		d.fit(lines, room)
	}
}

// previewParts returns the preview's lines that scroll in the given room, and the tail, which
// always fits with the title.
func (d *Dialog) previewParts(width, height int) (lines, tail []widget.Line, room int) {
	t, p := d.Theme(), &d.shown
	label := "Held by"
	switch {
	case d.words == voteWords:
		label = "Value"
	case d.request.Waiter:
		label = "Waiter"
	}
	next := p.Next
	if next != nil {
		waits := *next
		waits.State = inspect.Waiting
		next = &waits
	}
	lines = d.person(label, p.Seen, "no holder", width)
	if d.request.TTL > 0 {
		lines = append(lines, d.expiryLines()...)
	} else {
		lines = append(lines, d.person("Next", next, p.NoNext(), width)...)
	}
	if screen.You(t, &d.target.Owner) != nil {
		lines = append(lines, d.bullets(width, "It is yours: Esc, then r releases it properly.")...)
	}
	if notes := append(p.Others.Lines(), p.Warnings...); len(notes) > 0 {
		lines = append(append(lines, nil), d.bullets(width, notes...)...)
	}
	b := d.Snapshot().Backend(d.request.Lock.ID.Backend)
	lines = append(append(lines, nil), d.sends(width, height, p.Sends, b != nil && b.Kind == inspect.ZooKeeper)...)
	tail = append([]widget.Line{nil}, d.consentLines()...)
	if text := d.overtaken(); text != "" {
		tail = append([]widget.Line{nil, {{t.Glyphs.Critical + " " + text, t.Critical}}}, tail...)
	}
	return lines, tail, max(2, height-4-len(tail))
}

// expiryLines compare each master's current TTL with the new one.
func (d *Dialog) expiryLines() []widget.Line {
	var lines []widget.Line
	for i := range d.shown.Votes {
		v := &d.shown.Votes[i]
		lines = append(lines, d.labelled("Now", widget.Line{
			{describe.Expiry(v, d.Clock()) + "  ", d.Theme().Text}, {describe.Printable(v.Addr), d.Theme().Muted},
		}))
	}
	return append(lines, d.labelled("Then", widget.Line{{
		"expires in " + describe.Exact(d.request.TTL), d.Theme().Strong,
	}}))
}

// overtaken warns that the lock has changed hands since the preview, so that nothing will be
// done; empty if it has not.
func (d *Dialog) overtaken() string {
	l := d.Snapshot().Lock(d.request.Lock.ID)
	if d.shown.Seen == nil {
		return ""
	}
	if l != nil {
		c, ok := l.Contender(d.shown.Seen.Name)
		if ok && c.Czxid == d.shown.Seen.Czxid && c.State == d.shown.Seen.State || !ok && d.votes(l) {
			return ""
		}
	}
	return "It has changed since: the " + d.words.noun + " will be refused. Cancel and look again."
}

// votes reports whether the previewed value without a quorum is still on some master, and still
// does not hold the lock.
func (d *Dialog) votes(l *inspect.Lock) bool {
	seen := d.shown.Seen
	return seen.State != inspect.Holding && slices.ContainsFunc(l.Masters, func(v inspect.Vote) bool {
		return v.Present && v.Value == seen.Name && v.Digest == seen.Digest
	})
}

func (d *Dialog) resultLines(width int) []widget.Line {
	t, r := d.Theme(), &d.result
	var lines []widget.Line
	paragraph := func(text string, most int) {
		for _, l := range widget.Wrap(text, width-2, most, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{"  " + l, t.Text}})
		}
	}
	switch {
	case r.Released:
		lines = append(lines, widget.Line{
			{t.Glyphs.Holding + " Released: ", t.Holding},
			{describe.Owner(&d.target), t.Strong},
			{" no longer has it.", t.Text},
		})
	case r.LetGo:
		lines = append(lines, widget.Line{
			{t.Glyphs.Holding + " Released by its holder: ", t.Holding},
			{describe.Owner(&d.target), t.Strong},
			{" no longer holds it.", t.Text},
		})
	case r.Asked && r.Unknown:
		lines = append(lines, widget.Line{{t.Glyphs.Unknown + " It was asked; unknown whether it released.", t.Unknown}})
	case r.Unknown:
		lines = append(lines, widget.Line{{t.Glyphs.Unknown + " Unknown whether it was done.", t.Unknown}})
	case r.Set:
		lines = append(lines, widget.Line{
			{t.Glyphs.Holding + " Set: ", t.Holding},
			{"the key expires in " + describe.Exact(d.request.TTL) + " unless its client renews it.", t.Text},
		})
	case d.err != nil && !d.sent:
		lines = append(lines, widget.Line{{t.Glyphs.Critical + " No preview, nothing was sent.", t.Critical}})
	case d.err != nil:
		lines = append(lines, widget.Line{{
			t.Glyphs.Critical + " " + d.words.notDone + ", as far as we know.", t.Critical,
		}})
	default:
		lines = append(lines, widget.Line{
			{t.Glyphs.Warning + " " + notDone(d.words.notDone, r.Reason), t.Warning},
			{" (" + describe.Printable(string(r.Reason)) + "): ", t.Muted},
		})
		paragraph(cmp.Or(describe.Printable(r.Detail), describe.Refusal(string(r.Reason))), 3)
	}
	if d.err != nil {
		paragraph(describe.OneLine(d.err), 4)
	}
	for _, m := range r.Masters {
		lines = append(lines, d.masterLine(m))
	}
	if d.err == nil || len(r.HoldersAfter) > 0 {
		lines = append(append(lines, nil), d.afterLines(width)...)
	}
	return append(lines, nil, widget.Line{{"[ Close ]", t.Strong.Reverse()}})
}

func (d *Dialog) masterLine(m act.MasterResult) widget.Line {
	t := d.Theme()
	switch {
	case m.Ended == act.EndedItself:
		return widget.Line{
			{"  " + t.Glyphs.Free + " ", t.Free},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{m.Ended.Words(), t.Muted},
		}
	case m.Ended != "":
		return widget.Line{
			{"  " + t.Glyphs.Unknown + " ", t.Unknown},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{m.Ended.Words(), t.Unknown},
		}
	case m.Err != nil:
		return widget.Line{
			{"  " + t.Glyphs.Unknown + " ", t.Unknown},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{describe.OneLine(m.Err), t.Unknown},
		}
	case m.Set:
		return widget.Line{
			{"  " + t.Glyphs.Holding + " ", t.Holding},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{"set; " + describe.Expiry(&m.After, d.Clock()), t.Text},
		}
	case m.Deleted:
		return widget.Line{
			{"  " + t.Glyphs.Holding + " ", t.Holding},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{"deleted", t.Text},
		}
	default:
		return widget.Line{
			{"  " + t.Glyphs.Free + " ", t.Free},
			{describe.Printable(m.Addr) + "  ", t.Text},
			{"held something else or nothing", t.Muted},
		}
	}
}

// afterLines are the lock's current holders: those of the after-check, or newer ones from the
// screen's snapshot.
func (d *Dialog) afterLines(width int) []widget.Line {
	holders := d.result.HoldersAfter
	l := d.Snapshot().Lock(d.request.Lock.ID)
	unchecked := !d.result.Released && !d.result.LetGo && len(holders) == 0 // it may not have been read again
	switch known := l != nil && l.State != inspect.StateUnknown && !d.Paused(); {
	case known && (unchecked || l.ReadAt.After(d.answered)):
		holders = l.Holders
	case unchecked:
		return []widget.Line{d.labelled("Now", widget.Line{{"its holder is unknown", d.Theme().Unknown}})}
	}
	if len(holders) == 0 {
		return []widget.Line{d.labelled("Now", widget.Line{{"no holder", d.Theme().Text}})}
	}
	var lines []widget.Line
	for i := range holders {
		label := "Now"
		if i > 0 {
			label = ""
		}
		if i == 5 {
			return append(lines, d.labelled("", widget.Line{{
				fmt.Sprintf("and %d more", len(holders)-i), d.Theme().Muted,
			}}))
		}
		lines = append(lines, d.person(label, &holders[i], "", width)...)
	}
	return lines
}
