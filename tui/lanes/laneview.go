package lanes

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// View draws lanes into lines of some width.
type View struct {
	screen.Context
	id     inspect.ID
	Window Window
	// Length is the minimum time that it shows.
	Length time.Duration
	Looked time.Time
	// Live means that the window ends now.
	Live bool
	kind inspect.Kind
	// label is the width of the names, in cells. times is set if the columns of waits and holds
	// fit.
	label int
	times bool
}

// timesWidth is the width of the two columns of times with the gaps before them, in cells.
const timesWidth = 2 * (7 + widget.Gap)

// NewView lays out a window of the given length and end; a zero end means now.
func NewView(s *Source, id inspect.ID, end time.Time, length time.Duration, width int) View {
	v := View{
		Context: s.Context, id: id, Looked: s.Looked(id), Length: length, Live: end.IsZero(), label: 20,
		times: width >= 100,
	}
	if l := s.Snapshot().Lock(id); l != nil {
		v.kind = l.Kind
	}
	switch {
	case width >= 150:
		v.label = 34
	case width >= 110:
		v.label = 26
	}
	if s.namesOf != id {
		s.namesOf, s.names = id, widget.Widest{}
	}
	v.label = max(v.label, min(s.names.Keep(v.longest(), s.Now()), width/4))
	cells := width - widget.Margin - v.label - widget.Gap - 1
	if v.times {
		cells -= timesWidth
	}
	if v.Live { // now stays in the last cell
		end = s.Now()
	}
	v.Window = WindowTo(end, length, cells)
	return v
}

// marks is the room for a lane's sign, its mode and its marks, in cells.
const marks = 8

// longest is the width of the longest name among the lock's contenders. It only measures the
// queue's head.
func (v *View) longest() (cells int) {
	l := v.Snapshot().Lock(v.id)
	if l == nil {
		return 0
	}
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list[:min(len(list), 20)] {
			cells = max(cells, marks+ansi.StringWidth(describe.Owner(&list[i])))
		}
	}
	return cells
}

// In returns the lanes that have something in the window.
func (v *View) In(lanes []Lane) []*Lane {
	var shown []*Lane
	for i := range lanes {
		if v.Window.Shows(&lanes[i]) {
			shown = append(shown, &lanes[i])
		}
	}
	return shown
}

// Present is the first lane that holds, else one that waits, else the last one.
func Present(lanes []*Lane) int {
	for _, state := range []inspect.ContenderState{inspect.Holding, inspect.Pending, inspect.Waiting} {
		if i := slices.IndexFunc(lanes, func(l *Lane) bool { return l.Present && l.Contender.State == state }); i >= 0 {
			return i
		}
	}
	return max(0, len(lanes)-1)
}

// Header is the time axis.
func (v *View) Header() widget.Line {
	t, now := v.Theme(), time.Time{}
	if v.Live && !v.Past() {
		now = v.Now()
	}
	l := widget.Line{{widget.Blanks(widget.Margin), t.Text}}
	l = append(l, widget.Line{{"WHO", t.Header}}.Align(v.label, false, "")...)
	l = l.Add(t.Text, widget.Blanks(widget.Gap)).Add(t.Header, v.Window.Axis(t.Glyphs.Wall, now))
	if v.times {
		l = l.Add(t.Header, fmt.Sprintf("  %7s  %7s", "WAITED", "HELD"))
	}
	return l
}

// row is one lane.
func (v *View) row(l *Lane, selected bool, shared map[string]bool) widget.Line {
	t := v.Theme()
	out := widget.Line{{widget.Blanks(widget.Margin), t.Text}}
	label := v.name(l, shared)
	if selected {
		out = widget.Line{{t.Glyphs.Cursor + "  ", t.Holding}}
		label = label.Over(v.label, t.Selected)
	}
	out = append(out, label.Align(v.label, false, t.Glyphs.Ellipsis)...)
	out = append(out.Add(t.Text, widget.Blanks(widget.Gap)), v.Cells(v.cellsOf(l))...)
	if v.times {
		out = out.Add(t.Muted, fmt.Sprintf("  %7s", v.waitTime(l))).Add(t.Text, fmt.Sprintf("  %7s", v.heldTime(l)))
	}
	return out
}

