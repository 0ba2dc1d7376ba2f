package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// copyMenu asks what of a lock to put on the clipboard; c is whom it is about, nil for the holder if there is one.
func copyMenu(host Context, l *inspect.Lock, c *inspect.Contender) tea.Cmd {
	if l == nil {
		host.Flash("the lock is gone")
		return nil
	}
	if c == nil && len(l.Holders) > 0 {
		c = &l.Holders[0]
	}
	host.Push(&copying{Context: host, id: l.ID, choices: copyChoices(host, l, c)})
	return nil
}

// copyChoices are what can be copied of a lock and a contender, all of it escaped as it is printed, which every argument
// and dialog accepts.
func copyChoices(host Context, l *inspect.Lock, c *inspect.Contender) []describe.Command {
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
			describe.Command{Name: "label", Text: o.Label.String()}, describe.Command{Name: "owner", Text: c.Name.String()})
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

// copying is the menu of what to copy. It keeps what it was opened with: what is copied is what was read.
type copying struct {
	Context
	id      inspect.ID
	choices []describe.Command
	cursor  int
}

// Update moves and chooses; a figure chooses at once.
func (d *copying) Update(msg tea.Msg) (tea.Cmd, bool) {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	switch s := key.String(); s {
	case "esc", "q", "h", "left":
		return nil, true
	case "up", "k":
		d.cursor = max(0, d.cursor-1)
	case "down", "j", "tab":
		d.cursor = min(d.cursor+1, len(d.choices)-1)
	case "enter", "y":
		return d.copy(d.cursor), true
	default:
		if at := strings.Index("123456789", s); len(s) == 1 && at >= 0 && at < len(d.choices) {
			return d.copy(at), true
		}
	}
	return nil, false
}

func (d *copying) copy(at int) tea.Cmd {
	text := d.choices[at].Text
	d.Flash("copied " + text)
	return tea.SetClipboard(text)
}

func (d *copying) Actions() []action {
	return []action{
		{shown: "enter", hint: "copy"}, {shown: "1-9", hint: "copy that"}, {shown: "esc", hint: "close"},
	}
}

func (d *copying) View(width, height int) string {
	t := d.Theme()
	names, texts := 0, ansi.StringWidth(d.id.String())
	for _, c := range d.choices {
		names = max(names, ansi.StringWidth(c.Name))
		texts = max(texts, ansi.StringWidth(c.Text)+names+6)
	}
	width = max(30, min(width-4, texts))
	lines := []line{{{"Copy of ", t.Strong}, {d.id.String(), t.Text}}, nil}
	for i, c := range d.choices {
		l := line{{" ", t.Text}, {string(rune('1' + i)), t.Key}, {"  " + c.Name + strings.Repeat(" ", names-ansi.StringWidth(c.Name)+2), t.Muted}}
		if i > 8 {
			l[1].text = " "
		}
		if i == d.cursor {
			l[0] = span{t.Glyphs.Cursor, t.Holding}
			l = l.add(t.Strong, c.Text)
		} else {
			l = l.add(t.Text, c.Text)
		}
		lines = append(lines, l)
	}
	return box(t, lines, width, height, false)
}
