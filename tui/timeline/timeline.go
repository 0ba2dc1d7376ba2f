package timeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen shows the waits and holds of one lock over time, with one lane per client or per
// attempt, in order of arrival.
type Screen struct {
	screen.Context
	source        lanes.Source
	id            inspect.ID
	width, height int
	drawn         string
	// length is the window's length; 0 means that it fits the lanes. fitted is that length, which
	// never shrinks. end is the window's end by our clock; zero means now.
	length, fitted time.Duration
	end            time.Time
	list           widget.Scroller // of the lanes in the window
	// selected is the lane under the cursor. follow is set while it follows the lock's holder.
	selected lanes.Key
	follow   bool
	holder   holder
	unfolded bool          // each attempt has a lane
	facts    widget.Widest // the height of the selected lane's facts
	ListTop  int           // the line of the view where the lanes start
	room     int           // number of visible lanes
}

// leastWindow is the shortest automatic window.
const leastWindow = 30 * time.Second

func New(host screen.Context) screen.Screen {
	return &Screen{Context: host, source: lanes.NewSource(host)}
}

func (s *Screen) Open(p screen.Place, _ screen.SnapshotMsg) tea.Cmd {
	if p.Lock != (inspect.ID{}) && p.Lock != s.id {
		s.id, s.length, s.fitted = p.Lock, 0, 0
		s.end, s.follow, s.holder = time.Time{}, true, holder{}
	}
	return nil
}

func (s *Screen) Title() string { return string(screen.Timeline) }

// SetSize lays out and draws the screen.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.drawn = s.draw()
}

func (s *Screen) Focus() []inspect.ID { return []inspect.ID{s.id} }

// NeedsFastTick reports whether a cell is shorter than the slow beat.
func (s *Screen) NeedsFastTick() bool {
	return s.end.IsZero() && len(s.lanes()) > 0 && s.LaneView().Window.Step < screen.SlowBeat
}

func (s *Screen) lanes() []lanes.Lane { return s.source.Of(s.id) }

func (s *Screen) LaneView() lanes.View {
	if s.length == 0 {
		s.fitted = max(s.fitted, lanes.Fitting(s.lanes(), s.Now(), leastWindow))
	}
	return lanes.NewView(&s.source, s.id, s.end, cmp.Or(s.length, s.fitted), s.width)
}

// shown returns the lanes in the window, and moves the cursor to the selected one.
func (s *Screen) shown() (lanes.View, []*lanes.Lane) {
	v := s.LaneView()
	list := v.In(s.lanes())
	if !s.unfolded {
		list = s.source.Folded(&v, list)
	}
	s.list.At = min(s.list.At, max(0, len(list)-1))
	if s.follow && len(list) > 0 {
		s.list.At = lanes.Present(list)
		if key := lanes.KeyOf(list[s.list.At].Contender); s.holder.calm(key, s.Now()) {
			s.selected = key
		}
	}
	for i, l := range list {
		if l.Is(s.selected) || l.Present && l.Contender.Name == s.selected.Name {
			s.list.At = i
		}
	}
	return v, list
}

// holder is the lane that has the lock, and the time of its grant.
type holder struct {
	key   lanes.Key
	since time.Time
}

// often is the time between handoffs below which the cursor stays with a client.
const often = 2 * time.Second

// calm reports whether the lock changes hands slowly enough for the cursor to follow.
func (h *holder) calm(key lanes.Key, now time.Time) bool {
	calm := now.Sub(h.since).Abs() >= often
	if key.Name != h.key.Name {
		h.key, h.since = key, now
	}
	return calm
}

// Selected is the lock, and the owner of the lane that the user chose.
func (s *Screen) Selected() screen.Subject {
	about := screen.Subject{Lock: s.id}
	if _, list := s.shown(); !s.follow && s.list.At < len(list) {
		about.Owner, _ = list[s.list.At].Contender.Identity(s.id.Backend)
	}
	return about
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.HiddenMsg:
		s.source.Forget()
	case tea.MouseWheelMsg:
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		if at := msg.Y - s.ListTop; at >= 0 && at < s.room {
			s.shown()
			s.move(s.list.Top + at - s.list.At)
		}
	}
	return nil
}

