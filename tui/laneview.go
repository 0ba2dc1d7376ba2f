package tui

import (
	"fmt"
	"slices"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
)

// laneView draws lanes into lines of some width.
type laneView struct {
	Context
	id     inspect.ID
	window window
	looked time.Time
	// live: the window ends now.
	live bool
	kind inspect.Kind
	// label is how wide the names are; times: there is room for how long each waited and held.
	label int
	times bool
}

// timesWidth is how wide the two columns of times are with the gaps before them.
const timesWidth = 2 * (7 + gap)

// newLaneView lays out a window of that length which ends at some time; zero: now.
func newLaneView(s *laneSource, id inspect.ID, end time.Time, length time.Duration, width int) laneView {
	v := laneView{Context: s.Context, id: id, looked: s.looked(id), live: end.IsZero(), label: 20, times: width >= 100}
	if l := s.Snapshot().Lock(id); l != nil {
		v.kind = l.Kind
	}
	switch {
	case width >= 150:
		v.label = 34
	case width >= 110:
		v.label = 26
	}
	cells := width - margin - v.label - gap - 1
	if v.times {
		cells -= timesWidth
	}
	if v.live {
		end = s.Now()
	}
	v.window = windowTo(end, length, cells)
	return v
}

// in are the lanes of which something is in the window.
func (v *laneView) in(lanes []lane) []*lane {
	var shown []*lane
	for i := range lanes {
		if v.window.shows(&lanes[i]) {
			shown = append(shown, &lanes[i])
		}
	}
	return shown
}

// present is the first lane whose contender holds, else one that waits, else the last one.
func present(lanes []*lane) int {
	for _, state := range []inspect.ContenderState{inspect.Holding, inspect.Pending, inspect.Waiting} {
		if i := slices.IndexFunc(lanes, func(l *lane) bool { return l.present && l.contender.State == state }); i >= 0 {
			return i
		}
	}
	return max(0, len(lanes)-1)
}

// header is the time axis.
func (v *laneView) header() line {
	t, now := v.Theme(), ""
	if v.live {
		now = "now"
	}
	l := line{{blanks(margin), t.Text}}
	l = append(l, line{{"WHO", t.Header}}.align(v.label, false, "")...)
	l = l.add(t.Text, blanks(gap)).add(t.Header, v.window.axis(t.Glyphs.Wall, now))
	if v.times {
		l = l.add(t.Header, fmt.Sprintf("  %7s  %7s", "WAITED", "HELD"))
	}
	return l
}

// row is one lane.
func (v *laneView) row(l *lane, selected bool) line {
	t := v.Theme()
	out := line{{blanks(margin), t.Text}}
	label := v.name(l)
	if selected {
		out = line{{t.Glyphs.Cursor + "  ", t.Holding}}
		label = label.over(v.label, t.Selected)
	}
	out = append(out, label.align(v.label, false, t.Glyphs.Ellipsis)...)
	out = append(out.add(t.Text, blanks(gap)), v.cells(v.window.draw(l, v.looked, v.Now()))...)
	if v.times {
		out = out.add(t.Muted, fmt.Sprintf("  %7s", v.waitTime(l))).add(t.Text, fmt.Sprintf("  %7s", v.heldTime(l)))
	}
	return out
}

// time writes how long something took, to the tenth once it is over: what still goes on is not to flicker.
func (v *laneView) time(d time.Duration, over bool) string {
	if over {
		return describe.Age(d)
	}
	return describe.Seconds(d)
}

// waitTime is how long a lane's contender waited, or has so far.
func (v *laneView) waitTime(l *lane) string {
	d, known := l.waited(v.Now())
	if !known {
		return v.Theme().Glyphs.Dash
	}
	return v.time(d, !l.waits())
}

// heldTime is how long a lane's contender held; of one that held before we looked, at least how long we saw it.
func (v *laneView) heldTime(l *lane) string {
	if l.early {
		end := l.ended
		if l.present {
			end = v.Now()
		}
		return v.Theme().Glyphs.AtLeast + v.time(end.Sub(l.since(v.looked)), !l.present)
	}
	d, known := l.held(v.Now())
	if !known {
		return v.Theme().Glyphs.Dash
	}
	return v.time(d, !l.present)
}

// name is who a lane is of, and how often it was overtaken.
func (v *laneView) name(l *lane) line {
	t := v.Theme()
	s, style := laneSign(v, l), t.Text
	if !l.present {
		style = t.Muted
	}
	mode := ""
	if v.kind == inspect.KindRW {
		mode = "w "
		if l.contender.Mode == recipe.Shared {
			mode = "r "
		}
	}
	var note line
	if l.present && l.contender.Dead {
		note = line{{" gone?", t.Critical}}
	}
	if n := v.overtaken(l); n > 0 {
		note = line{{fmt.Sprintf(" %s%d", t.Glyphs.Warning, n), t.Warning}}
	}
	room := v.label - 2 - len(mode) - note.width()
	name := line{{text.Middle(describe.Owner(l.contender), room, t.Glyphs.Ellipsis), style}}.align(room, false, "")
	return append(append(line{s, {" " + mode, t.Muted}}, name...), note...)
}

// overtaken is how often a later comer was granted while a lane waited: as often as is drawn, or as the observer counted.
func (v *laneView) overtaken(l *lane) int {
	n := len(l.overtaken)
	if h := v.Snapshot().History(v.id); h != nil && l.waits() {
		n = max(n, h.Overtaken[l.contender.Name])
	}
	return n
}

func laneSign(v *laneView, l *lane) span {
	t := v.Theme()
	switch {
	case l.present:
		s, _ := contenderSign(t, l.contender)
		return s
	case l.left:
		return span{t.Glyphs.LaneLeft, t.Muted}
	default:
		return span{t.Glyphs.Free, t.Muted}
	}
}

// cells draws the cells of a lane, those of one kind together.
func (v *laneView) cells(row []cell) line {
	var out line
	for i := 0; i < len(row); {
		j := i
		text := ""
		glyph, style := v.glyph(row[i])
		for ; j < len(row) && row[j] == row[i]; j++ {
			text += glyph
		}
		out = out.add(style, text)
		i = j
	}
	return out
}

func (v *laneView) glyph(c cell) (string, lipgloss.Style) {
	t, g := v.Theme(), v.Theme().Glyphs
	switch c {
	case cellStart:
		return g.LaneStart, t.Faint
	case cellWaiting:
		return g.LaneWait, t.Waiting
	case cellUnclear:
		return g.LaneUnclear, t.Unknown
	case cellHolding:
		return g.LaneHold, t.Holding
	case cellOvertaken:
		return g.Warning, t.Warning
	case cellLeft:
		return g.LaneLeft, t.Muted
	case cellOpen:
		return g.LaneOpen, t.Unknown
	default:
		return " ", t.Text
	}
}

// list draws the lanes from top on.
func (v *laneView) list(lanes []*lane, top, room, cursor int) []line {
	var lines []line
	for i := top; i < min(len(lanes), top+room); i++ {
		lines = append(lines, v.row(lanes[i], i == cursor))
	}
	return lines
}
