package tui

import (
	"slices"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// lines draws the faults, what the selected one will show, and what came of the last, in at most height lines. chosen:
// the keys are for this pane.
func (f *faults) lines(width, height int, chosen bool) []line {
	t := f.Theme()
	list := faultsOf(f.target())
	f.cursor = max(0, min(f.cursor, len(list)-1))
	const below = 3 // what the selected one shows
	after := f.afterLines(width, max(2, height/3))
	room := max(2, min(len(list), height-below-len(after)))
	f.top = max(min(f.top, f.cursor), f.cursor-room+1)
	f.top = max(0, min(f.top, len(list)-room))
	var lines []line
	for i, x := range list[f.top:min(len(list), f.top+room)] {
		lines = append(lines, f.row(x, chosen && f.top+i == f.cursor))
	}
	more(f.Theme(), lines, f.top, len(list), width)
	if height-len(lines)-len(after) > below {
		lines = append(lines, nil)
	}
	selected := &list[f.cursor]
	text, style := selected.shows, t.Muted
	if selected.off != "" {
		text = selected.off
	}
	for _, part := range wrap(text, width-4, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{"   ", t.Text}, {part, style}})
	}
	return append(append(lines, nil), after...)
}

// need is how high the pane is that shows everything, with room for what comes of a fault.
func (f *faults) need() int {
	const shows, after = 4, 7
	return paneHead + len(faultsOf(f.target())) + shows + after
}

func (f *faults) row(x fault, selected bool) line {
	t := f.Theme()
	l := line{{"   ", t.Text}}
	style := t.Text
	switch {
	case selected && x.off == "":
		l, style = line{{t.Glyphs.Cursor + "  ", t.Holding}}, t.Strong
	case selected:
		l, style = line{{t.Glyphs.Cursor + "  ", t.Muted}}, t.Muted
	case x.off != "":
		style = t.Muted
	}
	return append(l, span{x.label, style})
}

// afterLines tell what has happened since the last fault to its lock and that lock's backend.
func (f *faults) afterLines(width, room int) []line {
	t := f.Theme()
	if f.done == "" {
		return nil
	}
	lines := []line{{{" " + f.at.Format("15:04:05") + " ", t.Muted}, {f.done, t.Warning}}}
	numbers := eventsSince(f.Log(), f.first, f.from, room-1)
	if len(numbers) == 0 {
		return append(lines, line{{"   nothing has happened to the lock since", t.Muted}})
	}
	for _, n := range numbers {
		e, note := f.Log().at(n)
		l := line{{" " + e.At.Format("15:04:05") + " ", t.Muted}, eventSign(t, e), {" " + eventWord(e) + "  ", eventSign(t, e).style}}
		switch {
		case e.Kind == inspect.EventHandover && e.Contender != nil:
			l = l.add(t.Muted, note.from+" "+t.Glyphs.Arrow+" ").add(t.Text, describe.Owner(e.Contender))
		case e.Contender != nil:
			l = l.add(t.Text, describe.Owner(e.Contender))
		case e.Finding != nil:
			l = l.add(t.Text, describe.Printable(e.Finding.Rule))
		case e.Backend != nil:
			l = l.add(t.Text, describe.Printable(e.Backend.Name)+" "+string(e.Backend.State))
		}
		if words := tookWords(t, e, note); words != "" {
			l = l.add(t.Muted, "  "+words)
		}
		lines = append(lines, l.cut(width-1, t.Glyphs.Ellipsis))
	}
	return lines
}

// eventsSince are the numbers of n of the events of a lock, and of its backend, from some number on: of the first, that
// show what came of it, and of the newest.
func eventsSince(log *eventLog, first int, lock inspect.ID, n int) []int {
	var found []int
	for i := max(first, log.dropped); i < log.end(); i++ {
		e, _ := log.at(i)
		if e.Lock == lock || e.Backend != nil && e.Backend.Name == lock.Backend {
			found = append(found, i)
		}
	}
	if over := len(found) - n; over > 0 {
		found = slices.Delete(found, (n+1)/2, (n+1)/2+over)
	}
	return found
}
