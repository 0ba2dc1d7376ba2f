package tui

import (
	"time"

	"lockscope/inspect"
	"lockscope/theme"
)

// heldTime is how long a lock is held, as far as that is known.
type heldTime struct {
	time.Duration
	known bound
}

// bound says how a time is known.
type bound uint8

const (
	unbounded bound = iota
	exactly
	noMore
	noLess
)

// near is how far apart two bounds are that tell the time together.
const near = time.Second

// held is how long a contender holds its lock. Where its grant was not seen, its entry tells how long at most, and we how
// long at least.
func (w *world) held(l *inspect.Lock, c *inspect.Contender) heldTime {
	if d, ok := w.snapshot.Age(l, c.HeldSince, w.now); ok {
		return heldTime{d, exactly}
	}
	most, made := w.snapshot.Age(l, c.Since, w.now)
	least := w.now.Sub(c.Seen)
	switch {
	case made && !c.Seen.IsZero() && most-least <= near:
		return heldTime{most, exactly}
	case made:
		return heldTime{most, noMore}
	case !c.Seen.IsZero():
		return heldTime{least, noLess}
	}
	return heldTime{}
}

// sign stands before a time that is only bounded.
func (b bound) sign(g *theme.Glyphs) string {
	switch b {
	case noMore:
		return g.AtMost
	case noLess:
		return g.AtLeast
	default:
		return ""
	}
}

// words say how long a lock is held, to be put behind "holds it" or "held".
func (h heldTime) words() string {
	switch h.known {
	case exactly:
		return " for " + age(h.Duration)
	case noMore:
		return " since before we looked, for " + age(h.Duration) + " at most"
	case noLess:
		return " since before we looked, for " + seconds(h.Duration) + " at least"
	default:
		return " since before we looked"
	}
}
