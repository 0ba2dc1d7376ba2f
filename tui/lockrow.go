package tui

import (
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
)

// lockCells are the cells of a lock's row, before any layout.
type lockCells struct {
	mark                                                                span
	lock, kind, library, holder, client, held, queue, ttl, finding, old line
}

// queueBar is how many cells a queue's bar has at most.
const queueBar = 5

// queueWidth is how wide the queue's column is.
const queueWidth = 8

// cells turns a lock into the cells of its row.
func cellsOf(host Context, l *inspect.Lock, span time.Duration) lockCells {
	t := host.Theme()
	c := lockCells{
		mark:    sign(t, l),
		lock:    line{{describe.Printable(l.ID.Backend) + ":", t.Muted}, {inspect.Escape(l.ID.Path), t.Text}},
		kind:    line{{string(l.Kind), t.Muted}},
		library: line{{l.Recipe, t.Muted}},
		holder:  holderCell(host, l),
		held:    heldCell(host, l),
		queue:   queueCell(host, l),
		ttl:     ttlCell(host, l, span),
	}
	if len(l.Holders) == 1 {
		if at := describe.Client(&l.Holders[0].Owner); at != "" && at != c.holder.text() {
			c.client = line{{"  " + at, t.Muted}}
		}
	}
	if l.Recipe == "" {
		c.library = line{{t.Glyphs.Dash, t.Faint}}
	}
	if d, ok := outdated(host, l); ok {
		c.old = line{{describe.Age(d) + " old", t.Unknown}}
	}
	if f := describe.Worst(l.Findings); f != nil {
		c.finding = line{{f.Rule, severitySign(t, f.Severity).style}}
	}
	return c
}

// outdated is how old what we know of a lock is, when its backend cannot be reached; false while it can be.
func outdated(host Context, l *inspect.Lock) (time.Duration, bool) {
	b := host.Snapshot().Backend(l.ID.Backend)
	if b == nil || b.State != inspect.Down || l.ReadAt.IsZero() {
		return 0, false
	}
	return max(0, host.Now().Sub(l.ReadAt)), true
}

func holderCell(host Context, l *inspect.Lock) line {
	t := host.Theme()
	switch l.State {
	case inspect.StateFree:
		return line{{"free", t.Free}}
	case inspect.StateUnknown:
		return line{{"unknown", t.Unknown}, {answered(l), t.Muted}}
	case inspect.StateSplit:
		return line{{t.Glyphs.Put("split " + l.Ballot()), t.Critical}}
	case inspect.StateMinority:
		return line{{fmt.Sprintf("minority %d/%d", l.Votes(), len(l.Masters)), t.Warning}}
	}
	n := len(l.Holders)
	switch {
	case n == 0:
		return line{{"nobody", t.Unknown}}
	case l.Kind == inspect.KindSemaphore && l.Limit > 0:
		return line{{fmt.Sprintf("%d of %s", n, describe.Count(l.Limit, "permit")), t.Holding}}
	case l.Kind == inspect.KindSemaphore:
		return line{{describe.Count(n, "permit"), t.Holding}}
	case n > 1 && l.Holders[0].Mode == recipe.Shared:
		return line{{fmt.Sprintf("%d readers", n), t.Holding}}
	case n > 1:
		return line{{fmt.Sprintf("%d holders", n), t.Holding}}
	}
	return oneHolder(host, l)
}

func oneHolder(host Context, l *inspect.Lock) line {
	t, h := host.Theme(), &l.Holders[0]
	name := describe.Owner(h)
	if name == h.Name.String() {
		name = text.Middle(name, 12, t.Glyphs.Ellipsis)
	}
	out := line{{name, t.Holding}}
	if len(l.Masters) > 1 {
		style := t.Muted
		if l.Margin == 0 {
			style = t.Warning
		}
		out = out.add(style, fmt.Sprintf(" %d/%d", l.Votes(), len(l.Masters)))
	}
	return out
}

// answered is how many masters could be asked; empty for ZooKeeper.
func answered(l *inspect.Lock) string {
	if len(l.Masters) == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d up", len(l.Masters)-describe.Tally(l).Silent, len(l.Masters))
}

// heldCell is how long it is held; with ≤ or ≥ when only a bound is known.
func heldCell(host Context, l *inspect.Lock) line {
	t := host.Theme()
	if len(l.Holders) > 0 {
		h := &l.Holders[0]
		switch held := agesOf(host).Held(l, h); held.Known {
		case describe.Unbounded:
			return line{{t.Glyphs.Unknown, t.Unknown}}
		case describe.AtLeast:
			return line{{t.Glyphs.AtLeast, t.Muted}, {describe.Seconds(held.Duration), t.Text}}
		default:
			return line{{t.Glyphs.Put(held.Known.Sign()), t.Muted}, {describe.Age(held.Duration), t.Text}}
		}
	}
	return line{{t.Glyphs.Dash, t.Faint}}
}

// queueCell is how many wait, at least when more are known to wait unseen, behind a bar as far as there is room for it.
func queueCell(host Context, l *inspect.Lock) line {
	t, n := host.Theme(), len(l.Waiters)+l.WaitersAtLeast
	if n == 0 {
		return line{{t.Glyphs.Dash, t.Faint}}
	}
	count := fmt.Sprintf(" %d", n)
	if l.WaitersAtLeast > 0 {
		count = " " + t.Glyphs.AtLeast + count[1:]
	}
	room := min(queueBar, queueWidth-ansi.StringWidth(count))
	return line{{t.Bar(min(n, queueBar), queueBar, room), t.Waiting}, {count, t.Text}}
}

// ttlCell is what is left of a Redis lock's life, with a small gauge when its full length is known.
func ttlCell(host Context, l *inspect.Lock, span time.Duration) line {
	t := host.Theme()
	if len(l.Masters) == 0 || l.State == inspect.StateFree {
		return line{{t.Glyphs.Dash, t.Faint}}
	}
	if len(l.Holders) > 0 && l.Holders[0].NoExpiry {
		return line{{"none", t.Warning}}
	}
	at := expiry(l)
	if at.IsZero() {
		return line{{t.Glyphs.Dash, t.Faint}}
	}
	left := at.Sub(host.Now())
	if left <= 0 {
		return line{{describe.Age(0), t.Warning}}
	}
	return gauge(host.Theme(), left, span, gaugeTTL-7, len(l.Holders) > 0)
}
