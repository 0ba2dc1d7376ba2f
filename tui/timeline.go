package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// timeline shows who waited for and held one lock when: a lane a contender, in the order in which they came.
type timeline struct {
	Context
	source        laneSource
	id            inspect.ID
	width, height int
	// length of the window; 0: what fits the lock. end is where it ends; zero: now.
	length time.Duration
	end    time.Time
	// top is the first lane shown, cursor the selected one of those in the window, and selected which it is; follow:
	// whoever holds the lock.
	top, cursor int
	selected    laneKey
	follow      bool
	listTop     int  // the line of the view where the lanes start
	room        int  // how many lanes there is room for
	arrowsTaken bool // they change the scene
}

// leastWindow is the shortest window that is chosen for a lock.
const leastWindow = 30 * time.Second

func newTimeline(host Context, arrowsTaken bool) screen {
	return &timeline{Context: host, source: newLaneSource(host), follow: true, arrowsTaken: arrowsTaken}
}

func (s *timeline) Open(p place) {
	if p.lock == (inspect.ID{}) || p.lock == s.id {
		return
	}
	s.id, s.length, s.end, s.top, s.follow = p.lock, 0, time.Time{}, 0, true
}

func (s *timeline) Crumb() string { return string(timelineScreen) }

func (s *timeline) SetSize(width, height int) { s.width, s.height = width, height }

func (s *timeline) Focus() []inspect.ID { return []inspect.ID{s.id} }

// Lively says that a cell is worth less than the slow beat.
func (s *timeline) Lively() bool {
	return s.end.IsZero() && len(s.lanes()) > 0 && s.view().window.step < slowBeat
}

func (s *timeline) lanes() []lane { return s.source.of(s.id) }

func (s *timeline) view() laneView {
	if s.length == 0 {
		return newLaneView(&s.source, s.id, s.end, fitting(s.lanes(), s.Now(), leastWindow), s.width)
	}
	return newLaneView(&s.source, s.id, s.end, s.length, s.width)
}

// shown are the lanes in the window; the cursor is put on the selected one.
func (s *timeline) shown() (laneView, []*lane) {
	v := s.view()
	list := v.in(s.lanes())
	s.cursor = min(s.cursor, max(0, len(list)-1))
	if s.follow {
		s.cursor = present(list)
		return v, list
	}
	for i, l := range list {
		if keyOf(l.contender) == s.selected || l.present && l.contender.Name == s.selected.name {
			s.cursor = i
		}
	}
	return v, list
}

// Selected is the lock and who the selected lane is of.
func (s *timeline) Selected() subject {
	about := subject{lock: s.id}
	if _, list := s.shown(); s.cursor < len(list) {
		about.owner, _ = list[s.cursor].contender.Identity(s.id.Backend)
	}
	return about
}

func (s *timeline) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		if s.InFront() != timelineScreen {
			s.source.forget()
		}
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		if at := msg.Y - s.listTop; at >= 0 && at < s.room {
			s.shown()
			s.move(s.top + at - s.cursor)
		}
	}
	return nil
}

func (s *timeline) move(by int) {
	_, list := s.shown()
	if len(list) == 0 {
		return
	}
	s.follow, s.cursor = false, max(0, min(s.cursor+by, len(list)-1))
	s.selected = keyOf(list[s.cursor].contender)
}

func (s *timeline) page() int { return max(1, s.room-1) }

func (s *timeline) Actions() []action {
	list := []action{
		{keys: []string{"esc"}, shown: "esc", hint: "back", help: "back to where you came from", run: do(s.Back)},
		{keys: []string{"left", "h"}, shown: "hl ←→", hint: "in time", help: "move the window in time", run: do(func() { s.seek(-1) })},
		{keys: []string{"right", "l"}, run: do(func() { s.seek(1) })},
		{keys: []string{"+", "="}, shown: "+/-", hint: "zoom", help: "a shorter or longer window, from 10 s to 1 h", run: do(func() { s.zoom(-1) })},
		{keys: []string{"-", "_"}, run: do(func() { s.zoom(1) })},
		{keys: []string{"0", "end"}, shown: "0 end", hint: "now", help: "back to now, following whoever holds it", run: do(s.live)},
		{keys: []string{"enter"}, shown: "enter", hint: "chain", help: "open the lock's queue", disabled: s.nothing, run: do(func() { s.Go(chainScreen, s.Selected()) })},
		{keys: []string{"tab"}, shown: "tab", help: "next pane", disabled: func() string { return "this screen has one pane" }},
	}
	switch {
	case s.arrowsTaken:
		list[1].shown = "hl" // the arrows change the scene
	case s.Theme().Options.ASCII:
		list[1].shown = "hl left right"
	}
	return append(list, moves(s.move, s.page)...)
}

