package events

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen lists the events, the newest last. It follows the newest until the user moves up.
type Screen struct {
	screen.Context
	width, height int
	// Shown lists the numbers of matching events. next is the first number not yet checked.
	Shown []int
	next  int
	// dropped is the log's last known count of dropped events.
	dropped int
	// Cursor and top are the numbers of the selected and the first visible event. seen is the
	// newest event when following ended.
	Cursor, top, seen int
	Follow            bool
	// Only is the lock whose events are shown; zero means all. from is the lock that was selected
	// before this screen opened, until the cursor moves.
	Only, from inspect.ID
	input      screen.FilterInput
	kinds      []string // named by the filter
	// window is the maximum age of shown events; 0 means that all are shown.
	window time.Duration
	// columns fit the events that are visible now, or were before.
	columns []widget.Column
	needs   needs
	// domain is left out of all names; empty if full names fit.
	domain string
	// terse is set if the times are shortened for the names.
	terse bool
	// groups are the events that represent others of the same lock and kind; nil unless grouping
	// is on.
	groups map[groupKey]*group
}

type groupKey struct {
	lock inspect.ID
	word string
}

// group holds the number of its newest event, and the count of its events.
type group struct{ newest, count int }

func New(host screen.Context) screen.Screen {
	s := &Screen{Context: host, Follow: true, input: screen.NewFilterInput(newEventWords)}
	s.input.Move, s.input.Changed = s.move, s.search
	return s
}

// Open shows one lock's events if it was opened from that lock's chain, else all.
func (s *Screen) Open(p screen.Place, _ screen.SnapshotMsg) tea.Cmd {
	switch s.OpenedFrom() {
	case "": // after going back
		s.catchUp()
		return nil
	case screen.Chain, screen.Timeline:
		s.Only = p.Lock
	default:
		s.Only = inspect.ID{}
	}
	s.from, s.Follow, s.window = p.Lock, true, 0
	s.refilter()
	return nil
}

func (s *Screen) Title() string { return string(screen.Events) }

func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.keepInSight()
	s.measure()
	s.columns = s.layOut()
}

// rows is the number of events that fit below the summary and the header.
func (s *Screen) rows() int { return max(1, s.height-2) }

// ScrollPosition has no position while following the newest events, since the summary then has
// the count.
func (s *Screen) ScrollPosition() (at, of, rows int) {
	if s.Follow {
		return 0, 0, s.rows()
	}
	return s.row(), len(s.Shown), s.rows()
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.catchUp()
	case screen.TickMsg:
		if s.window > 0 {
			s.refilter()
		}
	case tea.MouseWheelMsg:
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// catchUp checks the new events and drops those that the log has dropped.
func (s *Screen) catchUp() {
	if s.next > s.Log().End() { // an earlier moment is drawn
		s.Shown, s.next = nil, 0
	}
	log := s.Log()
	if s.dropped != log.Dropped {
		s.dropped = log.Dropped
		s.Shown = slices.DeleteFunc(s.Shown, func(n int) bool {
			e, _ := log.At(n)
			return e == nil
		})
	}
	for i := log.Place(s.next); i < len(log.List); i++ {
		n := log.Number(i)
		e, note := log.At(n)
		if s.about(*e) && s.recent(e) && matchesEvent(s.input.Filter, s.kinds, e, note) {
			s.regroup(e, n)
			s.Shown = append(s.Shown, n)
		}
	}
	s.next = log.End()
	s.keepInSight()
}

// refilter checks all events after the filter changed. The cursor stays, or moves on to the next
// event that is shown.
func (s *Screen) refilter() {
	s.Shown, s.next = nil, 0
	clear(s.groups)
	s.catchUp()
}

// about reports whether an event is of the lock that the list is limited to.
func (s *Screen) about(e inspect.Event) bool { return s.Only == inspect.ID{} || e.Lock == s.Only }

func (s *Screen) recent(e *inspect.Event) bool {
	return s.window == 0 || s.Now().Sub(e.At) <= s.window
}

// regroup makes e the representative of its group.
func (s *Screen) regroup(e *inspect.Event, n int) {
	if s.groups == nil {
		return
	}
	key := groupKey{e.Lock, screen.EventWord(e)}
	if e.Finding != nil {
		key.word += " " + e.Finding.Rule
	}
	g := s.groups[key]
	if g == nil {
		g = &group{}
		s.groups[key] = g
	} else if at, ok := slices.BinarySearch(s.Shown, g.newest); ok {
		s.Shown = slices.Delete(s.Shown, at, at+1)
		if s.Cursor == g.newest {
			s.Cursor = n
		}
	}
	g.newest, g.count = n, g.count+1
}

// counted is the number of events that the given one represents.
func (s *Screen) counted(n int) int {
	for _, g := range s.groups {
		if g.newest == n {
			return g.count
		}
	}
	return 1
}

// row is the index of the selected event among those shown.
func (s *Screen) row() int { return min(screen.After(s.Shown, s.Cursor), len(s.Shown)-1) }

func (s *Screen) first() int { return screen.After(s.Shown, s.top) }

func (s *Screen) move(by int) { s.moveTo(s.row() + by) }

// moveTo selects an event. On the last one, the screen follows.
func (s *Screen) moveTo(at int) {
	last := len(s.Shown) - 1
	at = max(0, min(at, last))
	if last < 0 {
		return
	}
	if s.Follow && at < last {
		s.seen = s.Shown[last]
	}
	s.Follow, s.from = at == last, inspect.ID{}
	s.Cursor = s.Shown[at]
	s.keepInSight()
}

func (s *Screen) keepInSight() {
	if len(s.Shown) == 0 {
		return
	}
	last := len(s.Shown) - 1
	if s.Follow {
		s.Cursor = s.Shown[last]
	}
	list := widget.Scroller{Top: s.first()}
	list.To(s.row(), len(s.Shown), s.rows())
	s.Cursor, s.top = s.Shown[list.At], s.Shown[list.Top]
}

// since is the time from which all events of the shown locks are kept; zero if no event was
// dropped.
func (s *Screen) since() time.Time {
	from, _ := s.Log().CompleteFrom(s.Only)
	return from
}

// fresh counts the events below the window since following ended.
func (s *Screen) fresh() int {
	if s.Follow {
		return 0
	}
	return max(0, len(s.Shown)-max(screen.After(s.Shown, s.seen+1), s.first()+s.rows()))
}

// click selects an event; a click on the selected one opens its lock.
func (s *Screen) click(msg tea.MouseClickMsg) {
	at := s.first() + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.Y < 2 || at >= len(s.Shown):
	case at == s.row():
		s.enter()
	default:
		s.moveTo(at)
	}
}

