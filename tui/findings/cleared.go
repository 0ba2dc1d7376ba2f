package findings

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// clearedFor equals inspect.PastKept, so that the moment can still be viewed.
const clearedFor = inspect.PastKept

// cleared is a finding that is gone.
type cleared struct {
	on *inspect.Event
	// lasted is how long it lasted; 0 if we did not see it appear.
	lasted time.Duration
}

// clearedLately returns the findings that cleared and have not returned, the most recent first.
func (s *Screen) clearedLately() []cleared {
	type finding struct {
		on  inspect.ID
		key string
	}
	var list []cleared
	open, whole, at := make(map[finding]bool), make(map[finding]bool), make(map[finding]int)
	log, from := s.Log(), s.Now().Add(-clearedFor)
	for i := len(log.List) - 1; i >= 0; i-- {
		e := &log.List[i]
		if e.Finding == nil || e.Finding.Rule == blindRule { // blind spots are not problems
			continue
		}
		which := finding{screen.FindingPlace(e), e.Finding.Key()}
		n, gone := at[which]
		switch {
		case gone && e.Kind == inspect.EventFinding && !whole[which]: // it had become more severe
			list[n].lasted = list[n].on.At.Sub(e.At)
		case gone:
			whole[which] = true // it was cleared before that
		case open[which]:
		case e.Kind == inspect.EventFinding:
			open[which] = true
		case e.Kind == inspect.EventCleared && !e.At.Before(from):
			at[which] = len(list)
			list = append(list, cleared{on: e})
		}
	}
	return list
}

// clearedLines lists recently cleared findings in at most that many lines. With fewer than three
// lines, it lists none.
func (s *Screen) clearedLines(width, lines int, columns []widget.Column, widths []int) []widget.Line {
	const head = 2 // a blank line and the title
	list := s.clearedLately()
	if lines <= head || len(list) == 0 {
		return nil
	}
	t := s.Theme()
	out := []widget.Line{nil, widget.Section(t, width, fmt.Sprintf("cleared in the last %.0fm", clearedFor.Minutes()))}
	for _, c := range list[:min(len(list), lines-head)] {
		f, place := c.on.Finding, screen.FindingPlace(c.on)
		on := widget.Line{{describe.Printable(place.Backend), t.Muted}}
		if place.Path != "" {
			on = widget.Line{{place.String(), t.Muted}}
		}
		lasted := widget.Line{{t.Glyphs.Unknown, t.Unknown}}
		if c.lasted > 0 {
			lasted = widget.Line{{describe.Seconds(c.lasted), t.Muted}}
		}
		cells := []widget.Line{
			{{describe.Printable(f.Rule), t.Muted}},
			on, lasted,
			{{describe.Clock(c.on.At) + "  ", t.Text}, {screen.Say(t, f.Message), t.Muted}},
		}
		out = append(out,
			append(widget.Line{{" " + t.Glyphs.Free + " ", t.Faint}},
				widget.Join(columns, widths, cells, t.Glyphs.Ellipsis)...))
	}
	return out
}
