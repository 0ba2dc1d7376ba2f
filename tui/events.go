package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// events lists what happened, the newest at the bottom, and follows it until somebody moves up.
type events struct {
	Context
	width, height int
	// shown are the numbers of the events that match, and next the first number that was not looked at.
	shown []int
	next  int
	// cursor and top are the numbers of the selected event and of the first in sight; seen is the newest one that was
	// there when following ended.
	cursor, top, seen int
	follow            bool
	// only is the one lock whose events are shown; zero: all.
	only  inspect.ID
	input filterInput
	kinds []string // that the filter names
}

func newEvents(host Context) screen {
	return &events{Context: host, follow: true, input: newFilterInput(newEventWords)}
}

// Open shows a lock's events only when it was that lock's chain that one comes from: where the cursor was on some lock,
// everything is asked for.
func (s *events) Open(p place) {
	switch s.Opener() {
	case "":
		return // gone back to
	case chainScreen, timelineScreen:
		s.only = p.lock
	default:
		s.only = inspect.ID{}
	}
	s.follow = true
	s.again()
}

func (s *events) Crumb() string { return string(eventsScreen) }

func (s *events) SetSize(width, height int) {
	s.width, s.height = width, height
	s.keepInSight()
}

// rows is how many events are in sight, below the summary and the header.
func (s *events) rows() int { return max(1, s.height-2) }

func (s *events) Sight() (at, of, rows int) { return s.place(), len(s.shown), s.rows() }

func (s *events) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.take()
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// take looks at the events that are new and forgets those that the log forgot.
func (s *events) take() {
	s.shown = s.shown[after(s.shown, s.Log().dropped):]
	for n := max(s.next, s.Log().dropped); n < s.Log().end(); n++ {
		e, note := s.Log().at(n)
		if (s.only == inspect.ID{} || e.Lock == s.only) && matchesEvent(s.input.filter, s.kinds, e, note) {
			s.shown = append(s.shown, n)
		}
	}
	s.next = s.Log().end()
	s.keepInSight()
}

// again looks at all events, for another filter. The cursor stays where it was or, where that is not shown, goes on to
// the next one that is.
func (s *events) again() {
	s.shown, s.next = nil, 0
	s.take()
}

// place is the selected event's place among those shown.
func (s *events) place() int { return min(after(s.shown, s.cursor), len(s.shown)-1) }

func (s *events) first() int { return after(s.shown, s.top) }

func (s *events) move(by int) { s.moveTo(s.place() + by) }

// moveTo selects an event; on the last one it follows.
func (s *events) moveTo(at int) {
	last := len(s.shown) - 1
	at = max(0, min(at, last))
	if last < 0 {
		return
	}
	if s.follow && at < last {
		s.seen = s.shown[last]
	}
	s.follow = at == last
	s.cursor = s.shown[at]
	s.keepInSight()
}

func (s *events) keepInSight() {
	if len(s.shown) == 0 {
		return
	}
	last := len(s.shown) - 1
	if s.follow {
		s.cursor = s.shown[last]
	}
	at, rows := s.place(), s.rows()
	s.cursor = s.shown[at]
	top := max(0, min(s.first(), len(s.shown)-rows))
	top = max(min(top, at), at-rows+1)
	s.top = s.shown[top]
}

// fresh is how many events came since following ended.
func (s *events) fresh() int {
	if s.follow {
		return 0
	}
	return len(s.shown) - after(s.shown, s.seen+1)
}

// click selects an event; a click on the selected one opens its lock.
func (s *events) click(msg tea.MouseClickMsg) {
	at := s.first() + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.Y < 2 || at >= len(s.shown):
	case at == s.place():
		s.enter()
	default:
		s.moveTo(at)
	}
}

// selected is the event that the cursor is on; nil when there is none.
func (s *events) selected() *inspect.Event {
	if len(s.shown) == 0 {
		return nil
	}
	e, _ := s.Log().at(s.shown[s.place()])
	return e
}

