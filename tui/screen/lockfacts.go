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

// Gauge is a bar that runs down, width cells wide, and the time left, 7 cells. Only the time of a
// hold has the holder's colour.
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

// HeldSince orders locks by how long they are held: the time of the first holder's grant or, where that is
// unknown, of its arrival, by the backend's clock, else that from which we saw it hold, by ours.
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

// Expiry of a held lock or, without a holder, of the last of its votes; zero when never.
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

// Ages has the snapshot and the time that ages refer to.
func Ages(host Context) describe.View {
	return describe.View{Snapshot: host.Snapshot(), Now: host.Now()}
}

// AgesOf has the time up to which a lock is known: that of the last reading where its backend is down, which is old.
func AgesOf(host Context, l *inspect.Lock) (v describe.View, old bool) {
	v = Ages(host)
	if b := host.Snapshot().Backend(l.ID.Backend); b != nil && b.State == inspect.Down && !l.ReadAt.IsZero() {
		v.Now, old = l.AsOf(b, v.Now), true
	}
	return v, old
}

// Verdict is a sentence on the holder of a lock, the time of its hold, and the waiters.
func Verdict(host Context, l *inspect.Lock) string {
	v, old := AgesOf(host, l)
	text := v.Verdict(l)
	if old {
		text = "read " + describe.Age(host.Now().Sub(v.Now)) + " ago: " + text
	}
	return host.Theme().Glyphs.Translate(text)
}

// Short is a name in so many cells: without the domain that all hosts share, and then cut in its middle.
func Short(host Context, name string, cells int) string {
	if widget.TextWidth(name) > cells {
		name = text.WithoutDomain(name, describe.SharedDomain(host.Snapshot()))
	}
	return text.Middle(name, cells, host.Theme().Glyphs.Ellipsis)
}

// Say makes a rule's text safe to print, with the signs of the terminal's character set.
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

// Instant orders times with the unknown last.
func Instant(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixNano()
}
