package describe

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// QueueLength returns the number of a lock's waiters: a bound if not all can be seen, and ? if none
// can.
func QueueLength(l *inspect.Lock) string {
	n := l.Waiting()
	switch hidden := l.Unknown(inspect.AspectWaiters) || n == 0 && QueueHidden(l); {
	case hidden && n == 0:
		return "?"
	case hidden || l.WaitersAtLeast > 0:
		return fmt.Sprintf("≥%d", n)
	default:
		return fmt.Sprint(n)
	}
}

// QueueHidden reports whether a lock may have waiters unknown to the servers. Most Redis libraries
// only retry while the key exists.
func QueueHidden(l *inspect.Lock) bool {
	return len(l.Masters) > 0 && l.State != inspect.StateFree && !recipe.RecordsWaiters(l.Recipe)
}

// EventKind names a kind of event as in the JSON, except for a handoff.
func EventKind(kind inspect.EventKind) string {
	if kind == inspect.EventHandover {
		return "handoff"
	}
	return string(kind)
}

// Clock is our local time of day.
func Clock(t time.Time) string { return t.Local().Format("15:04:05") }

// When is a time of day in now's time zone, with the date if Distant.
func When(at, now time.Time) string {
	at = at.In(now.Location())
	if Distant(at, now) {
		return at.Format(time.DateTime)
	}
	return at.Format(time.TimeOnly)
}

// Distant reports whether a time of day alone could be taken for another day's.
func Distant(at, now time.Time) bool { return now.Sub(at).Abs() >= 12*time.Hour }

func Blind(i inspect.Interval) string {
	return fmt.Sprintf("nothing was seen from %s to %s (%v)", When(i.From, i.To.Local()), Clock(i.To),
		i.To.Sub(i.From).Round(time.Second))
}

// Change describes a change of a backend's servers.
func Change(c *inspect.Change) string {
	from, to := inspect.Escape(c.From), inspect.Escape(c.To)
	switch c.What {
	case inspect.ChangedLeader:
		return fmt.Sprintf("%s is the leader now, instead of %s", to, from)
	case inspect.ChangedMaster:
		return fmt.Sprintf("%s is the master now, instead of %s: locks that were not replicated are gone", to, from)
	default:
		return to + " restarted: locks that it had not persisted are gone"
	}
}