// Current is the selected event; nil if none.
func (s *Screen) Current() *inspect.Event {
	if len(s.Shown) == 0 {
		return nil
	}
	e, _ := s.Log().At(s.Shown[s.row()])
	return e
}

// Moment is when the selected event happened.
func (s *Screen) Moment() time.Time {
	if e := s.Current(); e != nil {
		return e.At
	}
	return time.Time{}
}

// Unchosen reports whether the cursor follows the newest event, of whichever lock.
func (s *Screen) Unchosen() bool { return s.Follow && s.Only == inspect.ID{} }

// Selected is about the event under the cursor. Until the user moves it or filters, it is the
// previously selected lock, since the newest event changes by itself.
func (s *Screen) Selected() screen.Subject {
	if s.from != (inspect.ID{}) {
		return screen.Subject{Lock: s.from}
	}
	e := s.Current()
	if e == nil {
		return screen.Subject{Lock: s.Only}
	}
	about := screen.Subject{Lock: e.Lock}
	if e.Contender != nil {
		about.Owner, _ = e.Contender.Identity(e.Lock.Backend)
	}
	return about
}

func (s *Screen) enter() { screen.OpenWhere(s, s.Current().Lock, s.Current().Backend) }

func (s *Screen) Actions() []screen.Action {
	none := func() string {
		if s.Current() == nil {
			return "no event is selected"
		}
		return ""
	}
	noLock := func() string {
		if s.Selected().Lock == (inspect.ID{}) {
			return "this event has no lock"
		}
		return ""
	}
	only := screen.Action{
		Keys: []string{"o"}, Shown: "o", Hint: "lock", Help: "show only the events of the selected event's lock",
		Disabled: noLock, Run: screen.Do(s.toggle),
	}
	if s.Only != (inspect.ID{}) {
		only.Hint, only.Help, only.Disabled = "all locks", "show the events of all locks again", nil
	}
	list := []screen.Action{
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: "chain",
			Help: "open the chain of the event's lock", Disabled: none, Run: screen.Do(s.enter),
		},
		only,
		{
			Keys: []string{"w"}, Shown: "w", Hint: "2m/10m/all",
			Help: "show the last 2 minutes, the last 10, or all", Run: screen.Do(s.turnWindow),
		},
		{
			Keys: []string{"p"}, Shown: "p", Hint: "group",
			Help: "group: one row per lock and kind of event, with a count", Run: screen.Do(s.group),
		},
		screen.BackAction(s.Context),
		{
			Keys: []string{"y"}, Shown: "y", Hint: "copy", Late: true, Help: "copy path, session, command... (OSC 52)",
			Disabled: noLock, Run: s.copy,
		},
	}
	list = slices.Insert(list, 1,
		s.input.Actions("filter: show only events that have all these words; kind=trouble: findings and lost locks")...)
	return append(append(list, screen.OnePane()), screen.Moves(s.move, s.rows)...)
}

