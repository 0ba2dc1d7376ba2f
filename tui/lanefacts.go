package tui

import (
	"fmt"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

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
		words = append(words, "overtaken "+describe.Times(n))
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
