package locks

import (
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// lockCells are the cells of a lock's row, before any layout.
type lockCells struct {
	Mark                                                                widget.Span
	Lock, Kind, Library, Holder, client, Held, Queue, Ttl, Finding, old widget.Line
}

// queueBar bounds a queue's bar, in cells.
const queueBar = 5

// queueWidth is that of the queue's column, in cells.
const queueWidth = 8

// CellsOf turns a lock into the cells of its row.
func CellsOf(host screen.Context, l *inspect.Lock) lockCells {
	t := host.Theme()
	c := lockCells{
		Mark:    screen.Sign(t, l),
		Lock:    widget.Line{{describe.Printable(l.ID.Backend) + ":", t.Muted}, {inspect.Escape(l.ID.Path), t.Text}},
		Kind:    widget.Line{{string(l.Kind), t.Muted}},
		Library: widget.Line{{l.Recipe, t.Muted}},
		Holder:  holderCell(host, l),
		Held:    heldCell(host, l),
		Queue:   queueCell(host, l),
		Ttl:     ttlCell(host, l),
	}
	if len(l.Holders) == 1 {
		if at := describe.Client(&l.Holders[0].Owner); at != "" && at != c.Holder.Text() {
			c.client = widget.Line{{"  " + at, t.Muted}}
		}
	}
	if l.Recipe == "" {
		c.Library = widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	if d, ok := outdated(host, l); ok {
		c.old = widget.Line{{describe.Age(d) + " old", t.Unknown}}
	}
	if f := describe.Worst(l.Findings); f != nil {
		c.Finding = widget.Line{{f.Rule, screen.SeveritySign(t, f.Severity).Style}}
	}
	return c
}

// noticeablyOld is the age from which a reading is marked as old while its backend answers: a polled lock is read anew
// every few seconds, or less often where our budget allows no more.
const noticeablyOld = 5 * time.Second

// outdated is the age of the newest reading of a lock; false while it is new.
func outdated(host screen.Context, l *inspect.Lock) (time.Duration, bool) {
	b := host.Snapshot().Backend(l.ID.Backend)
	if b == nil || l.ReadAt.IsZero() {
		return 0, false
	}
	old := max(0, host.Now().Sub(l.AsOf(b, host.Now())))
	return old, b.State == inspect.Down || old >= noticeablyOld
}

func holderCell(host screen.Context, l *inspect.Lock) widget.Line {
	t := host.Theme()
	switch l.State {
	case inspect.StateFree:
		return widget.Line{{"free", t.Free}}
	case inspect.StateUnknown:
		return widget.Line{{"unknown", t.Unknown}, {answered(l), t.Muted}}
	case inspect.StateSplit:
		return widget.Line{{t.Glyphs.Translate("split " + l.Ballot()), t.Critical}}
	case inspect.StateMinority:
		return widget.Line{{fmt.Sprintf("minority %d/%d", l.Votes(), len(l.Masters)), t.Warning}}
	}
	n := len(l.Holders)
	switch {
	case n == 0:
		return widget.Line{{"nobody", t.Unknown}}
	case l.Kind == inspect.KindSemaphore && l.Limit > 0:
		return widget.Line{{fmt.Sprintf("%d of %s", n, describe.Count(l.Limit, "permit")), t.Holding}}
	case l.Kind == inspect.KindSemaphore:
		return widget.Line{{describe.Count(n, "permit"), t.Holding}}
	case n > 1 && l.Holders[0].Mode == recipe.Shared:
		return widget.Line{{fmt.Sprintf("%d readers", n), t.Holding}}
	case n > 1:
		return widget.Line{{fmt.Sprintf("%d holders", n), t.Holding}}
	}
	return oneHolder(host, l)
}

func oneHolder(host screen.Context, l *inspect.Lock) widget.Line {
	t, h := host.Theme(), &l.Holders[0]
	name := describe.Owner(h)
	if name == h.Name.String() {
		name = text.Middle(name, 12, t.Glyphs.Ellipsis)
	}
	out := widget.Line{{name, t.Holding}}
	if len(l.Masters) > 1 {
		style := t.Muted
		if l.Margin == 0 {
			style = t.Warning
		}
		out = out.Add(style, fmt.Sprintf(" %d/%d", l.Votes(), len(l.Masters)))
	}
	return out
}

// answered is masters that answered of all, as n/m; empty for ZooKeeper.
func answered(l *inspect.Lock) string {
	if len(l.Masters) == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d up", len(l.Masters)-describe.Tally(l).Silent, len(l.Masters))
}

// heldCell is the age of the hold; with ≤ or ≥ when only a bound is known.
func heldCell(host screen.Context, l *inspect.Lock) widget.Line {
	t := host.Theme()
	if len(l.Holders) > 0 {
		h := &l.Holders[0]
		switch held := screen.Ages(host).Held(l, h); held.Known {
		case describe.Unbounded:
			return widget.Line{{t.Glyphs.Unknown, t.Unknown}}
		case describe.AtLeast:
			return widget.Line{{t.Glyphs.AtLeast, t.Muted}, {describe.Seconds(held.Duration), t.Text}}
		default:
			return widget.Line{{t.Glyphs.Translate(held.Known.Sign()), t.Muted}, {describe.Age(held.Duration), t.Text}}
		}
	}
	return widget.Line{{t.Glyphs.Dash, t.Faint}}
}

// queueCell counts the waiters, a lower bound when more wait unseen, behind a bar as far as there is room for it.
func queueCell(host screen.Context, l *inspect.Lock) widget.Line {
	t, n := host.Theme(), len(l.Waiters)+l.WaitersAtLeast
	if n == 0 {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	count := fmt.Sprintf(" %d", n)
	if l.WaitersAtLeast > 0 {
		count = " " + t.Glyphs.AtLeast + count[1:]
	}
	room := min(queueBar, queueWidth-ansi.StringWidth(count))
	return widget.Line{{t.Bar(min(n, queueBar), queueBar, room), t.Waiting}, {count, t.Text}}
}

// ttlCell is the rest of a Redis lock's TTL, with a small gauge of the longest that was seen.
func ttlCell(host screen.Context, l *inspect.Lock) widget.Line {
	t := host.Theme()
	if len(l.Masters) == 0 || l.State == inspect.StateFree {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	if len(l.Holders) > 0 && l.Holders[0].NoExpiry {
		return widget.Line{{"none", t.Warning}}
	}
	at := screen.Expiry(l)
	if at.IsZero() {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	left := at.Sub(host.Now())
	if left <= 0 {
		return widget.Line{{describe.Age(0), t.Warning}}
	}
	return screen.Gauge(host.Theme(), left, l.LongestTTL(), gaugeTTL-7, len(l.Holders) > 0)
}
