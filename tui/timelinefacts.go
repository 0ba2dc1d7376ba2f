package tui

import (
	"fmt"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// list draws the lanes from top on.
func (v *laneView) list(lanes []*lane, top, room, cursor int) []line {
	var lines []line
	for i := top; i < min(len(lanes), top+room); i++ {
		lines = append(lines, v.row(lanes[i], i == cursor))
	}
	return lines
}

// around is the first of n lanes to show so that the one at some place is in the middle.
func around(at, n, room int) int { return max(0, min(at-room/2, n-room)) }

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
		return line{{lead, t.Muted}, {fmt.Sprintf("%s %d overtaken, %s in all", t.Glyphs.Warning, whom, timesWord(times)), t.Warning}}
	case queue:
		return line{{lead, t.Muted}, {"fair: nobody overtaken", t.Holding}}
	default:
		return line{{lead, t.Muted}, {"no queue to be seen: only the holds", t.Muted}}
	}
}

func timesWord(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
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

func (v *laneView) legend(width int) line {
	t := v.Theme()
	l := line{{"   ", t.Text}}
	for _, part := range []struct {
		cells []cell
		text  string
	}{
		{[]cell{cellWaiting, cellWaiting}, "waits"},
		{[]cell{cellHolding, cellHolding}, "holds"},
		{[]cell{cellOvertaken}, "overtaken"},
		{[]cell{cellLeft}, "left, not seen granted"},
		{[]cell{cellOpen, cellUnclear}, "before we looked"},
		{[]cell{cellStart}, "start"},
	} {
		next := v.cells(part.cells).add(t.Muted, " "+part.text+"  ")
		if l.width()+next.width() <= width+2 { // the last two are blank
			l = append(l, next...)
		}
	}
	return l
}

// facts are two or three lines about a lane.
func (v *laneView) facts(l *lane, width int) []line {
	t, c := v.Theme(), l.contender
	s := laneSign(v, l)
	parts := append([]string{describe.Owner(c)}, v.story(l)...)
	lines := facts(t, width, span{s.text + " ", s.style}, parts...)
	o := &c.Owner
	id := ""
	if o.Session != 0 {
		id = inspect.SessionID(o.Session)
	}
	number := ""
	if c.Sequential {
		number = fmt.Sprint("number ", c.Sequence)
	}
	host := o.Host.String()
	if o.Client != "" {
		host = "" // it is in there
	}
	known := facts(t, width, span{}, number, named("client", describe.Printable(o.Client)), named("session", id), named("host", host),
		named("pid", o.PID.String()), named("thread", o.Thread.String()), named("instance", o.LibraryID.String()))
	if known[0].text() == "   " {
		known = facts(t, width, span{"name ", t.Muted}, c.Name.String())
	}
	return append(lines, known...)
}

// story says in words what a lane shows.
func (v *laneView) story(l *lane) []string {
	clock := func(what string, at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return what + " " + at.Format("15:04:05")
	}
	words := []string{clock("came", l.queued)}
	if d, ok := l.waited(v.Now()); ok && !l.granted.Equal(l.queued) {
		if l.waits() {
			words = append(words, "waits for "+describe.Seconds(d))
		} else {
			words = append(words, "waited "+describe.Span(d))
		}
	}
	if l.early {
		words = append(words, "held since before we looked at "+l.since(v.looked).Format("15:04:05"))
	} else {
		words = append(words, clock("granted", l.granted))
	}
	if d, ok := l.held(v.Now()); ok && l.present {
		words = append(words, "holds for "+describe.Seconds(d))
	} else if ok {
		words = append(words, "held "+describe.Span(d))
	}
	if !l.present {
		words = append(words, v.ending(l))
	}
	if n := v.overtaken(l); n > 0 {
		words = append(words, "overtaken "+timesWord(n))
	}
	return words
}

// ending is how a lane ended.
func (v *laneView) ending(l *lane) string {
	at := " " + l.ended.Format("15:04:05")
	switch {
	case l.left:
		return "left without the lock" + at
	case l.unseenEnd:
		return "its end was not seen"
	case l.how == "":
		return "ended" + at
	default:
		return string(l.how) + at
	}
}
