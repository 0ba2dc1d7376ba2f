package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/widget"
)

// CopyMenu offers a lock's texts for the clipboard, beginning with the commands that its findings
// advise. c is the contender; nil for the holder.
func CopyMenu(host Context, l *inspect.Lock, c *inspect.Contender) tea.Cmd {
	if l == nil {
		host.Flash("the lock is gone")
		return nil
	}
	if c == nil && len(l.Holders) > 0 {
		c = &l.Holders[0]
	}
	menu := &Copying{Context: host, Id: l.ID}
	for i := range l.Findings {
		for _, one := range AdvisedCommands(&l.Findings[i]) {
			if !slices.Contains(menu.Choices, one) {
				menu.Choices = append(menu.Choices, one)
			}
		}
	}
	menu.Choices = append(menu.Choices, CopyChoices(host, l, c)...)
	host.Push(menu)
	return nil
}

// AdvisedCommands are the shell commands in a finding's advice.
func AdvisedCommands(f *inspect.Finding) []describe.Command {
	var list []describe.Command
	for _, p := range f.Phrases() {
		if p.Command {
			list = append(list, describe.Command{Name: "command", Text: describe.Printable(p.Text)})
		}
	}
	return list
}

// CopyChoices are the texts to copy of a lock and a contender, escaped as printed; every argument
// and dialog accepts that form.
func CopyChoices(host Context, l *inspect.Lock, c *inspect.Contender) []describe.Command {
	path := "path"
	if len(l.Masters) > 0 {
		path = "key"
	}
	list := []describe.Command{{Name: path, Text: inspect.Escape(l.ID.Path)}, {Name: "lock", Text: l.ID.String()}}
	if c != nil {
		o := &c.Owner
		if o.Session != 0 {
			list = append(list, describe.Command{Name: "session", Text: inspect.SessionID(o.Session)})
		}
		list = append(list, describe.Command{Name: "client", Text: describe.Client(o)},
			describe.Command{Name: "label", Text: o.Label.String()}, describe.Command{
				Name: "owner", Text: c.Name.String(),
			})
	}
	for _, command := range host.Commands(l, c) {
		list = append(list, describe.Command{Name: command.Name, Text: describe.Printable(command.Text)})
	}
	some := list[:0]
	for _, one := range list {
		if one.Text != "" {
			some = append(some, one)
		}
	}
	return some
}

// Copying is the menu of texts to copy. The texts stay the same while it is open.
type Copying struct {
	Context
	Id      inspect.ID
	Choices []describe.Command
	list    widget.Scroller
}

// Update moves and chooses; a digit chooses at once.
func (d *Copying) Update(msg tea.Msg) (tea.Cmd, bool) {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	switch s := key.String(); s {
	case "esc", "q", "h", "left":
		return nil, true
	case "up", "k":
		d.move(-1)
	case "down", "j", "tab":
		d.move(1)
	case "enter", "y":
		return d.copy(d.list.At), true
	default:
		if at := strings.Index("123456789", s); len(s) == 1 && at >= 0 && at < len(d.Choices) {
			return d.copy(at), true
		}
	}
	return nil, false
}

func (d *Copying) move(by int) { d.list.To(d.list.At+by, len(d.Choices), len(d.Choices)) }

func (d *Copying) copy(at int) tea.Cmd {
	return ToClipboard(d.Context, d.Choices[at].Text, d.Choices[at].Text)
}

// ToClipboard sends text to the terminal's clipboard and shows what was sent. Without a clipboard it
// shows the text, so that the user can select it.
func ToClipboard(host Context, text, what string) tea.Cmd {
	if why := host.NoClipboard(); why != "" {
		host.Flash("not copied, " + why + ": " + text)
		return nil
	}
	host.Flash("sent to " + host.Clipboard() + ": " + what)
	return tea.SetClipboard(text)
}

func (d *Copying) Actions() []Action {
	return []Action{
		{Shown: "enter", Hint: "copy"},
		{Shown: fmt.Sprintf("1-%d", min(9, len(d.Choices))), Hint: "pick"},
		{Shown: "esc", Hint: "close"},
	}
}

func (d *Copying) View(width, height int) string {
	t := d.Theme()
	names, texts := 0, ansi.StringWidth(d.Id.String())
	for _, c := range d.Choices {
		names = max(names, ansi.StringWidth(c.Name))
		texts = max(texts, ansi.StringWidth(c.Text)+names+6)
	}
	width = max(30, min(width-4, texts))
	lines := []widget.Line{{{"Copy from ", t.Strong}, {d.Id.String(), t.Text}}, nil}
	for i, c := range d.Choices {
		l := widget.Line{
			{" ", t.Text},
			{string(rune('1' + i)), t.Key},
			{"  " + c.Name + strings.Repeat(" ", names-ansi.StringWidth(c.Name)+2), t.Muted},
		}
		if i > 8 {
			l[1].Text = " "
		}
		if i == d.list.At {
			l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
			l = l.Add(t.Strong, c.Text)
		} else {
			l = l.Add(t.Text, c.Text)
		}
		lines = append(lines, l)
	}
	return widget.Box(t, lines, width, height, false)
}