func (s *Screen) move(by int) {
	_, list := s.shown()
	if len(list) == 0 {
		return
	}
	s.follow, s.list.At = false, max(0, min(s.list.At+by, len(list)-1))
	s.selected = lanes.KeyOf(list[s.list.At].Contender)
}

func (s *Screen) page() int { return max(1, s.room-1) }

func (s *Screen) Actions() []screen.Action {
	list := []screen.Action{
		screen.BackAction(s.Context),
		{
			Keys: []string{"("}, Shown: "()", Hint: "earlier/later", Help: "move the window in time",
			Disabled: s.nothing, Run: screen.Do(func() { s.seek(-1) }),
		},
		{Keys: []string{")"}, Disabled: s.nothing, Run: screen.Do(func() { s.seek(1) })},
		{
			Keys: []string{"+", "="}, Shown: "+/-", Hint: "zoom", Help: "a shorter or longer window, from 10 s to 1 h",
			Disabled: s.nothing, Run: screen.Do(func() { s.zoom(-1) }),
		},
		{Keys: []string{"-", "_"}, Disabled: s.nothing, Run: screen.Do(func() { s.zoom(1) })},
		{
			Keys: []string{"0", "end"}, Shown: "0 end", Hint: "now", Late: true,
			Help: "back to now, following the holder", Disabled: s.nothing, Run: screen.Do(s.live),
		},
		screen.TicketAction(s, func() (ticket.Ticket, bool) { return screen.LockTicket(s, s.id, nil) }),
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: "chain", Help: "open the lock's queue",
			Disabled: s.nothing, Run: screen.Do(func() { s.Go(screen.Chain, s.Selected()) }),
		},
		{
			Keys: []string{"p"}, Shown: "p", Hint: "attempts", Late: true,
			Help: "one lane per client, or one per attempt", Run: screen.Do(s.fold),
		},
		screen.OnePane(),
	}
	return append(list, screen.Moves(s.move, s.page)...)
}

// fold switches between one lane per client and one per attempt.
func (s *Screen) fold() {
	s.unfolded = !s.unfolded
	if s.Flash("one lane per client"); s.unfolded {
		s.Flash("one lane per attempt")
	}
}

func (s *Screen) nothing() string {
	if s.id == (inspect.ID{}) {
		return "no lock is selected"
	}
	return ""
}

// seek moves the window by quarters of its length, but not past the first known moment or now.
func (s *Screen) seek(quarters int) {
	v := s.LaneView()
	length, end := v.Length, s.end
	if end.IsZero() {
		if quarters > 0 {
			s.Flash("already at the present")
			return
		}
		end = s.Now()
	}
	s.fix(length)
	end = end.Add(time.Duration(quarters) * length / 4)
	if first := s.first().Add(length / 4); end.Before(first) {
		if end = first; !s.end.IsZero() && !first.Before(s.end) || !first.Before(s.Now()) {
			s.Flash("no data before this")
			return
		}
	}
	s.end = end
	if !end.Before(s.Now()) {
		s.end = time.Time{}
	}
}

// fix stops the window's length from adapting to the lock.
func (s *Screen) fix(length time.Duration) {
	s.length = cmp.Or(s.length, length)
}

