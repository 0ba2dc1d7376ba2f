package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/widget"
)

// figures cover the time since the observer began to watch the lock.
func (s *Screen) figures() []widget.Line {
	t, h := s.Theme(), s.Snapshot().History(s.id)
	if h == nil {
		return []widget.Line{{{
			"   no change since watching began, " + describe.Seconds(s.Now().Sub(s.source.Started)), t.Muted,
		}}}
	}
	var first widget.Line
	for _, counted := range []bool{true, false} { // the counts are left out first if space is short
		first = append(append(widget.Line{{"   ", t.Text}}, s.spans("hold", h.Holds, counted)...),
			widget.Span{"  ", t.Text})
		if first = append(first, s.spans("wait", h.Waits, counted)...); first.Width() <= s.width {
			break
		}
	}
	watched := s.Now().Sub(h.Since)
	second := widget.Line{
		{"   ", t.Text},
		{"acquired " + describe.Times(h.Grants), t.Strong},
		{" in " + describe.Seconds(watched), t.Text},
	}
	if watched >= 10*time.Second {
		second = second.Add(t.Text, ", "+rate(h.Grants, watched)+"/min")
	}
	return []widget.Line{first, append(second, s.fairness(h.Grants)...)}
}

// rate formats a rate per minute, with two digits.
func rate(n int, in time.Duration) string {
	perMinute := float64(n) / in.Minutes()
	if perMinute < 9.95 {
		return fmt.Sprintf("%.1f", perMinute)
	}
	return fmt.Sprintf("%.0f", perMinute)
}

func (s *Screen) spans(name string, d inspect.Spans, counted bool) widget.Line {
	t := s.Theme()
	l := widget.Line{{name + " ", t.Muted}}
	if d.Count == 0 {
		return widget.Line{{"no completed " + name + "s", t.Muted}}
	}
	for _, part := range []struct {
		name string
		d    time.Duration
	}{{"p50 ", d.P50}, {"p99 ", d.P99}, {"max ", d.Max}} {
		l = l.Add(t.Muted, part.name).Add(t.Text, describe.Span(part.d)+" ")
	}
	if !counted {
		return l
	}
	return l.Add(t.Muted, "("+describe.Count(d.Count, name)+")")
}

// fairness counts the grants that overtook an earlier waiter, as the lanes show them. A queue with
// fewer than two grants says nothing about fairness.
func (s *Screen) fairness(grants int) widget.Line {
	t, v := s.Theme(), s.LaneView()
	queue := false
	times, whom := 0, 0
	for i, l := range s.lanes() {
		if n := v.Overtaken(&s.lanes()[i]); n > 0 {
			times, whom = times+n, whom+1
		}
		queue = queue || l.Left || l.Waits() || l.Granted.After(l.Queued) && !l.Queued.IsZero()
	}
	if l := s.Snapshot().Lock(s.id); l != nil && describe.QueueHidden(l) {
		queue = false
	}
	lead := " " + t.Glyphs.Dot + " "
	switch {
	case times > 0:
		return widget.Line{
			{lead, t.Muted},
			{
				fmt.Sprintf("%s %s overtaken, %s", t.Glyphs.Warning, describe.Count(whom, "waiter"),
					describe.Count(times, "overtake")),
				t.Warning,
			},
		}
	case queue && grants < 2:
		return widget.Line{{lead, t.Muted}, {"acquired too rarely to judge fairness", t.Muted}}
	case queue:
		return widget.Line{{lead, t.Muted}, {"fair: no overtaking", t.Holding}}
	default:
		return widget.Line{{lead, t.Muted}, {"no visible queue: only holds", t.Muted}}
	}
}

// below returns the pictures of the window, the legend, and a description of the selected lane.
// above is the number of rows above the lanes.
func (s *Screen) below(v *lanes.View, lanes []*lanes.Lane, above int) []widget.Line {
	if len(lanes) == 0 || s.low() {
		return nil
	}
	lines := []widget.Line{v.Legend(s.width - 1)}
	if s.height >= 14 {
		if h := s.histograms(v); h != nil {
			lines = append(append(lines, widget.Section(s.Theme(), s.width, "durations in this window")), h...)
		}
		title := "selected"
		if !s.follow {
			title += " " + s.Theme().Glyphs.Dot + " follows this client"
		}
		lines = append(lines, widget.Section(s.Theme(), s.width, title))
		lines = append(lines, s.facts.Fill(v.Facts(lanes[s.list.At], s.width), s.height/4, s.Now())...)
	}
	const gap, strips = 1, 3
	free := s.height - above - len(lanes) - len(lines) - gap - strips
	return slices.Concat(make([]widget.Line, gap), s.contention(v, free), lines)
}
