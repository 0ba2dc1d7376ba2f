package locks

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Widths in cells: the longest bar of a queue, the queue's column without and with the last
// minutes, and a TTL with its gauge.
const queueBar, queueWidth, trendWidth, gaugeTTL = 5, 8, 15, 11

// trendCells of 30 s are drawn before a queue's length. trendTitle is their column's title.
const trendCells, trendTitle = 10, "LAST 5M QUEUE"

func lockCell(c cell) widget.Line {
	t, path := c.Theme(), inspect.Escape(c.lock.ID.Path[len(c.group):])
	if c.group != "" {
		return widget.Line{{"  ", t.Muted}, {path, t.Text}}
	}
	return widget.Line{{describe.Printable(c.lock.ID.Backend) + ":", t.Muted}, {path, t.Text}}
}

func kindCell(c cell) widget.Line { return widget.Line{{describe.KindOf(c.lock), c.Theme().Muted}} }

func libraryCell(c cell) widget.Line {
	t := c.Theme()
	if c.lock.Recipe == "" {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	return widget.Line{{c.lock.Recipe, t.Muted}}
}

// shownFinding is a lock's worst finding that is not muted, else a muted one; nil without any.
func shownFinding(l *inspect.Lock) *inspect.Finding {
	if f := describe.Worst(l.Findings); f != nil || len(l.Findings) == 0 {
		return f
	}
	f := slices.MinFunc(l.Findings, describe.WorstFirst)
	return &f
}

// findingCell names the waiter that the filter matched, and the worst finding. It adds the age of an
// old reading if there is room for it.
func findingCell(c cell) widget.Line {
	t, out := c.Theme(), matchCell(c)
	if f := shownFinding(c.lock); f != nil {
		sign := screen.FindingSign(t, f)
		rule := describe.Printable(f.Rule)
		if f.Muted != nil { // the row's sign ignores muted findings
			rule = sign.Text + " muted"
		}
		out = out.Part(true, t, sign.Style, rule)
	}
	d, ok := outdated(c, c.lock)
	if !ok {
		return out
	}
	old := widget.Span{Text: describe.Age(d) + " old", Style: t.Unknown}
	if len(out) == 0 {
		return widget.Line{old}
	}
	if both := append(out[:1:1], widget.Span{Text: "  "}, old); both.Width() <= c.room {
		return both
	}
	return out
}

// noticeablyOld is the age from which a reading is marked as old while its backend answers. A
// polled lock is read again every few seconds, or less often if our budget allows no more.
const noticeablyOld = 5 * time.Second

// outdated is the age of the newest reading of a lock; false while it is recent.
func outdated(host screen.Context, l *inspect.Lock) (time.Duration, bool) {
	b := host.Snapshot().Backend(l.ID.Backend)
	if b == nil || l.ReadAt.IsZero() {
		return 0, false
	}
	old := max(0, host.Now().Sub(l.AsOf(b, host.Now())))
	return old, b.State == inspect.Down || old >= noticeablyOld
}

// holderCell is the holder, with its client if all of it fits. Without a holder it says why.
func holderCell(c cell) widget.Line {
	out := whoHolds(c, c.lock, c.room)
	if len(c.lock.Holders) != 1 {
		return out
	}
	if at := screen.Ages(c).Client(&c.lock.Holders[0].Owner); at != "" && at != out.Text() {
		both := append(out[:len(out):len(out)], widget.Span{Text: "  " + at, Style: c.Theme().Muted})
		if both.Width() <= c.room {
			return both
		}
	}
	return out
}

// A holder's name without a label is cut to at least shortName cells. It gets longName cells before
// longer lock names get more.
const shortName, longName = 12, 24

// whoHolds describes a lock's holder in the colour of the lock's state. A name without a label gets
// the remaining room.
func whoHolds(host screen.Context, l *inspect.Lock, room int) widget.Line {
	t := host.Theme()
	brief, detail := describe.Summary(l)
	if len(l.Holders) == 0 && l.State != inspect.StateFree && screen.Ages(host).Suspect(l) {
		brief = string(inspect.StateUnknown) // its masters are most likely independent servers
	}
	style, muted := screen.LevelSign(t, describe.StateLevel(l)).Style, t.Muted
	if screen.Muted(l) {
		style = t.Muted
	}
	if held := l.State == inspect.StateHeld || l.State == inspect.StateContended; held && len(l.Holders) == 0 {
		style = t.Unknown
	} else if held && l.Margin == 0 {
		muted = t.Warning
	}
	var rest widget.Line
	if describe.Doubtful(l) {
		rest = rest.Add(t.Muted, "?")
	}
	if len(l.Holders) > 0 {
		rest = append(rest, screen.You(t, &l.Holders[0].Owner)...)
	}
	if detail != "" {
		rest = rest.Add(muted, " "+detail)
	}
	if len(l.Holders) == 1 && brief == l.Holders[0].Name.String() {
		brief = screen.Short(host, brief, max(shortName, room-rest.Width()))
	}
	return append(widget.Line{{t.Glyphs.Translate(brief), style}}, rest...)
}

// heldCell is the age of the hold, with ≤ or ≥ for a bound. It is marked if it is longer than
// usual.
func heldCell(c cell) widget.Line {
	t, l := c.Theme(), c.lock
	if len(l.Holders) == 0 {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	held, style := c.ages().Held(l, &l.Holders[0]), t.Text
	if held.Over() {
		style = t.Warning
	}
	if c.old && held.Known == describe.Exactly { // the hold may have gone on
		held.Known = describe.AtLeast
	}
	if held.Known == describe.Unbounded {
		return widget.Line{{t.Glyphs.Unknown, t.Unknown}}
	}
	return widget.Line{{t.Glyphs.Translate(held.Known.Sign()), t.Muted}, {describe.Age(held.Duration), style}}
}

func heldTime(c cell) (time.Duration, bool) {
	return screen.HeldFor(c.ages(), c.lock)
}

// waitCell is the age of the longest wait.
func waitCell(c cell) widget.Line {
	t := c.Theme()
	switch d, ok := c.ages().LongestWait(c.lock); {
	case !ok && c.lock.Waiting() > 0:
		return widget.Line{{t.Glyphs.Unknown, t.Unknown}}
	case !ok:
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	default:
		return widget.Line{{describe.SignOf(d), t.Muted}, {describe.Age(d.Duration), t.Text}}
	}
}

func waitTime(c cell) (time.Duration, bool) {
	longest, ok := c.ages().LongestWait(c.lock)
	return longest.Duration, ok
}

// queueCell counts the waiters, or gives a lower bound if some are unseen. If there is room, the
// last few minutes or a bar precede the count.
func queueCell(c cell) widget.Line {
	t, l := c.Theme(), c.lock
	count, style := t.Glyphs.Translate(describe.QueueLength(l)), t.Text
	switch count {
	case "0":
		count, style = t.Glyphs.Dash, t.Faint
	case "?":
		count, style = t.Glyphs.Unknown, t.Unknown
	}
	n := l.Waiting()
	switch {
	case c.room >= trendWidth:
		pulse := screen.Pulse(t, c.Trend(l.ID), trendCells).Align(trendCells, true, "")
		return append(pulse, widget.Line{{count, style}}.Align(trendWidth-trendCells, true, "")...)
	case n == 0 || c.room < queueWidth:
		return widget.Line{{count, style}}
	}
	room := min(queueBar, queueWidth-1-ansi.StringWidth(count))
	return widget.Line{{t.Bar(min(n, queueBar), queueBar, room), t.Waiting}, {" " + count, t.Text}}
}

// ttlCell is the remaining TTL of a Redis lock. If there is room, a gauge compares it with the
// longest TTL seen.
func ttlCell(c cell) widget.Line {
	t, l := c.Theme(), c.lock
	left, ok := ttlTime(c)
	switch {
	case len(l.Masters) == 0 || l.State == inspect.StateFree:
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	case len(l.Holders) > 0 && l.Holders[0].NoExpiry:
		return widget.Line{{"none", t.Warning}}
	case !ok:
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	case left <= 0:
		return widget.Line{{describe.Age(0), t.Warning}}
	case c.room < gaugeTTL:
		return widget.Line{{describe.Age(left), t.Text}}
	}
	return screen.Gauge(t, left, l.LongestTTL(), gaugeTTL-7, len(l.Holders) > 0)
}

func ttlTime(c cell) (time.Duration, bool) {
	at := screen.Expiry(c.lock)
	return at.Sub(c.now), !at.IsZero()
}

// clientCell and sessionCell show the first holder, and count the others.
func clientCell(c cell) widget.Line { return c.firstHolder(describe.Client) }

func sessionCell(c cell) widget.Line { return c.firstHolder(sessionOf) }

func sessionOf(o *inspect.Owner) string {
	if o.Session == 0 {
		return ""
	}
	return inspect.SessionID(o.Session)
}

func (c cell) firstHolder(text func(*inspect.Owner) string) widget.Line {
	t := c.Theme()
	switch n := len(c.lock.Holders); {
	case n == 0:
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	case text(&c.lock.Holders[0].Owner) == "":
		return widget.Line{{t.Glyphs.Unknown, t.Unknown}}
	case n == 1:
		return widget.Line{{text(&c.lock.Holders[0].Owner), t.Muted}}
	default:
		return widget.Line{{fmt.Sprintf("%s +%d", text(&c.lock.Holders[0].Owner), n-1), t.Muted}}
	}
}

func backendCell(c cell) widget.Line {
	return widget.Line{{describe.Printable(c.lock.ID.Backend), c.Theme().Muted}}
}
