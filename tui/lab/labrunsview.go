package lab

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/widget"

	"github.com/lockscope/lockscope/inspect/describe"
)

// length is the time that a run's lanes show. It is long enough to show how contenders take turns.
func (b *Side) length() time.Duration {
	return max(2*time.Second, min(30*time.Second, 30*b.Order.Hold))
}

// lines draws the runs side by side, in at most height lines.
func (c *runs) lines(width, height int) []widget.Line {
	if len(c.List) == 0 {
		return c.emptyLines(width)
	}
	o := &c.List[0].Order
	lines := []widget.Line{{{" " + sharedOptions(o), c.Theme().Muted}}}
	if len(c.List) == 1 {
		return append(lines, c.runLines(c.List[0], width, height-1)...)
	}
	half := (width - 3) / 2
	left, right := c.runLines(c.List[0], half, height-2), c.runLines(c.List[1], width-half-3, height-2)
	for i := range max(len(left), len(right)) {
		var l, r widget.Line
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		both := append(l.Align(half, false, c.Theme().Glyphs.Ellipsis), widget.Span{
			" " + c.Theme().Glyphs.Wall + " ", c.Theme().Faint,
		})
		lines = append(lines, append(both, r...))
	}
	if text := fairer(c.List[0], c.List[1]); text != "" {
		lines = append(lines, widget.Line{{" " + c.Theme().Glyphs.Breadcrumb + " " + text, c.Theme().Strong}})
	}
	return lines
}

// fairer says which of two finished runs was fairer; empty if that is unclear.
func fairer(a, b *Side) string {
	for _, s := range []*Side{a, b} {
		if !s.Over || s.report.Grants == 0 || s.report.Overlaps > 0 {
			return ""
		}
	}
	x, y := overtookShare(&a.report), overtookShare(&b.report)
	switch {
	case x+y == 0:
		return "no overtaking seen on either side; " + guaranteed(a, b)
	case math.Abs(x-y) < 1:
		return "about equally fair: " + overtakes(max(x, y)) + ", against " + overtakes(min(x, y))
	case x > y:
		a, x, y = b, y, x
	}
	return fmt.Sprintf("%s is fairer: %s, against %.0f%%", a.name(), overtakes(x), y)
}

// guaranteed says which of two kinds promise an order.
func guaranteed(a, b *Side) string {
	switch {
	case a.Order.InOrder && b.Order.InOrder:
		return "both guarantee the order"
	case a.Order.InOrder:
		return "only " + a.name() + " guarantees the order"
	case b.Order.InOrder:
		return "only " + b.name() + " guarantees the order"
	}
	return "neither guarantees the order"
}

func (b *Side) name() string {
	return describe.Printable(b.Order.Backend) + " " + describe.Printable(b.Order.Target)
}

// overtakes formats a percentage of overtakes.
func overtakes(share float64) string {
	switch {
	case share == 0:
		return "no overtakes"
	case share < 1:
		return fmt.Sprintf("%.2g%% overtakes", share)
	default:
		return fmt.Sprintf("%.0f%% overtakes", share)
	}
}

// overtookShare is the percentage of grants that overtook a waiter.
func overtookShare(r *contend.Report) float64 {
	return 100 * float64(r.Inversions) / float64(max(1, r.Grants))
}

func (c *runs) emptyLines(width int) []widget.Line {
	t := c.Theme()
	text := "Compare two kinds of lock under the same load: waits, overtakes and handoff times. " +
		"n starts a run on temporary locks, which are removed afterwards."
	if why := c.CannotAcquire(); why != "" {
		text = "Nothing can be run here: " + why + "."
	}
	var lines []widget.Line
	for _, part := range widget.Wrap(text, width-2, 4, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{" " + part, t.Muted}})
	}
	return lines
}

// sharedOptions are the options of both runs.
func sharedOptions(o *RunOptions) string {
	text := fmt.Sprintf("%s, hold ~%v, pause ~%v, seed %d", describe.Count(o.Contenders, "worker"), o.Hold, o.Think,
		o.Seed)
	if o.For == 0 {
		return text + ", no limit"
	}
	return text + ", for " + describe.Exact(o.For)
}

// short formats a time with at most three digits: 0.85ms, 1.25ms, 12.4ms, 340ms, 2.1s.
func short(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2fms", ms)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1fms", ms)
	case d < time.Second:
		return fmt.Sprintf("%.0fms", ms)
	default:
		return describe.Age(d)
	}
}

// runLines draws one run: its options, a lane per contender, and its figures.
func (c *runs) runLines(b *Side, width, height int) []widget.Line {
	t := c.Theme()
	title := widget.Line{
		{" " + describe.Printable(b.Order.Backend) + " ", t.Strong}, {describe.Printable(b.Order.Target), t.Text},
	}
	lines := []widget.Line{widget.Spread(title, append(c.stage(b), widget.Span{" ", t.Text}), width, t.Glyphs.Ellipsis)}
	figures := c.figureLines(b, width)
	if n := len(b.report.Contenders); n > 0 {
		lines = append(lines, c.laneLines(b, n, width, height-len(lines)-len(figures))...)
	}
	return append(lines, figures...)
}

