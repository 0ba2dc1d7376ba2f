package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/text"
)

// eventColumns are those of a table of some width. A narrow one leaves it to the event whether somebody held or waited.
func eventColumns(width int) []column {
	lasted := 13
	if width < wideEvents {
		lasted = 8
	}
	return []column{
		{title: "TIME", width: 12},
		{title: "EVENT", width: 11},
		{title: "LOCK", middle: true, width: 16, grow: 4, most: 60},
		{title: "WHO", width: 20, grow: 5, most: max(20, width)},
		{title: "LASTED", width: lasted, right: true},
	}
}

// wideEvents is the table's width from which there is room for all words.
const wideEvents = 100

// The places of WHO and LASTED in the columns.
const eventWho, eventLasted = 3, 4

func (s *events) View() string {
	t := s.Theme()
	inner := s.width - margin - 1
	columns := eventColumns(inner)
	widths := lay(columns, inner)
	lines := []string{
		s.summary().render(s.width, t.Glyphs.Ellipsis, nil),
		append(line{{"   ", t.Header}}, titles(columns, widths, t.Header)...).render(s.width, t.Glyphs.Ellipsis, nil),
	}
	first, at := s.first(), s.place()
	for i := first; i < min(first+s.rows(), len(s.shown)); i++ {
		e, n := s.Log().at(s.shown[i])
		l := line{{" ", t.Text}, eventSign(t, e), {" ", t.Text}}
		over := t.Selected
		if i != at {
			over = nil
		} else {
			l[0] = span{t.Glyphs.Cursor, t.Holding}
		}
		l = append(l, join(columns, widths, s.eventCells(i, e, n, widths), t.Glyphs.Ellipsis)...)
		lines = append(lines, l.render(s.width, t.Glyphs.Ellipsis, over))
	}
	if len(s.shown) == 0 {
		text, more := s.emptyWords()
		for _, l := range []line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}} {
			lines = append(lines, l.render(s.width, t.Glyphs.Ellipsis, nil))
		}
	}
	for len(lines) < s.height {
		lines = append(lines, "")
	}
	return strings.Join(lines[:max(1, s.height)], "\n")
}

// eventCells are the cells of the i-th event shown.
func (s *events) eventCells(i int, e *inspect.Event, n *eventNote, widths []int) []line {
	t := s.Theme()
	cells := []line{
		s.timeCell(e.At),
		{{eventWord(e), eventSign(t, e).style}},
		s.lockCell(e), s.whoCell(e, n, widths[eventWho]),
		nil, // what is said before it may run on
	}
	words := tookWords(t, e, n)
	if narrow := widths[eventLasted] < len("waited 59m59s"); narrow {
		words = words[strings.IndexByte(words, ' ')+1:]
	}
	if words != "" {
		cells[eventLasted] = line{{words, t.Text}}
	}
	return cells
}

// timeCell is the time by our clock. A day that is not today's is named instead.
func (s *events) timeCell(at time.Time) line {
	t := s.Theme()
	if at.YearDay() != s.Now().YearDay() {
		return line{{at.Format("Jan 02 15:04"), t.Muted}}
	}
	return line{{at.Format("15:04:05"), t.Text}, {at.Format(".000"), t.Muted}}
}

func (s *events) lockCell(e *inspect.Event) line {
	t := s.Theme()
	if e.Lock != (inspect.ID{}) {
		return line{{describe.Printable(e.Lock.Backend) + ":", t.Muted}, {inspect.Escape(e.Lock.Path), t.Text}}
	}
	if e.Backend != nil {
		return line{{describe.Printable(e.Backend.Name), t.Text}}
	}
	return nil
}

// whoCell is who it is about, or what. room is how wide it may be.
func (s *events) whoCell(e *inspect.Event, n *eventNote, room int) line {
	t := s.Theme()
	switch c := e.Contender; {
	case e.Kind == inspect.EventHandover && c != nil:
		arrow := " " + t.Glyphs.Arrow + " "
		to := describe.Owner(c)
		half := (room - ansi.StringWidth(arrow)) / 2
		from := text.Middle(n.from, max(half, 2*half-ansi.StringWidth(to)), t.Glyphs.Ellipsis)
		return line{{from, t.Muted}, {arrow, t.Muted}, {text.Middle(to, room-ansi.StringWidth(from+arrow), t.Glyphs.Ellipsis), t.Holding}}
	case c != nil:
		l := line{{text.Middle(describe.Owner(c), room, t.Glyphs.Ellipsis), eventSign(t, e).style}}
		if at := describe.Client(&c.Owner); at != "" && at != describe.Owner(c) && l.width()+2+ansi.StringWidth(at) <= room {
			l = l.add(t.Muted, "  "+at)
		}
		return l
	case e.Finding != nil:
		return line{{describe.Printable(e.Finding.Rule), severitySign(t, e.Finding.Severity).style}, {"  " + said(t, e.Finding.Message), t.Text}}
	case e.Kind == inspect.EventBlind:
		return line{{said(t, describe.Blind(e.Between)), t.Text}}
	case e.Change != nil:
		return line{{said(t, describe.Change(e.Change)), t.Text}}
	case e.Backend != nil:
		l := line{{string(e.Backend.State), backendSign(t, e.Backend.State).style}, {" " + t.Glyphs.Dot + " " + string(e.Backend.Mode), t.Muted}}
		if text := describe.Trouble(e.Backend); text != "" && e.Backend.State != inspect.Connected {
			l = l.add(t.Text, "  "+text)
		}
		return l
	default:
		return nil
	}
}

func (s *events) emptyWords() (text, more string) {
	switch {
	case s.input.text() != "":
		return "No event matches the filter.", "esc shows all of them."
	case s.only != inspect.ID{} && len(s.Log().list) > 0:
		return "Nothing has happened to " + s.only.String() + " while we looked.", "o shows the events of all locks."
	case s.Log().dropped+len(s.Log().list) > 0:
		return "No event is left to show.", ""
	case !s.Arrived():
		return "Nothing is known yet.", "No server has answered so far."
	default:
		return "Nothing has happened since we began to look.", "What is acquired, released, expired or handed over from now on comes here."
	}
}