// Strip is a row of the lanes' table with a plot in the window's cells. most is the value at full
// height.
func (v *View) Strip(label widget.Line, values []float64, most float64, style theme.Style) widget.Line {
	t := v.Theme()
	out := widget.Line{{widget.Blanks(widget.Margin), t.Text}}
	out = append(out, label.Align(v.label, false, t.Glyphs.Ellipsis)...)
	out = out.Add(t.Text, widget.Blanks(widget.Gap))
	for i := 0; i < len(values); {
		j, unknown := i, values[i] < 0
		for j < len(values) && (values[j] < 0) == unknown {
			j++
		}
		switch part := t.Sparks(values[i:j], most); {
		case !unknown:
			out = out.Add(style, part)
		case v.Window.From.Add(v.Window.Step * time.Duration(i)).Before(v.Now()):
			out = out.Add(t.Unknown, part)
		default: // in the future
			out = out.Add(t.Text, widget.Blanks(j-i))
		}
		i = j
	}
	return out
}

// Strips is Strip with several rows, and the label next to the highest one. Unknown values are in
// the lowest row.
func (v *View) Strips(label widget.Line, values []float64, most float64, rows int, style theme.Style) []widget.Line {
	lines := make([]widget.Line, rows)
	for i := range lines {
		below := float64(rows - 1 - i)
		row := make([]float64, len(values))
		for at, value := range values {
			switch {
			case value >= 0:
				row[at] = max(0, value/most*float64(rows)-below)
			case below == 0:
				row[at] = value
			}
		}
		lines[i] = v.Strip(label, row, 1, style)
		label = nil
	}
	return lines
}

// cellsOf returns the cells of a lane and of the attempts folded into it.
func (v *View) cellsOf(l *Lane) []Cell {
	row := v.Window.Draw(l, v.Looked, v.Now())
	for _, e := range l.Earlier {
		for i, c := range v.Window.Draw(e, v.Looked, v.Now()) {
			row[i] = max(row[i], c)
		}
	}
	return row
}

// time formats a duration. It shows tenths below a second or once it is over, since a running
// time must not flicker.
func (v *View) time(d time.Duration, over bool) string {
	if over || d < time.Second {
		return describe.Age(d)
	}
	return describe.Seconds(d)
}

// waitTime is how long a lane waited, or has waited so far.
func (v *View) waitTime(l *Lane) string {
	d, known := l.waited(v.Now())
	if !known {
		return v.Theme().Glyphs.Dash
	}
	return v.time(d, !l.Waits())
}

// heldTime is the length of a lane's hold. If it began before we watched, it is the time that we
// saw, a lower bound.
func (v *View) heldTime(l *Lane) string {
	switch lock := v.Snapshot().Lock(v.id); {
	case l.early && l.Present && lock != nil: // as on other screens
		ages, _ := screen.AgesOf(v.Context, lock)
		held := ages.Held(lock, l.Contender)
		return v.Theme().Glyphs.Translate(held.Known.Sign()) + v.time(held.Duration, false)
	case l.early:
		return v.Theme().Glyphs.AtLeast + v.time(l.Ended.Sub(l.since(v.Looked)), true)
	}
	d, known := l.held(v.Now())
	if !known {
		return v.Theme().Glyphs.Dash
	}
	return v.most(l) + v.time(d, !l.Present)
}

// most is the sign of an upper bound, for finished holds that may have been shorter.
func (v *View) most(l *Lane) string {
	if l.near && !l.Present {
		return v.Theme().Glyphs.AtMost
	}
	return ""
}