// stage is a run's progress line.
func (c *runs) stage(b *Side) widget.Line {
	t := c.Theme()
	switch {
	case b.Over && b.run == nil:
		return widget.Line{{"not run", t.Warning}}
	case b.Over && b.report.Overlaps > 0:
		return widget.Line{{"over", t.Critical}}
	case b.Over:
		return widget.Line{{"finished after " + describe.Age(b.report.Duration), t.Muted}}
	case b.run == nil:
		return widget.Line{{"connecting" + t.Glyphs.Ellipsis, t.Waiting}}
	case b.report.Ended:
		return widget.Line{{"cleaning up" + t.Glyphs.Ellipsis, t.Muted}}
	default:
		return widget.Line{{t.Glyphs.Holding + " ", t.Holding}, {describe.Seconds(b.report.Duration), t.Text}}
	}
}

// laneLines are the lanes of as many contenders as fit.
func (c *runs) laneLines(b *Side, n, width, room int) []widget.Line {
	t := c.Theme()
	hasAxis := n != room && room > 2
	if hasAxis {
		room--
	}
	shown := n
	if room = max(1, room); n > room {
		shown = room - 1
	}
	const grants, labels = 5, 3 + 2 + 1 + 5 // the number, the sign, a space, the grants
	cells := max(8, width-labels-1)
	w := lanes.WindowTo(b.now, b.length(), cells)
	began := b.now.Add(-b.report.Duration)
	view := lanes.View{Context: c.Context}
	var lines []widget.Line
	if hasAxis {
		axis := w
		axis.Cells -= 4 // the last column's title is wider than its numbers
		title := widget.Line{{"  #", t.Header}}.Align(labels-grants, false, "")
		lines = append(lines, title.Add(t.Header, axis.Axis(t.Glyphs.Wall, time.Time{})+" ACQUIRED"))
	}
	for i, row := range drawAttempts(b.attempts, shown, w, began, b.now) {
		r := &b.report.Contenders[i]
		l := widget.Line{{fmt.Sprintf("%3d ", i+1), t.Muted}, c.stateSign(r.State), {" ", t.Text}}
		l = append(l, view.Cells(row)...)
		lines = append(lines, l.Add(t.Text, fmt.Sprintf("%5d", r.Grants)))
	}
	if shown < n {
		lines = append(lines, widget.Line{{fmt.Sprintf("    %s and %d more", t.Glyphs.Ellipsis, n-shown), t.Muted}})
	}
	return lines
}

func (c *runs) stateSign(s contend.State) widget.Span {
	t := c.Theme()
	switch s {
	case contend.Holding:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	case contend.Waiting:
		return widget.Span{t.Glyphs.Waiting, t.Waiting}
	default:
		return widget.Span{t.Glyphs.Free, t.Muted}
	}
}

// figureLines are a run's figures so far.
func (c *runs) figureLines(b *Side, width int) []widget.Line {
	t, r := c.Theme(), &b.report
	var lines []widget.Line
	add := func(label, text string) {
		lines = append(lines, widget.Line{{fmt.Sprintf(" %-10s", label), t.Muted}, {text, t.Text}})
	}
	if r.Grants > 0 {
		add("acquired", fmt.Sprintf("%d, %.1f/s%s", r.Grants, r.Rate(), spreadWords(r)))
		add("handoff", handoffWords(r.Handoff))
		add("waited", waitedWords(r))
		add("overtakes", overtookWords(r))
		if r.Overlaps > 0 {
			lines = append(lines, widget.Line{{
				fmt.Sprintf(" overlaps %d: HELD BY TWO AT ONCE", r.Overlaps), t.Critical,
			}})
		} else {
			add("overlaps", "none")
		}
		style := t.Holding
		if r.Inversions > 0 {
			style = t.Warning
		}
		lines = append(lines, widget.Line{
			{" " + t.Glyphs.Breadcrumb + " ", style}, {verdictOf(r, b.Order.InOrder), t.Strong},
		})
	}
	if text := b.trouble(); text != "" {
		for _, part := range widget.Wrap(text, width-4, 2, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{" " + t.Glyphs.Warning + " ", t.Warning}, {part, t.Text}})
		}
	}
	return lines
}

// spreadWords describes how evenly grants were spread (Jain's index), once each contender may have
// had a turn.
func spreadWords(r *contend.Report) string {
	without := func(c contend.Contender) bool { return c.Grants == 0 }
	if !r.Ended && r.Duration < 5*time.Second && slices.ContainsFunc(r.Contenders, without) {
		return ""
	}
	return fmt.Sprintf(", evenness %.0f%%", 100*r.Jain())
}

func handoffWords(q contend.Quantiles) string {
	if q.Count == 0 {
		return "no handoffs yet"
	}
	return fmt.Sprintf("p50 %s, p99 %s", short(q.P50), short(q.P99))
}

func waitedWords(r *contend.Report) string {
	if r.LongestWaiter < 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %s, longest #%d %s", short(r.Wait.P50), r.LongestWaiter+1, short(r.LongestWait))
}

func overtookWords(r *contend.Report) string {
	if r.Inversions == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %s", r.Inversions, describe.Count(int(r.Grants), "time"))
}

// verdictOf describes a run's fairness. inOrder is set if its kind promises an order.
func verdictOf(r *contend.Report, inOrder bool) string {
	share := overtookShare(r)
	switch {
	case r.Overlaps > 0:
		return "broken: two held it at once"
	case r.Grants == 0:
		return "not acquired yet"
	case r.Inversions == 0 && !inOrder:
		return "no overtaking seen; not guaranteed"
	case r.Inversions == 0:
		return "first come, first served"
	case share < 1:
		return "nearly first come, first served: " + overtakes(share)
	default:
		return "a race: " + overtakes(share)
	}
}
