package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"
)

// recovery is when a backend recovered, and from which state.
type recovery struct {
	from inspect.BackendState
	at   time.Time
}

// recoveryShown is how long the line about a recovered backend stays, so that the rows below it do
// not jump at each change.
const recoveryShown = 5 * time.Second

func unhealthy(b *inspect.Backend) bool {
	return b.State == inspect.Degraded || b.State == inspect.Down
}

// recoveries of backends, by name.
type recoveries map[string]recovery

// record adds the backends that recovered between two snapshots.
func (r recoveries) record(before, after *inspect.Snapshot, now time.Time) {
	for _, was := range before.Backends {
		if is := after.Backend(was.Name); is != nil && unhealthy(was) && !unhealthy(is) {
			r[was.Name] = recovery{was.State, now}
		}
	}
}

// troubles lists backends that are unhealthy, are most likely independent servers, or have just
// recovered. The worst comes first, with its reason; nil if there are none.
func (f frame) troubles() widget.Line {
	t, dot := f.theme, " "+f.theme.Glyphs.Dot+" "
	var down, degraded, suspect, well []widget.Line
	say := func(style theme.Style, glyph, what, why string) widget.Line {
		l := widget.Line{{glyph + " " + what, style}}
		if why != "" {
			l = l.Add(t.Text, "  "+why)
		}
		return l
	}
	if f.feedError != nil {
		down = append(down, say(t.Warning, t.Glyphs.Warning, "no more updates:", describe.OneLine(f.feedError)))
	}
	for _, b := range f.snapshot.Backends {
		name := describe.Printable(b.Name)
		if n := b.Spread.Masters; b.Spread.Suspect() {
			what := fmt.Sprintf("%s: most likely %d independent servers", name, n)
			suspect = append(suspect, say(t.Warning, t.Glyphs.Warning, what, "give each its own target"))
		}
		switch b.State {
		case inspect.Degraded:
			degraded = append(degraded, say(t.Warning, t.Glyphs.Pending, name+" degraded", describe.Trouble(b)))
		case inspect.Down:
			down = append(down, say(t.Critical, t.Glyphs.Critical, name+" down", describe.Trouble(b)))
		default:
			if r, ok := f.recovered[b.Name]; ok && f.now.Sub(r.at) < recoveryShown {
				well = append(well,
					say(t.Muted, t.Glyphs.Cleared,
						fmt.Sprintf("%s was %s until %s", name, r.from, r.at.Format(time.TimeOnly)), ""))
			}
		}
	}
	all := slices.Concat(down, degraded, suspect, well)
	if len(all) == 0 {
		return nil
	}
	// All names come before the first backend's reason.
	var rest widget.Line
	for i, l := range all[1:] {
		more := append(append(rest[:len(rest):len(rest)], widget.Span{Text: dot, Style: t.Muted}), l[0])
		if more.Width() < f.width/2 {
			rest = more
			continue
		}
		rest = rest.Add(t.Warning, fmt.Sprintf("%s%d more (b)", dot, len(all)-1-i))
		break
	}
	first := all[0].Cut(max(1, f.width-rest.Width()-4), t.Glyphs.Ellipsis)
	return append(append(widget.Line{{" ", t.Text}}, first...), rest...)
}
