package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/widget"
)

// The minimum heights of a screen with contention strips, with histograms too, and with tall
// histograms.
const stripsHeight, histogramHeight, highHeight = 18, 30, 42

// classWidth is the width of a histogram's class with the gap after it, in cells. The class's minimum
// duration is below it.
const classWidth = 6

// contention draws the numbers of waiters and holders over the window, below the lanes. The
// waiters' strip is as tall as the free rows allow.
func (s *Screen) contention(v *lanes.View, free int) []widget.Line {
	if s.height < stripsHeight {
		return nil
	}
	t, c := s.Theme(), v.Window.Contention(v.In(s.lanes()), s.source.Known(s.id), s.Now())
	most, _ := lanes.Summary(c.Waiting)
	known := slices.ContainsFunc(c.Waiting, func(n float64) bool { return n >= 0 }) // else no event of that time is kept
	label := widget.Line{{"max waiting: ", t.Muted}, {orUnknown(known, "%.0f", most), t.Text}}
	lines := v.Strips(label, c.Waiting, max(most, 1), stripRows(free), t.Waiting)
	if s.height < histogramHeight {
		return lines
	}
	// without colours only the gap separates the two plots
	mean, share := lanes.Summary(c.Holding)
	return append(lines, nil,
		v.Strip(widget.Line{{"held ", t.Muted}, {orUnknown(known, "%.0f%% of the time", 100*share), t.Text}}, c.Holding,
			max(mean, 1), t.Holding))
}

func orUnknown(known bool, format string, n float64) string {
	if !known {
		return "?"
	}
	return fmt.Sprintf(format, n)
}

// stripRows is the height of the waiters' strip. It has few steps, so that it rarely changes as
// lanes appear.
func stripRows(free int) int {
	switch {
	case free >= 12:
		return 8
	case free >= 6:
		return 4
	default:
		return 1
	}
}

// histograms show the finished waits and holds in the window, side by side.
func (s *Screen) histograms(v *lanes.View) []widget.Line {
	if s.height < histogramHeight {
		return nil
	}
	waits, holds := lanes.Ended(v.In(s.lanes()), s.Now())
	rows := 3
	if s.height >= highHeight {
		rows = 6
	}
	t, half := s.Theme(), (s.width-widget.Margin-2)/2
	left := s.histogram("waits", waits, half, rows, t.Waiting)
	right := s.histogram("holds", holds, half, rows, t.Holding)
	for i := range left {
		line := append(widget.Line{{widget.Blanks(widget.Margin), t.Text}},
			left[i].Align(half, false, t.Glyphs.Ellipsis)...)
		left[i] = append(line, right[i]...)
	}
	return left
}

// histogram is a line of figures, rows of bars, and the lower bounds of the classes.
func (s *Screen) histogram(
	name string, sorted []time.Duration, width, rows int, style theme.Style,
) []widget.Line {
	t := s.Theme()
	lines := make([]widget.Line, rows+2)
	if len(sorted) == 0 {
		lines[0] = widget.Line{{"no finished " + name + " in this window", t.Muted}}
		return lines
	}
	lines[0] = widget.Line{{fmt.Sprintf("%s: %d", name, len(sorted)), t.Muted}}
	for _, percent := range []int{50, 95, 99} {
		lines[0] = lines[0].Add(t.Muted, fmt.Sprintf("  p%d ", percent))
		lines[0] = lines[0].Add(t.Text, describe.Span(lanes.Percentile(sorted, percent)))
	}
	h := lanes.NewHistogram(sorted, width/classWidth)
	most := float64(slices.Max(h.Counts))
	for i, n := range h.Counts {
		for row, cell := range t.Pillar(float64(n), most, rows) {
			bar := cell + cell + cell + cell + widget.Blanks(classWidth-4)
			lines[1+row] = lines[1+row].Add(style, bar)
		}
		from := widget.Line{{describe.Limit(h.From[i]), t.Muted}}
		if h.From[i] == 0 {
			from[0].Text = "0"
		} else if i == len(h.From)-1 { // includes all longer ones
			from[0].Text = t.Glyphs.AtLeast + from[0].Text
		}
		lines[1+rows] = append(lines[1+rows], from.Align(classWidth, false, "")...)
	}
	return lines
}
