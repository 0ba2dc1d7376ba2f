package lanes

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/widget"
)

// Legend explains the signs of the lanes, in shorter words if necessary.
func (v *View) Legend(width int) widget.Line {
	if l := v.legend("left without the lock"); l.Width() <= width {
		return l
	}
	return v.legend("left").Cut(width, v.Theme().Glyphs.Ellipsis)
}

func (v *View) legend(left string) widget.Line {
	t := v.Theme()
	l := widget.Line{{"   ", t.Text}}
	for _, part := range []struct {
		cells []Cell
		text  string
	}{
		{[]Cell{cellWaiting, cellWaiting}, "waits"},
		{[]Cell{cellHolding, cellHolding}, "holds"},
		{[]Cell{cellOvertaken}, "overtaken"},
		{[]Cell{cellLeft}, left},
		{[]Cell{cellOpen, cellUnclear}, "unknown"},
		{[]Cell{cellStart}, "start"},
	} {
		next := v.Cells(part.cells).Add(t.Muted, " "+part.text)
		if len(l) > 1 {
			next = append(widget.Line{{"  ", t.Text}}, next...)
		}
		l = append(l, next...)
	}
	return l
}

// Facts are two or more lines about a lane. Those that change as it waits and holds come last.
func (v *View) Facts(l *Lane, width int) []widget.Line {
	t, c := v.Theme(), l.Contender
	s := laneSign(v, l)
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
		host = "" // the client's address includes it
	}
	known := []string{
		number, widget.Named("client", describe.Printable(o.Client)), widget.Named("session", id),
		widget.Named(describe.Host(o), host), widget.Named("pid", o.PID.String()),
		widget.Named("thread", o.Thread.String()), widget.Named("instance", o.LibraryID.String()),
	}
	if strings.Join(known, "") == "" {
		known = []string{widget.Named("name", c.Name.String())}
	}
	lines := widget.Facts(t, width, widget.Span{s.Text + " ", s.Style}, append([]string{describe.Owner(c)}, known...)...)
	return append(lines, widget.Facts(t, width, widget.Span{}, v.story(l)...)...)
}

// story describes a lane.
func (v *View) story(l *Lane) []string {
	clock := func(what string, at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return what + " " + describe.When(at, v.Now().Local())
	}
	queued := "queued"
	if l.Waits() {
		queued = "queued since"
	}
	words := []string{clock(queued, l.Queued)}
	if n := len(l.Earlier); n > 0 {
		words = append(words, fmt.Sprintf("attempt %d in this window", n+1))
	}
	if d, ok := l.waited(v.Now()); ok && !l.Granted.Equal(l.Queued) {
		if l.Waits() {
			words = append(words, "waiting for "+v.time(d, false))
		} else {
			words = append(words, "waited "+describe.Span(d))
		}
	}
	if l.early {
		words = append(words, "already held at "+describe.When(l.since(v.Looked), v.Now().Local())+", when watching began")
	} else if !l.near {
		words = append(words, clock("acquired", l.Granted))
	}
	if d, ok := l.held(v.Now()); ok && l.Present {
		words = append(words, "held for "+v.time(d, false))
	} else if ok {
		words = append(words, "held "+v.most(l)+describe.Span(d))
	}
	if !l.Present {
		words = append(words, v.ending(l))
	}
	if n := v.Overtaken(l); n > 0 {
		words = append(words, "overtaken "+describe.Times(n))
	}
	return words
}

// ending describes how a lane ended.
func (v *View) ending(l *Lane) string {
	at := " " + describe.When(l.Ended, v.Now().Local())
	switch {
	case l.Left:
		return "left without the lock" + at
	case l.unseenEnd:
		return "its end was not seen"
	case l.how == "":
		return "ended" + at
	default:
		return string(l.how) + at
	}
}
