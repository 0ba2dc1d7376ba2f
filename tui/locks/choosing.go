package locks

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// choosing is the dialog for the table's columns. The table behind it changes at once.
type choosing struct {
	screen.Context
	of     *Screen
	before table
	// all columns; the shown ones are drawn from left to right.
	all  []*column
	on   map[*column]bool
	list widget.Scroller
}

func (s *Screen) chooseColumns() {
	d := &choosing{Context: s.Context, of: s, before: s.shown}
	d.begin()
	s.Push(d)
}

// begin lists the visible columns, and then the others.
func (d *choosing) begin() {
	d.on = make(map[*column]bool)
	d.all = slices.Clone(d.of.columnsInSight())
	for _, c := range d.all {
		d.on[c] = true
	}
	for _, c := range allColumns {
		if !d.on[c] {
			d.all = append(d.all, c)
		}
	}
}

func (d *choosing) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		d.move(screen.Wheel(msg))
	case tea.KeyPressMsg:
		return d.key(msg.String())
	}
	return nil, false
}

func (d *choosing) key(key string) (tea.Cmd, bool) {
	switch key {
	case "enter", "C", "q":
		return nil, true
	case "esc":
		d.of.choose(d.before)
		return nil, true
	case "up", "k":
		d.move(-1)
	case "down", "j", "tab":
		d.move(1)
	case "home", "g":
		d.move(-len(d.all))
	case "end", "G":
		d.move(len(d.all))
	case "space", "x":
		d.toggle()
	case "left", "<", "K":
		d.shift(-1)
	case "right", ">", "J":
		d.shift(1)
	case "0":
		d.of.choose(d.of.usual)
		d.begin()
	case "y":
		const what = "the view, for \"views:\" in the configuration"
		return screen.ToClipboard(d.of, d.of.view().configuration(), what), false
	}
	return nil, false
}

func (d *choosing) move(by int) { d.list.To(d.list.At+by, len(d.all), len(d.all)) }

func (d *choosing) toggle() {
	c := d.all[d.list.At]
	if c == byName {
		d.Flash("without the lock column, rows would look alike")
		return
	}
	d.on[c] = !d.on[c]
	d.apply()
}

// shift moves the selected column to another place in the table.
func (d *choosing) shift(by int) {
	to := d.list.At + by
	if to < 0 || to >= len(d.all) {
		return
	}
	d.all[d.list.At], d.all[to] = d.all[to], d.all[d.list.At]
	d.list.At = to
	d.apply()
}

func (d *choosing) apply() {
	off := func(c *column) bool { return !d.on[c] }
	d.of.choose(table{chosen: true, columns: slices.DeleteFunc(slices.Clone(d.all), off)})
}

// roomFor reports whether a chosen column is visible.
func (d *choosing) roomFor(c *column) bool {
	widths := d.of.grid().widths
	at := slices.Index(d.of.shown.columns, c)
	return at >= 0 && widths[at] > 0
}

func (d *choosing) Actions() []screen.Action {
	return []screen.Action{
		{Shown: "space", Hint: "show/hide"},
		{Shown: "←→", Hint: "move"},
		{Shown: "0", Hint: "default"},
		{Shown: "y", Hint: "copy as config"},
		{Shown: "enter", Hint: "done"},
		{Shown: "esc", Hint: "undo"},
	}
}

// columnsWidth is the width of the dialog, in cells. It is narrow, so that the table stays
// visible behind it.
const columnsWidth = 28

func (d *choosing) View(width, height int) string {
	t := d.Theme()
	lines := []widget.Line{{{"Columns", t.Strong}, {", from the left", t.Muted}}, nil}
	for i, c := range d.all {
		mark, style := " ", t.Muted
		if d.on[c] {
			mark, style = "x", t.Text
		}
		l := widget.Line{{" ", t.Text}, {"[" + mark + "] " + c.name(), style}}
		if i == d.list.At {
			l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
			l[1].Style = t.Strong
		}
		if d.on[c] && !d.roomFor(c) {
			l = l.Add(t.Warning, "  no room here")
		}
		lines = append(lines, l)
	}
	return widget.Box(t, lines, min(width-4, columnsWidth), height, false)
}
