package events

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// layOut returns the columns of the table. A narrow one has signs for held and waited. Times are
// shorter if the names need the room.
func (s *Screen) layOut() []widget.Column {
	width, lasted := s.width-widget.Margin-1, 13
	if width < wideEvents {
		lasted = 8
	}
	columns := []widget.Column{
		{Title: "TIME", Width: 12},
		{Title: "EVENT", Width: 10},
		{Title: "LOCK", Middle: true, Width: 16, Grow: 4, Most: 60},
		{Title: "WHO", Width: 16, Grow: 6, Most: max(16, s.needs.owner)},
		{Title: "LASTED", Width: lasted, Right: true},
	}
	columns[eventLock].Fit(s.needs.lock)
	if s.groups != nil { // the newest event's length says little about its group
		columns[eventLasted] = widget.Column{Title: "COUNT", Width: 5, Right: true}
	}
	s.terse = s.width < narrowEvents || s.groups != nil || !widget.InFull(columns, width, eventLock, eventWho)
	if s.terse {
		columns[0].Width, columns[1].Width = 9, max(len("EVENT"), s.needs.word)
		if s.groups == nil && width < wideEvents {
			columns[eventLasted].Width = min(lasted, max(len("LASTED"), s.needs.lasted))
		}
		both := widget.InFull(columns, width, eventLock, eventWho)
		if !both {
			columns[eventWho].Most = max(16, s.needs.brief)
		}
		switch {
		case both || widget.InFull(columns, width, eventLock, eventWho):
		case s.needs.lock <= width/3 && widget.InFull(columns, width, eventLock): // WHO takes the rest
		case widget.InFull(columns, width, eventWho):
			widget.Widen(columns, width, eventLock)
		default:
			widget.InFull(columns, width, eventLock)
		}
	}
	columns[eventWho].Domain, s.domain = describe.SharedDomain(s.Snapshot()), ""
	if widget.Lay(columns, width)[eventWho] < s.needs.owner {
		s.domain = columns[eventWho].Domain
	}
	columns[eventWho].Most = max(20, width)
	return columns
}

// narrowEvents is the width below which times are always terse.
const narrowEvents = 60

// wideEvents is the width of the table from which all words fit.
const wideEvents = 100

// The indexes of the columns LOCK, WHO and LASTED.
const eventLock, eventWho, eventLasted = 2, 3, 4

// needs are the largest widths of word, lock, owner and time that were visible. brief is the
// owner without its domain.
type needs struct{ word, lock, owner, brief, lasted int }

// measure computes the room that the visible events need.
func (s *Screen) measure() {
	domain := describe.SharedDomain(s.Snapshot())
	for i := s.first(); i < min(s.first()+s.rows(), len(s.Shown)); i++ {
		e, n := s.Log().At(s.Shown[i])
		if e == nil {
			continue
		}
		s.needs.word = max(s.needs.word, len(screen.EventWord(e)))
		s.needs.lock = max(s.needs.lock, s.lockCell(e).Width())
		_, took, _ := strings.Cut(screen.TookWords(s.Theme(), e, n), " ")
		s.needs.lasted = max(s.needs.lasted, ansi.StringWidth("x "+took))
		if c := e.Contender; c != nil {
			owner := describe.Owner(c)
			if e.Kind == inspect.EventHandover {
				owner = n.From + "   " + owner
			}
			s.needs.owner = max(s.needs.owner, ansi.StringWidth(owner))
			s.needs.brief = max(s.needs.brief, ansi.StringWidth(text.WithoutDomain(owner, domain)))
		}
	}
}

func (s *Screen) View() string {
	t := s.Theme()
	inner := s.width - widget.Margin - 1
	columns := s.columns
	widths := widget.Lay(columns, inner)
	header := append(widget.Line{{"   ", t.Header}}, widget.Titles(columns, widths, t.Header)...)
	lines := []string{
		s.summary().Render(s.width, t.Glyphs.Ellipsis, nil), header.Render(s.width, t.Glyphs.Ellipsis, nil),
	}
	first, at := s.first(), s.row()
	for i := first; i < min(first+s.rows(), len(s.Shown)); i++ {
		e, n := s.Log().At(s.Shown[i])
		l := widget.Line{{" ", t.Text}, screen.EventSign(t, e), {" ", t.Text}}
		over := t.Selected
		if i != at {
			over = nil
		} else {
			l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
		}
		l = append(l, widget.Join(columns, widths, s.eventCells(i, e, n, widths), t.Glyphs.Ellipsis)...)
		lines = append(lines, l.Render(s.width, t.Glyphs.Ellipsis, over))
	}
	if len(s.Shown) == 0 {
		text, more := s.emptyWords()
		for _, l := range widget.Wordy(t, s.width, text, more) {
			lines = append(lines, l.Render(s.width, t.Glyphs.Ellipsis, nil))
		}
	}
	for len(lines) < s.height {
		lines = append(lines, "")
	}
	return strings.Join(lines[:max(1, s.height)], "\n")
}

