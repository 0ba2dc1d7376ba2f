package describe

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// View is the basis of ages: a snapshot, and the time to show, by our clock.
type View struct {
	Snapshot *inspect.Snapshot
	Now      time.Time
}

// Bound says how exact a time is.
type Bound uint8

// The bounds. The zero value means that the time is unknown.
const (
	Unbounded Bound = iota
	Exactly
	AtMost
	AtLeast
	About // by a server clock that could not be compared with ours
)

// Held is how long a lock has been held, as far as known.
type Held struct {
	time.Duration
	Known Bound
	// Usual is the longest that the lock is usually held; 0 if unknown, or if its holder should
	// keep it.
	Usual time.Duration

	once   bool      // seen by a one-shot command, which does not watch
	unseen beginning // if it was not seen
	learnt bool      // from history; else it is configured
}

// overLearnt is the multiple of a learnt 99th percentile above which a hold is too long, since one
// in a hundred exceeds the percentile itself.
const overLearnt = 3

// Over reports whether it is known to be held for longer than usual.
func (h Held) Over() bool {
	limit := h.Usual
	if h.learnt {
		limit *= overLearnt
	}
	return limit > 0 && h.Duration > limit && (h.Known == Exactly || h.Known == AtLeast)
}

// Near is the gap below which two bounds are shown as one time.
const Near = time.Second

// Held returns how long a contender has held its lock. If its grant was not seen, its entry gives
// the upper bound, and our watching, if any, the lower one.
func (v View) Held(l *inspect.Lock, c *inspect.Contender) Held {
	held := v.held(l, c)
	if l.Kind != inspect.KindElection {
		held.Usual, held.learnt = l.UsualHold()
	}
	return held
}

// InState is the longest that a contender can have held the lock or waited for it. It is 0 if
// unknown, for example if we began to watch later.
func (v View) InState(l *inspect.Lock, c *inspect.Contender) time.Duration {
	if c.State == inspect.Holding {
		held := v.held(l, c)
		if held.Known == AtLeast || held.Known == About {
			return 0
		}
		return held.Duration
	}
	if waited, _ := v.Since(l, c); waited.Known {
		return waited.Duration
	}
	return 0
}

// Since is the age of a contender's entry; false if unknown.
func (v View) Since(l *inspect.Lock, c *inspect.Contender) (inspect.Age, bool) {
	return v.Snapshot.Age(l, c, c.Since, v.Now)
}

func (v View) held(l *inspect.Lock, c *inspect.Contender) Held {
	b := v.Snapshot.Backend(l.ID.Backend)
	if granted, ok := v.Snapshot.Age(l, c, c.HeldSince, v.Now); ok && granted.Known {
		return Held{Duration: granted.Duration, Known: Exactly}
	}
	once := b != nil && b.Mode == inspect.ModeOnce
	entered, made := v.Since(l, c)
	unseen := beginning{now: v.Now}
	if !once {
		unseen.seen = c.Seen
	}
	most, least := entered.Duration, v.Now.Sub(c.Seen)
	switch {
	case made && !entered.Known:
		return Held{Duration: most, Known: About, once: once, unseen: unseen}
	case made && !c.Seen.IsZero() && (most-least).Abs() <= Near:
		return Held{Duration: most, Known: Exactly}
	case made:
		if l.Masters == nil { // in Redis it is when the client asked or acquired, by its own clock
			unseen.queued = v.Now.Add(-most)
		}
		return Held{Duration: most, Known: AtMost, once: once, unseen: unseen}
	case !c.Seen.IsZero() && !once:
		return Held{Duration: least, Known: AtLeast, unseen: unseen}
	}
	return Held{once: once, unseen: unseen}
}

// Sign returns the sign shown before a time that is only a bound.
func (b Bound) Sign() string {
	switch b {
	case AtMost:
		return "≤"
	case AtLeast:
		return "≥"
	case About:
		return "~"
	default:
		return ""
	}
}

// verb is the text shown before String.
func (h Held) verb() string {
	if h.Known == Unbounded {
		return " holds it"
	}
	return " has held it"
}

// String returns words to follow the verb, or "held".
func (h Held) String() string {
	text := h.text()
	if h.Over() {
		times, digits := float64(h.Duration)/float64(h.Usual), 1
		if times >= 10 {
			digits = 0
		}
		text += fmt.Sprintf(" (%.*f times the usual %s)", digits, times, Limit(h.Usual))
	}
	return text
}

func (h Held) text() string {
	before := h.unseen.String()
	if h.once && h.unseen.queued.IsZero() {
		before = ""
	}
	switch h.Known {
	case Exactly:
		return " for " + Age(h.Duration)
	case AtMost:
		return " for up to " + Age(h.Duration) + before
	case AtLeast:
		return " for at least " + Seconds(h.Duration) + before
	case About:
		return " for about " + Age(h.Duration) + " by the servers' clock (not compared with ours)" + before
	default:
		return before
	}
}

// beginning bounds the start of a hold that we did not see begin.
type beginning struct {
	// queued is when the holder joined the queue, and seen when we first saw it hold the lock, by
	// our clock; zero if unknown.
	queued, seen, now time.Time
}

// String is the text after the words about a hold.
func (b beginning) String() string {
	queued, seen := When(b.queued, b.now.Local()), When(b.seen, b.now.Local())
	switch {
	case b.seen.IsZero() && b.queued.IsZero():
		return " (we did not see it begin)"
	case b.seen.IsZero() || b.seen.Before(b.queued): // our clock was adjusted in between
		return " (queued " + queued + ")"
	case b.queued.IsZero():
		return " (already held at " + seen + ")"
	}
	return " (acquired between " + queued + " and " + seen + ")"
}

// LongestWait returns the wait of the oldest waiter; false if that is unknown.
func (v View) LongestWait(l *inspect.Lock) (inspect.Age, bool) {
	if oldest := LongestWaiter(l); oldest != nil {
		return v.Since(l, oldest)
	}
	return inspect.Age{}, false
}

// LongestWaiter returns the waiter that came first, by the servers' clocks; nil if unknown.
// Contenders that are most likely gone do not count.
func LongestWaiter(l *inspect.Lock) *inspect.Contender {
	var oldest *inspect.Contender
	for i := range l.Waiters {
		if w := &l.Waiters[i]; !w.Dead && !w.Since.IsZero() && (oldest == nil || w.Since.Before(oldest.Since)) {
			oldest = w
		}
	}
	return oldest
}

// OldestWaiter returns when that waiter came, by the backend's clock; zero if unknown.
func OldestWaiter(l *inspect.Lock) time.Time {
	if oldest := LongestWaiter(l); oldest != nil {
		return oldest.Since
	}
	return time.Time{}
}

// SignOf returns the sign shown before an age whose clock was not compared with ours.
func SignOf(a inspect.Age) string {
	if a.Known {
		return ""
	}
	return About.Sign()
}

// Signed is an age with its sign.
func Signed(a inspect.Age) string { return SignOf(a) + Age(a.Duration) }
