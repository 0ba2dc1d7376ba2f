package lab

import (
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// below is the number of lines kept for the selected fault's effect.
const below = 3

// room is the number of visible faults.
func (f *faults) room(width, height int) int {
	return max(2, min(len(faultsOf(f.target())), height-below-len(f.afterLines(width, max(2, height/3)))))
}

// setSize keeps the cursor visible.
func (f *faults) setSize(width, height int) {
	f.list.To(f.list.At, len(faultsOf(f.target())), f.room(width, height))
}

// lines draws the faults, the expected effect of the selected one, and the result of the last
// one, in at most height lines. chosen is set if the pane has the focus.
func (f *faults) lines(width, height int, chosen bool) []widget.Line {
	t := f.Theme()
	list := faultsOf(f.target())
	after := f.afterLines(width, max(2, height/3))
	from, to := f.list.Visible(len(list), f.room(width, height))
	var lines []widget.Line
	for i, x := range list[from:to] {
		lines = append(lines, f.row(x, chosen && from+i == f.list.At))
	}
	widget.More(f.Theme(), lines, from, len(list), width)
	if height-len(lines)-len(after) > below {
		lines = append(lines, nil)
	}
	selected := &list[max(0, min(f.list.At, len(list)-1))]
	text, style := selected.shows, t.Muted
	if selected.off != "" {
		text = selected.off
	}
	for _, part := range widget.Wrap(text, width-4, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{"   ", t.Text}, {part, style}})
	}
	return append(append(lines, nil), after...)
}

// need is the height that shows everything, with room for a fault's outcome.
func (f *faults) need() int {
	const shows, after = 4, 7
	return paneHead + len(faultsOf(f.target())) + shows + after
}

func (f *faults) row(x fault, selected bool) widget.Line {
	t := f.Theme()
	l := widget.Line{{"   ", t.Text}}
	style := t.Text
	switch {
	case selected && x.off == "":
		l, style = widget.Line{{t.Glyphs.Cursor + "  ", t.Holding}}, t.Strong
	case selected:
		l, style = widget.Line{{t.Glyphs.Cursor + "  ", t.Muted}}, t.Muted
	case x.off != "":
		style = t.Muted
	}
	return append(l, widget.Span{x.label, style})
}

// afterLines are the events on the fault's lock and its backend since the last fault.
func (f *faults) afterLines(width, room int) []widget.Line {
	t := f.Theme()
	if f.done == "" {
		return nil
	}
	lines := []widget.Line{{{" " + describe.Clock(f.at) + " ", t.Muted}, {f.done, t.Warning}}}
	numbers := eventsSince(f.Log(), f.first, f.from, room-1)
	if len(numbers) == 0 {
		return append(lines, widget.Line{{"   nothing has happened to the lock since", t.Muted}})
	}
	for _, n := range numbers {
		e, note := f.Log().At(n)
		l := widget.Line{
			{" " + describe.Clock(e.At) + " ", t.Muted},
			screen.EventSign(t, e),
			{" " + screen.EventWord(e) + "  ", screen.EventSign(t, e).Style},
		}
		switch {
		case e.Kind == inspect.EventHandover && e.Contender != nil:
			l = l.Add(t.Muted, note.From+" "+t.Glyphs.Arrow+" ").Add(t.Text, describe.Owner(e.Contender))
		case e.Contender != nil:
			l = l.Add(t.Text, describe.Owner(e.Contender))
		case e.Finding != nil:
			l = l.Add(t.Text, describe.Printable(e.Finding.Rule))
		case e.Backend != nil:
			l = l.Add(t.Text, describe.Printable(e.Backend.Name)+" "+string(e.Backend.State))
		}
		if words := screen.TookWords(t, e, note); words != "" {
			l = l.Add(t.Muted, "  "+words)
		}
		lines = append(lines, l.Cut(width-1, t.Glyphs.Ellipsis))
	}
	return lines
}

// eventsSince returns the numbers of up to n events of a lock and its backend, from first on. If
// there are more, it keeps the first ones, which show the immediate effects, and the newest.
func eventsSince(log *screen.EventLog, first int, lock inspect.ID, n int) []int {
	var found []int
	for i := log.Place(first); i < len(log.List); i++ {
		e := &log.List[i]
		if e.Lock == lock || e.Backend != nil && e.Backend.Name == lock.Backend {
			found = append(found, log.Number(i))
		}
	}
	if over := len(found) - n; over > 0 {
		found = slices.Delete(found, (n+1)/2, (n+1)/2+over)
	}
	return found
}
