package screen

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"
)

// Gauge is a shrinking bar, width cells wide, and the time left, 7 cells. Only the time of a hold has
// the holder's colour.
func Gauge(t *theme.Theme, left, span time.Duration, width int, held bool) widget.Line {
	bar := t.Holding
	if !held {
		bar = t.Muted
	}
	if left <= 0 {
		return widget.Line{{"expired", t.Warning}}
	}
	var out widget.Line
	if span > 0 {
		full, rest := t.Gauge(float64(left)/float64(span), width)
		out = widget.Line{{full, bar}, {rest, t.Faint}}
	}
	return out.Add(t.Text, fmt.Sprintf("%7s", describe.Age(left)))
}

// HeldSince sorts locks by how long they have been held. It is the first holder's grant or else
// its arrival, by the backend's clock. Without either, it is when we first saw it hold, by our
// clock.
func HeldSince(l *inspect.Lock) time.Time {
	switch {
	case len(l.Holders) == 0:
		return time.Time{}
	case !l.Holders[0].HeldSince.IsZero():
		return l.Holders[0].HeldSince
	case !l.Holders[0].Since.IsZero():
		return l.Holders[0].Since
	}
	return l.Holders[0].Seen
}

// HeldFor is how long the first holder has had the lock, as it is drawn: exactly, at most or at
// least. It is false without a holder, or if no bound is known.
func HeldFor(v describe.View, l *inspect.Lock) (time.Duration, bool) {
	if len(l.Holders) == 0 {
		return 0, false
	}
	held := v.Held(l, &l.Holders[0])
	return held.Duration, held.Known != describe.Unbounded
}

// Expiry is the expiry of a held lock, or the last expiry of its votes if it has no holder; zero if it
// never expires.
func Expiry(l *inspect.Lock) time.Time {
	if len(l.Holders) > 0 {
		return l.Holders[0].ExpiresAt
	}
	var last time.Time
	for i := range l.Masters {
		if at := l.Masters[i].ExpiresAt; at.After(last) {
			last = at
		}
	}
	return last
}

// Ages returns a view of the snapshot as of the drawn time.
func Ages(host Context) describe.View {
	return describe.View{Snapshot: host.Snapshot(), Now: host.Now()}
}

// AgesOf is Ages for one lock. If its backend is down, ages refer to its last reading, and old is
// set.
func AgesOf(host Context, l *inspect.Lock) (v describe.View, old bool) {
	v = Ages(host)
	if b := host.Snapshot().Backend(l.ID.Backend); b != nil && b.State == inspect.Down && !l.ReadAt.IsZero() {
		v.Now, old = l.AsOf(b, v.Now), true
	}
	return v, old
}

// Verdict is a sentence about a lock's holder, how long it has held the lock, and the waiters.
func Verdict(host Context, l *inspect.Lock) string {
	v, old := AgesOf(host, l)
	text := v.Verdict(l)
	if old {
		text = "read " + describe.Age(host.Now().Sub(v.Now)) + " ago: " + text
	}
	return host.Theme().Glyphs.Translate(text)
}

// Short cuts a name to a number of cells: first it drops the domain that all hosts share, then it
// cuts the middle.
func Short(host Context, name string, cells int) string {
	if widget.TextWidth(name) > cells {
		name = text.WithoutDomain(name, describe.SharedDomain(host.Snapshot()))
	}
	return text.Middle(name, cells, host.Theme().Glyphs.Ellipsis)
}

// Say makes a rule's text safe to print, in the terminal's character set.
func Say(t *theme.Theme, text string) string { return describe.Printable(t.Glyphs.Translate(text)) }

func Scanned(host Context) (n int, busy bool) {
	for _, b := range host.Snapshot().Backends {
		n += b.Scanned
		busy = busy || !b.FirstPass && b.State != inspect.Down
	}
	return n, busy
}

// Down counts the backends that cannot be reached.
func Down(host Context) int {
	n := 0
	for _, b := range host.Snapshot().Backends {
		if b.State == inspect.Down {
			n++
		}
	}
	return n
}

// BlindBackends reports whether a part of some backend does not answer.
func BlindBackends(host Context) bool {
	return slices.ContainsFunc(host.Snapshot().Backends, func(b *inspect.Backend) bool {
		return b.State != inspect.Connected
	})
}

// Instant makes times comparable, with unknown ones last.
func Instant(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixNano()
}