// eventCells returns the cells of the i-th shown event.
func (s *Screen) eventCells(i int, e *inspect.Event, n *screen.EventNote, widths []int) []widget.Line {
	t := s.Theme()
	cells := []widget.Line{
		s.timeCell(e),
		{{screen.EventWord(e), screen.EventSign(t, e).Style}},
		s.lockCell(e), nil,
		nil, // empty: the cell before it may run on
	}
	words, room := screen.TookWords(t, e, n), widths[eventWho]
	if s.groups != nil {
		words = describe.Thousands(s.counted(s.Shown[i]))
	}
	if words == "" && widths[eventLasted] > 0 { // the names may run on
		room += widget.Gap + widths[eventLasted]
	}
	cells[eventWho] = s.whoCell(e, n, room)
	if words == "" {
		return cells
	}
	cells[eventLasted] = widget.Line{{words, t.Text}}
	if s.groups == nil && widths[eventLasted] < len("waited 59m59s") {
		sign := widget.Span{t.Glyphs.Waiting, t.Waiting}
		if strings.HasPrefix(words, "held") {
			sign = widget.Span{t.Glyphs.Holding, t.Holding}
		}
		_, took, _ := strings.Cut(words, " ")
		if ansi.StringWidth(sign.Text+" "+took) <= widths[eventLasted] {
			took = " " + took
		}
		cells[eventLasted] = widget.Line{sign, {took, t.Text}}
	}
	return cells
}

// timeCell is the time by our clock, or its upper bound. A distant one has its date.
func (s *Screen) timeCell(e *inspect.Event) widget.Line {
	t, at := s.Theme(), e.At
	if e.Unseen() {
		return widget.Line{{t.Glyphs.AtMost + describe.Clock(at), t.Muted}}
	}
	if describe.Distant(at, s.Now()) {
		if s.terse {
			return widget.Line{{at.Format("Jan 02"), t.Muted}}
		}
		return widget.Line{{at.Format("Jan 02 15:04"), t.Muted}}
	}
	if s.terse {
		return widget.Line{{describe.Clock(at), t.Text}}
	}
	return widget.Line{{describe.Clock(at), t.Text}, {at.Format(".000"), t.Muted}}
}

func (s *Screen) lockCell(e *inspect.Event) widget.Line {
	t := s.Theme()
	if e.Lock != (inspect.ID{}) {
		return widget.Line{{describe.Printable(e.Lock.Backend) + ":", t.Muted}, {inspect.Escape(e.Lock.Path), t.Text}}
	}
	if e.Backend != nil {
		return widget.Line{{describe.Printable(e.Backend.Name), t.Text}}
	}
	return nil
}

// name is a client's name, in the same form on all rows.
func (s *Screen) name(of string) string { return text.WithoutDomain(of, s.domain) }

// whoCell is the contender, finding or server of an event, in at most room cells.
func (s *Screen) whoCell(e *inspect.Event, n *screen.EventNote, room int) widget.Line {
	t := s.Theme()
	switch c := e.Contender; {
	case e.Kind == inspect.EventHandover && c != nil:
		arrow := " " + t.Glyphs.Arrow + " "
		to := s.name(describe.Owner(c))
		half := (room - ansi.StringWidth(arrow)) / 2
		from := screen.Short(s, s.name(n.From), max(half, 2*half-ansi.StringWidth(to)))
		to = screen.Short(s, to, room-ansi.StringWidth(from+arrow))
		return widget.Line{{from, t.Muted}, {arrow, t.Muted}, {to, t.Holding}}
	case c != nil:
		l := widget.Line{{screen.Short(s, s.name(describe.Owner(c)), room), screen.EventSign(t, e).Style}}
		at := describe.Client(&c.Owner)
		if at != "" && at != describe.Owner(c) && l.Width()+2+ansi.StringWidth(at) <= room {
			l = l.Add(t.Muted, "  "+at)
		}
		return l
	case e.Finding != nil:
		return widget.Line{
			{describe.Printable(e.Finding.Rule), screen.SeveritySign(t, e.Finding.Severity).Style},
			{"  " + screen.Say(t, e.Finding.Message), t.Text},
		}
	case e.Kind == inspect.EventBlind:
		return widget.Line{{screen.Say(t, describe.Blind(e.Between)), t.Text}}
	case e.Change != nil:
		return widget.Line{{screen.Say(t, describe.Change(e.Change)), t.Text}}
	case e.Backend != nil:
		l := widget.Line{
			{string(e.Backend.State), screen.BackendSign(t, e.Backend.State).Style},
			{" " + t.Glyphs.Dot + " " + string(e.Backend.Mode), t.Muted},
		}
		if text := describe.Trouble(e.Backend); text != "" && e.Backend.State != inspect.Connected {
			l = l.Add(t.Text, "  "+text)
		}
		return l
	default:
		return nil
	}
}

// emptyWords says what the list is limited to, and how to see more.
func (s *Screen) emptyWords() (text, more string) {
	var ways []string
	text = "No events"
	if s.Only != (inspect.ID{}) {
		text += " of " + s.Only.String()
		ways = append(ways, "o shows the events of all locks")
	}
	if s.window > 0 {
		text += " in the " + describe.Last(s.window)
		if slices.ContainsFunc(s.Log().List, s.about) {
			ways = append(ways, "w shows older ones")
		}
	}
	switch problem := kindProblem(s.input.Text()); {
	case problem != "":
		return "No events match the filter.", problem
	case s.input.Text() != "":
		text, ways = text+" match the filter", slices.Insert(ways, 0, "esc clears the filter")
		if s.input.Open { // it takes the other keys
			ways = ways[:1]
		}
	case !s.Arrived():
		return "Nothing is known yet.", "No server has answered so far."
	case s.window > 0:
	case s.since().IsZero():
		text += " since watching began"
	default:
		text += " since " + describe.Clock(s.since()) + "; older ones are not kept"
	}
	if ways == nil {
		return text + ".", "What is acquired, handed off, released or expires appears here as it happens."
	}
	return text + ".", strings.Join(ways, ", ") + "."
}
