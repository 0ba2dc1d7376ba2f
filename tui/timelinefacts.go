package tui

import (
	"fmt"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// figures are what was seen of the lock so far.
func (s *timeline) figures() []line {
	t, h := s.Theme(), s.Snapshot().History(s.id)
	if h == nil {
		return []line{{{"   nothing changed in it since we look, for " + describe.Seconds(s.Now().Sub(s.source.started)), t.Muted}}}
	}
	first := line{{"   ", t.Text}}
	first = append(append(first, s.spans("hold", h.Holds)...), span{"  ", t.Text})
	first = append(first, s.spans("wait", h.Waits)...)
	watched := s.Now().Sub(h.Since)
	second := line{{"   ", t.Text}, {describe.Count(h.Grants, "grant"), t.Strong}, {", " + describe.Count(h.Handovers, "handover") + " in " + describe.Seconds(watched), t.Text}}
	if watched >= 10*time.Second {
		second = second.add(t.Text, ", "+rate(h.Grants, watched)+"/min")
	}
	return []line{first, append(second, s.fairness()...)}
}

// rate is how many a minute, in two digits.
func rate(n int, in time.Duration) string {
	perMinute := float64(n) / in.Minutes()
	if perMinute < 9.95 {
		return fmt.Sprintf("%.1f", perMinute)
	}
	return fmt.Sprintf("%.0f", perMinute)
}

func (s *timeline) spans(name string, d inspect.Spans) line {
	t := s.Theme()
	l := line{{name + " ", t.Muted}}
	if d.Count == 0 {
		return l.add(t.Muted, "none ended yet")
	}
	for _, part := range []struct {
		name string
		d    time.Duration
	}{{"p50 ", d.P50}, {"p99 ", d.P99}, {"max ", d.Max}} {
		l = l.add(t.Muted, part.name).add(t.Text, describe.Span(part.d)+" ")
	}
	return l.add(t.Muted, fmt.Sprintf("of %d", d.Count))
}

// fairness says whether somebody was granted before one who came earlier.
func (s *timeline) fairness() line {
	t, v := s.Theme(), s.view()
	queue := false
	times, whom := 0, 0
	for i, l := range s.lanes() {
		if n := v.overtaken(&s.lanes()[i]); n > 0 {
			times, whom = times+n, whom+1
		}
		queue = queue || l.left || l.waits() || l.granted.After(l.queued) && !l.queued.IsZero()
	}
	lead := "  " + t.Glyphs.Dot + "  "
	switch {
	case times > 0:
		return line{{lead, t.Muted}, {fmt.Sprintf("%s %d overtaken, %s in all", t.Glyphs.Warning, whom, describe.Times(times)), t.Warning}}
	case queue:
		return line{{lead, t.Muted}, {"fair: nobody overtaken", t.Holding}}
	default:
		return line{{lead, t.Muted}, {"no queue to be seen: only the holds", t.Muted}}
	}
}

// below is what the cells mean, and what is known of the selected lane.
func (s *timeline) below(v *laneView, lanes []*lane) []line {
	if len(lanes) == 0 {
		return nil
	}
	lines := []line{nil, v.legend(s.width)}
	if s.height < 14 {
		return lines
	}
	lines = append(lines, section(s.Theme(), s.width, "selected"))
	return append(lines, v.facts(lanes[s.cursor], s.width)...)
}
