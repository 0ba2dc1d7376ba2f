package tui

import (
	"slices"
	"sort"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

// eventsKept is how many events the log remembers.
const eventsKept = 5000

// eventLog remembers what happened while we looked, the newest last. Events are numbered from 0 on as they come, so that
// a number stays when older events are forgotten.
type eventLog struct {
	list  []inspect.Event
	notes []eventNote // of each in list
	// dropped counts those that were forgotten: the number of the first in list. missed counts those that never came, as
	// they were too many at once.
	dropped, missed int
	// offset is a backend's clock minus ours; nil: none is known.
	offset func(backend string) time.Duration
}

// eventNote is what the log works out about an event when it comes.
type eventNote struct {
	// from is who held the lock before a handover, escaped.
	from string
	// took is how long a hold or a wait was that has ended; 0 when not known. atMost: it may have been shorter.
	took   time.Duration
	atMost bool
	// text is what filters look in, lower case; made when one first asks.
	text string
}

// add takes over events. It moves the remembered ones only once in a while.
func (l *eventLog) add(events []inspect.Event) {
	for _, e := range events {
		n := eventNote{from: previous(&e)}
		if e.Contender != nil {
			offset := time.Duration(0)
			if l.offset != nil {
				offset = l.offset(e.Lock.Backend)
			}
			n.took, n.atMost = lasted(e, offset)
		}
		l.list, l.notes = append(l.list, e), append(l.notes, n)
	}
	if over := len(l.list) - eventsKept; over > eventsKept/2 {
		l.list, l.notes = slices.Clone(l.list[over:]), slices.Clone(l.notes[over:])
		l.dropped += over
	}
}

// end is the number that the next event gets.
func (l *eventLog) end() int { return l.dropped + len(l.list) }

// at is an event by its number, from dropped to end.
func (l *eventLog) at(number int) (*inspect.Event, *eventNote) {
	return &l.list[number-l.dropped], &l.notes[number-l.dropped]
}

// lasted is how long the hold or the wait was that an event ends, by the backend's clock.
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
			at = c.HeldSince
		}
		return between(c.Since, at), false
	case inspect.EventReleased, inspect.EventExpired, inspect.EventLost, inspect.EventEnded, inspect.EventForced:
		if c.HeldSince.IsZero() {
			return between(c.Since, at), true
		}
		return between(c.HeldSince, at), false
	case inspect.EventGone:
		return between(c.Since, at), false
	default:
		return 0, false
	}
}

// after is the place in a list of numbers, the smallest first, of the first that is not below number.
func after(numbers []int, number int) int { return sort.SearchInts(numbers, number) }

// eventWord is what a kind of event is called on the screen.
func eventWord(e *inspect.Event) string {
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
		if e.Certainty == recipe.Likely {
			return "released?" // or its session ran out
		}
		return "released"
	default:
		return string(e.Kind) // acquired, expired, lost, ended, forced, finding, cleared, backend, blind, changed
	}
}

// tookWords say how long the hold or the wait was that an event ends; empty where that is not known or nothing.
func tookWords(t *theme.Theme, e *inspect.Event, n *eventNote) string {
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