// name is the lane's owner, with the number of overtakings. If another lane has the same name,
// its number in the queue is added.
func (v *View) name(l *Lane, shared map[string]bool) widget.Line {
	t := v.Theme()
	s, style := laneSign(v, l), t.Text
	if !l.Present {
		style = t.Muted
	}
	mode := ""
	if v.kind == inspect.KindRW {
		mode = "w "
		if l.Contender.Mode == recipe.Shared {
			mode = "r "
		}
	}
	owner := describe.Owner(l.Contender)
	note := screen.You(t, &l.Contender.Owner)
	if shared[owner] && l.Contender.Sequential {
		note = widget.Line{{fmt.Sprintf(" #%d", l.Contender.Sequence), t.Muted}}
	}
	if l.Present && l.Contender.Dead {
		note = note.Add(t.Critical, " gone?")
	}
	if n := v.Overtaken(l); n > 0 {
		note = note.Add(t.Warning, fmt.Sprintf(" %s%d", t.Glyphs.Warning, n))
	}
	room := v.label - 2 - len(mode) - note.Width()
	name := widget.Line{{screen.Short(v.Context, owner, room), style}}.Align(room, false, "")
	return append(append(widget.Line{s, {" " + mode, t.Muted}}, name...), note...)
}

// Overtaken counts grants to later arrivals while a lane waited: those drawn, or those counted by
// the observer if there are more.
func (v *View) Overtaken(l *Lane) int {
	n := len(l.Overtaken)
	for _, e := range l.Earlier {
		n += len(e.Overtaken)
	}
	if h := v.Snapshot().History(v.id); h != nil && l.Waits() {
		n = max(n, h.Overtaken[l.Contender.Name])
	}
	return n
}

func laneSign(v *View, l *Lane) widget.Span {
	t := v.Theme()
	switch {
	case l.Present:
		s, _ := screen.ContenderSign(t, l.Contender)
		return s
	case l.Left:
		return widget.Span{t.Glyphs.Lane.Left, t.Muted}
	default:
		return widget.Span{t.Glyphs.Free, t.Muted}
	}
}

// Cells draws the cells of a lane, grouped by kind.
func (v *View) Cells(row []Cell) widget.Line {
	var out widget.Line
	for i := 0; i < len(row); {
		j := i
		text := ""
		glyph, style := v.glyph(row[i])
		for ; j < len(row) && row[j] == row[i]; j++ {
			text += glyph
		}
		out = out.Add(style, text)
		i = j
	}
	return out
}

func (v *View) glyph(c Cell) (string, theme.Style) {
	t, g := v.Theme(), v.Theme().Glyphs
	switch c {
	case cellStart:
		return g.Lane.Start, t.Faint
	case cellWaiting:
		return g.Lane.Wait, t.Waiting
	case cellUnclear:
		return g.Lane.Unclear, t.Unknown
	case cellHolding:
		return g.Lane.Hold, t.Holding
	case cellOvertaken:
		return g.Warning, t.Warning
	case cellLeft:
		return g.Lane.Left, t.Muted
	case cellOpen:
		return g.Lane.Open, t.Unknown
	default:
		return " ", t.Text
	}
}

// List draws the visible lanes. A cursor outside of them is not drawn.
func (v *View) List(lanes []*Lane, list widget.Scroller, room int) []widget.Line {
	var lines []widget.Line
	from, to := list.Visible(len(lanes), room)
	shared := namesakes(lanes)
	for i := from; i < to; i++ {
		lines = append(lines, v.row(lanes[i], i == list.At, shared))
	}
	return lines
}

// namesakes are the names shared by several lanes.
func namesakes(lanes []*Lane) map[string]bool {
	shared := make(map[string]bool, len(lanes))
	for _, l := range lanes {
		owner := describe.Owner(l.Contender)
		_, again := shared[owner]
		shared[owner] = again
	}
	return shared
}
