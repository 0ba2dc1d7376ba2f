package screen

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/tui/widget"
)

const (
	// longestCopy is the longest text for the clipboard. Terminals accept at most about 100 000
	// characters in base64 (hterm and xterm by default), and silently drop longer text.
	longestCopy = 74_000
	// saveLimit limits the time to write a file, since a network disk may hang.
	saveLimit = 10 * time.Second
)

// TicketAction offers the ticket that about returns; false means that nothing is selected.
func TicketAction(host Context, about func() (ticket.Ticket, bool)) Action {
	return Action{
		Keys: []string{"Y"}, Shown: "Y", Hint: "ticket",
		Help: "save and copy a ticket, Markdown or JSON",
		Disabled: func() string {
			if _, ok := about(); !ok {
				return "no lock or finding is selected"
			}
			return ""
		},
		Run: Do(func() {
			if t, ok := about(); ok {
				host.Push(&Ticket{Context: host, ticket: t})
			}
		}),
	}
}

// LockTicket returns the ticket of a lock, and of a finding about it unless f is nil; false if the
// lock is gone.
func LockTicket(host Context, id inspect.ID, f *inspect.Finding) (ticket.Ticket, bool) {
	l := host.Snapshot().Lock(id)
	if l == nil {
		return ticket.Ticket{}, false
	}
	return ticket.Of(Ages(host), l, f), true
}

// Ticket is the menu of a ticket's formats.
type Ticket struct {
	Context
	ticket ticket.Ticket
	list   widget.Scroller
	saving int // the number of the file being written, or 0
}

type ticketSavedMsg struct {
	number int
	path   string
	copied string // where else it went
	err    error
}

// Update moves and chooses; a digit chooses at once.
func (d *Ticket) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ticketSavedMsg:
		if msg.number != d.saving {
			return nil, false
		}
		if msg.err != nil {
			d.Flash(both("not written: "+describe.OneLine(msg.err), msg.copied))
		} else {
			dir, name := filepath.Split(msg.path)
			d.Flash(both("written as "+describe.Printable(name)+" in "+describe.Printable(filepath.Clean(dir)), msg.copied))
		}
		return nil, true
	case tea.KeyPressMsg:
		return d.press(msg.String())
	}
	return nil, false
}

// both joins two halves of a message, the second of which may be empty. A narrow window cuts that.
func both(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

func (d *Ticket) press(key string) (tea.Cmd, bool) {
	forms := ticket.Forms()
	switch key {
	case "esc", "q", "h", "left":
		return nil, true
	case "up", "k":
		d.list.To(d.list.At-1, len(forms), len(forms))
	case "down", "j", "tab":
		d.list.To(d.list.At+1, len(forms), len(forms))
	case "enter", "Y", "y":
		return d.export(forms[d.list.At])
	default:
		if at := strings.Index("12", key); len(key) == 1 && at >= 0 && at < len(forms) {
			return d.export(forms[at])
		}
	}
	return nil, false
}

// export saves the ticket, and also sends it to the terminal's clipboard unless it is too long. The
// terminal may ignore it.
func (d *Ticket) export(form string) (tea.Cmd, bool) {
	if d.saving != 0 {
		return nil, false
	}
	text, err := d.ticket.In(form)
	if err != nil {
		d.Flash(describe.OneLine(err))
		return nil, true
	}
	var toClipboard tea.Cmd
	copied := ""
	if d.NoClipboard() == "" && len(text) <= longestCopy {
		toClipboard, copied = tea.SetClipboard(text), "sent to "+d.Clipboard()
	}
	d.saving = d.Number()
	number, name := d.saving, d.ticket.Subject()
	return tea.Batch(toClipboard, d.Command(saveLimit, func(ctx context.Context) tea.Msg {
		path, err := d.Save(ctx, name, ticket.Extension(form), text)
		return ticketSavedMsg{number, path, copied, err}
	})), false
}

func (d *Ticket) Actions() []Action {
	if d.NoClipboard() != "" {
		return []Action{{Shown: "enter", Hint: "save"}, {Shown: "esc", Hint: "close"}}
	}
	return []Action{
		{Shown: "enter", Hint: "save and copy"},
		{Shown: "1-2", Hint: "pick"},
		{Shown: "esc", Hint: "close"},
	}
}

func (d *Ticket) View(width, height int) string {
	t := d.Theme()
	lines := []widget.Line{{{"Ticket of ", t.Strong}, {d.ticket.Subject(), t.Text}}, nil}
	for i, form := range ticket.Forms() {
		l := widget.Line{{"  ", t.Text}, {fmt.Sprint(i + 1), t.Key}}
		style := t.Text
		if i == d.list.At {
			l[0], style = widget.Span{t.Glyphs.Cursor + " ", t.Holding}, t.Strong
		}
		lines = append(lines, l.Add(style, fmt.Sprintf("  %-9s ", form)).Add(t.Muted, formWords(form)))
	}
	where := "enter: save a file, and copy it to the clipboard (OSC 52)"
	if why := d.NoClipboard(); why != "" {
		where = "enter: save a file (" + why + ")"
	}
	if d.saving != 0 {
		where = "writing the file" + t.Glyphs.Ellipsis
	}
	lines = append(lines, nil, widget.Line{{where, t.Muted}},
		widget.Line{{"Files are saved in the directory where lockscope was started.", t.Muted}})
	return widget.Box(t, lines, min(width, 72), height, false)
}

func formWords(form string) string {
	if form == "markdown" {
		return "problem, holders, queue, evidence, advice"
	}
	return "the same as printed by show -o json"
}
