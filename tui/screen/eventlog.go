package screen

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

// EventsKept bounds the log.
const EventsKept = 5000

// EventLog remembers what happened while we looked, the newest last. Events are numbered from 0 on as they come, so that
// a number stays when older events are forgotten.
type EventLog struct {
	List  []inspect.Event
	notes []EventNote // of each in List
	// Dropped counts those that were forgotten: the number of the first in List. Missed counts those that never came, as
	// they were too many at once.
	Dropped, Missed int
	// Keep bounds the log; 0: EventsKept.
	Keep int
	// Offset is a backend's clock minus ours; nil: none is known.
	Offset func(backend string) time.Duration
}

// EventNote is worked out from the log when an event comes, since what came before it is forgotten in time.
type EventNote struct {
	// From is the previous holder of a handover, escaped.
	From string
	// took is the length of a hold or a wait that has ended; 0 when unknown. atMost: it may have been shorter.
	took   time.Duration
	atMost bool
	// Text that filters search, lower case; made when one first asks.
	Text string
}

// Add takes over events. It moves the remembered ones only once in a while.
func (l *EventLog) Add(events []inspect.Event) {
	for _, e := range events {
		n := EventNote{From: previous(&e)}
		if e.Contender != nil {
			offset := time.Duration(0)
			if l.Offset != nil {
				offset = l.Offset(e.Lock.Backend)
			}
			n.took, n.atMost = lasted(e, offset)
		}
		l.List, l.notes = append(l.List, e), append(l.notes, n)
	}
	keep := cmp.Or(l.Keep, EventsKept)
	if over := len(l.List) - keep; over > keep/2 {
		l.List, l.notes = slices.Clone(l.List[over:]), slices.Clone(l.notes[over:])
		l.Dropped += over
	}
}

// Until is the log up to a time, for looking only.
func (l *EventLog) Until(t time.Time) *EventLog {
	n := sort.Search(len(l.List), func(i int) bool { return l.List[i].At.After(t) })
	cut := *l
	cut.List, cut.notes = l.List[:n:n], l.notes[:n:n]
	return &cut
}

// End is the number that the next event gets.
func (l *EventLog) End() int { return l.Dropped + len(l.List) }

// At is an event by its number, from dropped to end.
func (l *EventLog) At(number int) (*inspect.Event, *EventNote) {
	return &l.List[number-l.Dropped], &l.notes[number-l.Dropped]
}

// lasted is the length of the hold or the wait that an event ends, by the backend's clock.
func lasted(e inspect.Event, offset time.Duration) (took time.Duration, atMost bool) {
	c, at := e.Contender, e.At.Add(offset)
	between := func(from, to time.Time) time.Duration {
		if from.IsZero() {
			return 0
		}
		return max(0, to.Sub(from))
	}
	switch e.Kind {
	case inspect.EventAcquired, inspect.EventHandover:
		if !c.HeldSince.IsZero() {
			return between(c.Since, c.HeldSince), false
		}
		return between(c.Since, at), e.Unseen()
	case inspect.EventReleased, inspect.EventExpired, inspect.EventLost, inspect.EventEnded, inspect.EventForced:
		if c.HeldSince.IsZero() {
			return between(c.Since, at), true
		}
		return between(c.HeldSince, at), e.Unseen()
	case inspect.EventGone:
		return between(c.Since, at), e.Unseen()
	default:
		return 0, false
	}
}

// After is the place in a list of numbers, the smallest first, of the first that is not below number.
func After(numbers []int, number int) int { return sort.SearchInts(numbers, number) }

// EventWord is the name of a kind of event on the screen.
func EventWord(e *inspect.Event) string {
	switch e.Kind {
	case inspect.EventAppeared:
		return "lock found"
	case inspect.EventGone:
		if e.Contender != nil {
			return "left" // nobody saw it granted, which it may have been all the same
		}
		return "lock gone"
	case inspect.EventWaiting:
		return "waits"
	case inspect.EventHandover:
		return "handed over"
	case inspect.EventReleased:
		if e.Certainty == recipe.Likely && (e.Evictable || e.Contender.Owner.Session != 0) {
			return "released?" // or its session ran out, or its key was evicted; that a Redis key may have been renamed goes without saying
		}
		return "released"
	default:
		return string(e.Kind) // acquired, expired, lost, ended, forced, finding, cleared, backend, blind, changed
	}
}

// TookWords are the length of the hold or the wait that an event ends; empty where that is unknown or nothing.
func TookWords(t *theme.Theme, e *inspect.Event, n *EventNote) string {
	what := "held "
	switch e.Kind {
	case inspect.EventAcquired, inspect.EventHandover, inspect.EventGone:
		what = "waited "
	}
	switch {
	case n.took <= 0:
		return ""
	case n.atMost:
		what += t.Glyphs.AtMost
	}
	return what + describe.Span(n.took)
}