func (s *timeline) nothing() string {
	if s.id == (inspect.ID{}) {
		return "no lock is selected"
	}
	return ""
}

// seek moves the window by a quarter of its length, no further than to the first thing known and to now.
func (s *timeline) seek(quarters int) {
	v := s.view()
	length := v.window.step * time.Duration(v.window.cells)
	end := s.end
	if end.IsZero() {
		if quarters > 0 {
			s.Flash("this is now")
			return
		}
		end = s.Now()
	}
	s.fix(length)
	end = end.Add(time.Duration(quarters) * length / 4)
	if first := s.first().Add(length / 4); end.Before(first) {
		if end = first; !s.end.IsZero() && !first.Before(s.end) || !first.Before(s.Now()) {
			s.Flash("nothing is known before this")
			return
		}
	}
	s.end = end
	if !end.Before(s.Now()) {
		s.end = time.Time{}
	}
}

// fix keeps the window's length from following the lock.
func (s *timeline) fix(length time.Duration) {
	if s.length == 0 {
		s.length = length
	}
}

// first is the first instant that something is known of.
func (s *timeline) first() time.Time {
	first := s.source.looked(s.id)
	for _, l := range s.lanes() {
		if at := l.arrival(); !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// zoom takes the next shorter or longer window, around the same middle unless it ends now.
func (s *timeline) zoom(by int) {
	before := s.length
	if before == 0 {
		before = fitting(s.lanes(), s.Now(), leastWindow)
	}
	all, at := lengths(), 0
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

func (s *timeline) live() { s.end, s.follow = time.Time{}, true }

// View is exactly as high as the screen.
func (s *timeline) View() string {
	t := s.Theme()
	if s.id == (inspect.ID{}) {
		return s.finish([]line{{{" No lock is selected: choose one in the list of locks, then press t.", t.Muted}}})
	}
	v, list := s.shown()
	lines := append(s.head(&v), s.figures()...)
	lines = append(lines, nil)
	below := s.below(&v, list)
	s.room = max(1, s.height-len(lines)-1-len(below))
	lines = append(lines, v.header())
	s.listTop = len(lines)
	if len(list) == 0 {
		lines = append(lines, line{{"   " + s.emptiness(&v), t.Muted}})
	} else {
		s.top = max(min(s.top, s.cursor), s.cursor-s.room+1)
		s.top = max(0, min(s.top, len(list)-s.room))
		if s.follow {
			s.top = around(s.cursor, len(list), s.room)
		}
		lines = append(lines, v.list(list, s.top, s.room, s.cursor)...)
	}
	for len(lines) < s.height-len(below) {
		lines = append(lines, nil)
	}
	return s.finish(append(lines, below...))
}

func (s *timeline) finish(lines []line) string {
	out := make([]string, 0, s.height)
	for _, l := range lines[:min(len(lines), s.height)] {
		out = append(out, l.render(s.width, s.Theme().Glyphs.Ellipsis, nil))
	}
	for len(out) < s.height {
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

// head says which lock this is, what time is shown, and who holds it.
func (s *timeline) head(v *laneView) []line {
	t, w := s.Theme(), &v.window
	left := line{{" " + s.id.String(), t.Strong}}
	l := s.Snapshot().Lock(s.id)
	if l != nil {
		left = left.add(t.Muted, "  "+string(l.Kind))
		if l.Recipe != "" {
			left = left.add(t.Muted, " "+t.Glyphs.Dot+" "+l.Recipe)
		}
	}
	length := w.step * time.Duration(w.cells)
	right := line{{" live ", t.Badge}, {" last " + describe.Exact(length.Round(time.Second)) + " ", t.Muted}}
	if !v.live {
		right = line{{" " + w.from.Format("15:04:05") + " " + t.Glyphs.Dash + " " + w.end().Format("15:04:05") + " ", t.BadgeWarning}, {" 0: now ", t.Muted}}
	}
	lines := []line{spread(left.cut(s.width-right.width()-1, t.Glyphs.Ellipsis), right, s.width, "")}
	if l == nil {
		return append(lines, line{{" " + t.Glyphs.Unknown + " its servers do not list it (any more)", t.Unknown}})
	}
	mark := sign(t, l)
	return append(lines, line{{" " + mark.text + " ", mark.style}, {s.Theme().Glyphs.Put(agesOf(s).Standing(l)), t.Text}})
}

// emptiness says why there is no lane.
func (s *timeline) emptiness(v *laneView) string {
	switch {
	case len(s.lanes()) > 0:
		return "Nobody waited for it or held it in this time."
	case s.Snapshot().Lock(s.id) == nil:
		return "Nothing was seen of it."
	default:
		return fmt.Sprintf("Nobody has waited for it or held it in the %s that we have looked.", describe.Seconds(s.Now().Sub(v.looked)))
	}
}
