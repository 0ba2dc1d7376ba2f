package screen

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/theme"
)

// EventsKept limits the log.
const EventsKept = 20_000

// EventLog remembers the events since it was created, the newest last. Events are numbered from 0
// as they arrive, and keep their numbers when others are dropped. A full log drops events of the
// locks that have the most, so that a noisy lock takes no room from a quiet one.
type EventLog struct {
	List  []inspect.Event
	notes []EventNote // of each in List
	next  int         // number of the next event
	// Dropped counts the forgotten events. Missed counts those that never arrived, because there
	// were too many at once.
	Dropped, Missed int
	// Keep limits the log; 0 means EventsKept.
	Keep int
	// Offset is a backend's clock minus ours; nil if none is known.
	Offset func(backend string) time.Duration
	// forgotten has the newest forgotten event of each lock, and ofAny the newest of all.
	forgotten map[inspect.ID]forgotten
	ofAny     forgotten
}

// forgotten is an event's number and its time.
type forgotten struct {
	number int
	at     time.Time
}

// EventNote is computed from the log when an event comes, since earlier events may be forgotten later.
type EventNote struct {
	number int
	// From is the previous holder in a handoff, escaped.
	From string
	// took is the length of a finished hold or wait; 0 if unknown. atMost is set if it may have
	// been shorter.
	took   time.Duration
	atMost bool
	// Text is the lower-case text that filters search, made on first use.
	Text string
}

// Add appends events. It forgets old ones only occasionally.
func (l *EventLog) Add(events []inspect.Event) {
	for _, e := range events {
		n := EventNote{number: l.next, From: previous(&e)}
		l.next++
		if e.Contender != nil {
			offset := time.Duration(0)
			if l.Offset != nil {
				offset = l.Offset(e.Lock.Backend)
			}
			n.took, n.atMost = lasted(e, offset)
		}
		l.List, l.notes = append(l.List, e), append(l.notes, n)
	}
	if keep := cmp.Or(l.Keep, EventsKept); len(l.List) > keep+keep/2 {
		l.forget(keep)
	}
}

// forget keeps the given number of events: each lock's newest ones, up to its share.
func (l *EventLog) forget(keep int) {
	counts := make(map[inspect.ID]int)
	for i := range l.List {
		counts[l.List[i].Lock]++
	}
	share := fairShare(slices.Sorted(maps.Values(counts)), keep)
	stays := make([]bool, len(l.List))
	clear(counts)
	for i, room := len(l.List)-1, keep; i >= 0; i-- {
		lock := l.List[i].Lock
		if room > 0 && counts[lock] < share {
			stays[i] = true
			counts[lock]++
			room--
		}
	}
	var list []inspect.Event
	var notes []EventNote
	for i, e := range l.List {
		if stays[i] {
			list, notes = append(list, e), append(notes, l.notes[i])
		} else {
			l.recordForgotten(e.Lock, forgotten{l.notes[i].number, e.At}, keep)
		}
	}
	l.Dropped += len(l.List) - len(list)
	l.List, l.notes = list, notes
}

// recordForgotten remembers a lock's newest forgotten event, for at most that many locks.
func (l *EventLog) recordForgotten(lock inspect.ID, f forgotten, most int) {
	if l.forgotten == nil {
		l.forgotten = make(map[inspect.ID]forgotten)
	}
	if l.ofAny.at.IsZero() || f.number > l.ofAny.number {
		l.ofAny = f
	}
	if _, known := l.forgotten[lock]; known || len(l.forgotten) < most {
		l.forgotten[lock] = f
	}
}

// fairShare is the largest limit per count that fits the ascending counts into room; at least 1.
func fairShare(counts []int, room int) int {
	for i, n := range counts {
		if left := len(counts) - i; n*left > room {
			return max(1, room/left)
		}
		room -= n
	}
	return math.MaxInt
}

// CompleteFrom returns the time and number of a lock's newest forgotten event or, for the zero
// ID, of the newest of all. The log is complete after it. If none was forgotten, the time is zero
// and the number -1.
func (l *EventLog) CompleteFrom(lock inspect.ID) (at time.Time, number int) {
	f, ok := l.forgotten[lock]
	full := len(l.forgotten) >= cmp.Or(l.Keep, EventsKept) // the lock's own may be missing
	if lock == (inspect.ID{}) || !ok && full {
		f, ok = l.ofAny, !l.ofAny.at.IsZero()
	}
	if !ok {
		return time.Time{}, -1
	}
	return f.at, f.number
}

// Until is a read-only view of the log up to a time.
func (l *EventLog) Until(t time.Time) *EventLog {
	n := sort.Search(len(l.List), func(i int) bool { return l.List[i].At.After(t) })
	cut := *l
	cut.List, cut.notes = l.List[:n:n], l.notes[:n:n]
	if cut.next = 0; n > 0 {
		cut.next = l.notes[n-1].number + 1
	}
	return &cut
}

// End is the number of the next event.
func (l *EventLog) End() int { return l.next }

// Place is the index in List of the first event whose number is at least number; the length of List
// without one.
func (l *EventLog) Place(number int) int {
	return sort.Search(len(l.notes), func(i int) bool { return l.notes[i].number >= number })
}

// Number is the number of the event at an index in List.
func (l *EventLog) Number(place int) int { return l.notes[place].number }

// At returns an event by its number; nil if it was forgotten.
func (l *EventLog) At(number int) (*inspect.Event, *EventNote) {
	i := l.Place(number)
	if i == len(l.notes) || l.notes[i].number != number {
		return nil, nil
	}
	return &l.List[i], &l.notes[i]
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
	case inspect.EventReleased, inspect.EventExpired, inspect.EventEnded, inspect.EventForced:
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

// After is the index of the first of the ascending numbers that is not below number.
func After(numbers []int, number int) int { return sort.SearchInts(numbers, number) }

// EventWord is the name of a kind of event on the screen.
func EventWord(e *inspect.Event) string {
	switch e.Kind {
	case inspect.EventAppeared:
		return "lock found"
	case inspect.EventGone:
		if e.Contender != nil {
			return "left" // it may have held the lock between two looks
		}
		return "lock gone"
	case inspect.EventWaiting:
		return "waiting"
	case inspect.EventReleased:
		if e.Certainty == recipe.Likely && e.Contender.Owner.Session != 0 {
			return "released?" // or its session expired; a possible rename of a Redis key is not marked
		}
		return "released"
	default:
		return describe.EventKind(e.Kind)
	}
}

// TookWords is the length of the hold or wait that an event ends; empty if none or it is
// unknown.
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