// turnWindow limits the events to 2 minutes, then to 10, then not at all.
func (s *Screen) turnWindow() {
	switch s.window {
	case 0:
		s.window = 2 * time.Minute
	case 2 * time.Minute:
		s.window = 10 * time.Minute
	default:
		s.window = 0
	}
	s.refilter()
}

func (s *Screen) group() {
	if s.groups == nil {
		s.groups = make(map[groupKey]*group)
	} else {
		s.groups = nil
	}
	s.refilter()
}

// toggle switches between one lock's events and all.
func (s *Screen) toggle() {
	if s.Only != (inspect.ID{}) {
		s.Only = inspect.ID{}
	} else {
		s.Only = s.Selected().Lock
	}
	s.refilter()
}

func (s *Screen) search() {
	s.kinds, s.from = eventKinds(s.input.Text()), inspect.ID{}
	s.refilter()
}

// copy offers texts about the event's lock and contender.
func (s *Screen) copy() tea.Cmd {
	e := s.Current()
	if e == nil {
		return screen.CopyMenu(s, s.Snapshot().Lock(s.Only), nil)
	}
	return screen.CopyMenu(s, s.Snapshot().Lock(e.Lock), e.Contender)
}

// Input is the filter of the list.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

// Focus is the lock that the events are limited to. Without a limit it is empty, since the
// events' locks change too fast.
func (s *Screen) Focus() []inspect.ID {
	if s.Only == (inspect.ID{}) {
		return nil
	}
	return []inspect.ID{s.Only}
}

func (s *Screen) NeedsFastTick() bool { return false }

// summary counts the events and says which are shown.
func (s *Screen) summary() widget.Line {
	t := s.Theme()
	dot := " " + t.Glyphs.Dot + " "
	all := len(s.Log().List)
	found := widget.Line{{
		fmt.Sprintf("%s of %s", describe.Thousands(len(s.Shown)),
			strings.Replace(describe.Count(all, "event"), fmt.Sprint(all), describe.Thousands(all), 1)),
		t.Strong,
	}}
	if l := s.input.Prompt(t, "words, or kind=trouble for findings and lost locks", found, s.width); l != nil {
		return l
	}
	left := widget.Line{{
		" " + strings.Replace(describe.Count(all, "event"), fmt.Sprint(all), describe.Thousands(all), 1), t.Strong,
	}}
	if len(s.Shown) < all {
		left[0].Text = fmt.Sprintf(" %s of %s", describe.Thousands(len(s.Shown)), left[0].Text[1:])
	}
	if s.Only != (inspect.ID{}) {
		left = left.Add(t.Muted, dot+"only ").Add(t.Waiting, s.Only.String())
	}
	if s.window > 0 {
		left = left.Add(t.Waiting, dot+describe.Last(s.window))
		if from := s.since(); s.Now().Sub(from) < s.window {
			left = left.Add(t.Unknown, dot+"older than "+describe.Clock(from)+" not kept")
		}
	}
	if s.groups != nil {
		left = left.Add(t.Waiting, dot+"grouped")
	}
	if n := s.Log().Dropped; n > 0 && s.window == 0 {
		left = left.Add(t.Muted, dot+describe.Thousands(n)+" older not kept")
	}
	if n := s.Log().Missed; n > 0 {
		left = left.Add(t.Unknown, dot+describe.Thousands(n)+" missed, too many at once")
	}
	right, filter := widget.Line{{"newest below ", t.Muted}}, s.input.View(t, s.width)
	switch n := s.fresh(); {
	case n > 0:
		right = widget.Line{
			{t.Glyphs.Down + " " + describe.Thousands(n) + " new", t.Waiting}, {dot + "G to follow ", t.Muted},
		}
	case !s.Follow && len(s.Shown) > 0:
		right = widget.Line{{"G to follow ", t.Muted}}
	case filter != nil:
		right = nil
	default:
		trouble := append(widget.Line{{" type ", t.Muted}, {"/kind=trouble", t.Key}, {" to see only trouble" + dot, t.Muted}}, right...)
		if left.Width()+trouble.Width() <= s.width {
			right = trouble
		}
	}
	right = append(right, filter...)
	return widget.KeepRight(left, right, s.width, t.Glyphs.Ellipsis)
}