// first is the earliest moment for which anything is known.
func (s *Screen) first() time.Time {
	first := s.source.Looked(s.id)
	for _, l := range s.lanes() {
		if at := l.Arrival(); !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// zoom switches to the next shorter or longer window. It keeps the middle unless the window ends
// now.
func (s *Screen) zoom(by int) {
	before := s.LaneView().Length
	all, at := lanes.Lengths(), 0
	for i, d := range all {
		if d <= before {
			at = i
		}
	}
	next := at + by
	if next < 0 || next >= len(all) {
		s.Flash("a window is from 10 s to 1 h long")
		return
	}
	s.length = all[next]
	if !s.end.IsZero() {
		if s.end = s.end.Add((s.length - before) / 2); !s.end.Before(s.Now()) {
			s.end = time.Time{}
		}
	}
}

func (s *Screen) live() {
	if s.end.IsZero() && s.follow {
		s.Flash("already at the present")
	}
	s.end, s.follow, s.fitted = time.Time{}, true, 0
}

// View is exactly as high as the screen, as drawn by SetSize.
func (s *Screen) View() string { return s.drawn }

func (s *Screen) draw() string {
	t := s.Theme()
	if s.id == (inspect.ID{}) {
		return s.finish([]widget.Line{{{
			" No lock is selected: choose one in the list of locks, then press t.", t.Muted,
		}}})
	}
	v, list := s.shown()
	lines := s.head(&v)
	if !s.low() {
		lines = append(append(lines, s.figures()...), nil)
	}
	below := s.below(&v, list, len(lines)+1)
	s.room = max(1, s.height-len(lines)-1-len(below))
	lines = append(lines, v.Header())
	s.ListTop = len(lines)
	if len(list) == 0 {
		lines = append(lines, widget.Line{{"   " + s.emptiness(&v), t.Muted}})
	} else {
		if s.follow {
			s.list.Center(s.list.At, len(list), s.room)
		} else {
			s.list.To(s.list.At, len(list), s.room)
		}
		rows := v.List(list, s.list, s.room)
		widget.More(t, rows, s.list.Top, len(list), s.width)
		lines = append(lines, rows...)
	}
	for len(lines) < s.height-len(below) {
		lines = append(lines, nil)
	}
	return s.finish(append(lines, below...))
}

// low reports whether there is room for little more than the lanes, which then get all of it.
func (s *Screen) low() bool { return s.height < lowScreen }

// lowScreen is the height from which there is room for figures, the legend and gaps.
const lowScreen = 12

func (s *Screen) finish(lines []widget.Line) string {
	out := make([]string, 0, s.height)
	for _, l := range lines[:min(len(lines), s.height)] {
		out = append(out, l.Render(s.width, s.Theme().Glyphs.Ellipsis, nil))
	}
	for len(out) < s.height {
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

// head is the lock, the window's time, and the holder.
func (s *Screen) head(v *lanes.View) []widget.Line {
	t, w := s.Theme(), &v.Window
	left := widget.Line{{" " + s.id.String(), t.Strong}}
	l := s.Snapshot().Lock(s.id)
	if l != nil {
		left = left.Add(t.Muted, "  "+describe.KindOf(l))
		if l.Recipe != "" {
			left = left.Add(t.Muted, " "+t.Glyphs.Dot+" "+l.Recipe)
		}
	}
	right := widget.Line{{" " + describe.Last(v.Length.Round(time.Second)) + " ", t.Muted}}
	switch {
	case v.Live && s.Context.Live():
		right = append(widget.Line{{" live ", t.Badge}}, right...)
	case !v.Live:
		right = widget.Line{
			{" " + describe.Clock(w.From) + " " + t.Glyphs.Dash + " " + describe.Clock(w.End()) + " ", t.BadgeWarning},
			{" 0: now ", t.Muted},
		}
	}
	if left.Width()+widget.Gap+right.Width() > s.width {
		left = left[:1] // drop the lock's kind rather than its name
	}
	lines := []widget.Line{widget.KeepRight(left, right, s.width, t.Glyphs.Ellipsis)}
	if l == nil {
		return append(lines, widget.Line{{" " + t.Glyphs.Unknown + " its servers do not list it", t.Unknown}})
	}
	mark := screen.Sign(t, l)
	standing := widget.Line{
		{" " + mark.Text + " ", mark.Style}, {s.Theme().Glyphs.Translate(screen.Ages(s).Standing(l)), t.Text},
	}
	standing = standing.LeaveOut(describe.SharedDomain(s.Snapshot()), s.width-1)
	return append(lines, standing.Cut(s.width-1, t.Glyphs.Ellipsis))
}

// emptiness is the reason why there are no lanes.
func (s *Screen) emptiness(v *lanes.View) string {
	switch {
	case len(s.lanes()) > 0:
		return "No holder and no waiter in this time."
	case s.Snapshot().Lock(s.id) == nil:
		return "It has not been seen."
	default:
		return fmt.Sprintf("No holder and no waiter in the %s since watching began.",
			describe.Seconds(s.Now().Sub(v.Looked)))
	}
}