func (s *events) Selected() subject {
	e := s.selected()
	if e == nil {
		return subject{lock: s.only}
	}
	about := subject{lock: e.Lock}
	if e.Contender != nil {
		about.owner, _ = e.Contender.Identity(e.Lock.Backend)
	}
	return about
}

func (s *events) enter() { openWhere(s, s.selected().Lock, s.selected().Backend) }

func (s *events) Actions() []action {
	none := func() string {
		if s.selected() == nil {
			return "no event is selected"
		}
		return ""
	}
	noLock := func() string {
		if s.Selected().lock == (inspect.ID{}) {
			return "this event is about no lock"
		}
		return ""
	}
	only := action{keys: []string{"o"}, shown: "o", hint: "only this lock", help: "show only the events of the selected one's lock", disabled: noLock, run: do(s.toggle)}
	if s.only != (inspect.ID{}) {
		only.hint, only.help, only.disabled = "all locks", "show the events of all locks again", nil
	}
	list := []action{
		{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: "chain", help: "open the chain of the event's lock", disabled: none, run: do(s.enter)},
		only,
		{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the path, the session, a command... by the terminal (OSC 52)", disabled: noLock, run: s.copy},
	}
	list = slices.Insert(list, 1, s.input.actions("only events with all these words; kind=expired,lost chooses kinds", s.search)...)
	return append(append(list, backAction(s.Context), onePane()), moves(s.move, s.rows)...)
}

// toggle shows one lock's events, or all.
func (s *events) toggle() {
	if s.only != (inspect.ID{}) {
		s.only = inspect.ID{}
	} else {
		s.only = s.Selected().lock
	}
	s.again()
}

func (s *events) search() {
	s.kinds = eventKinds(s.input.text())
	s.again()
}

// copy offers what is known of the event's lock and of who it is about.
func (s *events) copy() tea.Cmd {
	e := s.selected()
	if e == nil {
		return copyMenu(s, s.Snapshot().Lock(s.only), nil)
	}
	return copyMenu(s, s.Snapshot().Lock(e.Lock), e.Contender)
}

func (s *events) Typing() bool { return s.input.open }

// TakeKey types into the filter while it is open.
func (s *events) TakeKey(msg tea.KeyPressMsg) bool {
	return s.input.take(msg, s.move, s.search)
}

// Focus is the lock that the events are restricted to: which ones the others are about changes too fast.
func (s *events) Focus() []inspect.ID {
	if s.only == (inspect.ID{}) {
		return nil
	}
	return []inspect.ID{s.only}
}

func (s *events) Lively() bool { return false }

// summary counts the events and says which are shown.
func (s *events) summary() line {
	t := s.Theme()
	dot := " " + t.Glyphs.Dot + " "
	all := len(s.Log().list)
	left := line{{" " + strings.Replace(describe.Count(all, "event"), fmt.Sprint(all), describe.Thousands(all), 1), t.Strong}}
	if len(s.shown) < all {
		left[0].text = fmt.Sprintf(" %s of %s", describe.Thousands(len(s.shown)), left[0].text[1:])
	}
	if s.only != (inspect.ID{}) {
		left = left.add(t.Muted, dot+"only ").add(t.Waiting, s.only.String())
	}
	if n := s.Log().dropped; n > 0 {
		left = left.add(t.Muted, dot+describe.Thousands(n)+" older forgotten")
	}
	if n := s.Log().missed; n > 0 {
		left = left.add(t.Unknown, dot+describe.Thousands(n)+" missed, too many at once")
	}
	right := line{{"newest below ", t.Muted}}
	switch n := s.fresh(); {
	case s.input.open:
		right = s.input.view(t)
	case n > 0:
		right = line{{t.Glyphs.Down + " " + describe.Thousands(n) + " new", t.Waiting}, {dot + "G follows ", t.Muted}}
	case !s.follow && len(s.shown) > 0:
		right = line{{"stopped" + dot + "G follows ", t.Muted}}
	case s.input.text() != "":
		right = s.input.view(t)
	}
	return keepRight(left, right, s.width, t.Glyphs.Ellipsis)
}
