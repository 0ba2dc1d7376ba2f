package describe

import (
	"fmt"
	"time"

	"lockscope/inspect"
)

// Clock is an instant as a time of day where we are.
func Clock(t time.Time) string { return t.Local().Format("15:04:05") }

// Blind says of which time nothing was seen.
func Blind(i inspect.Interval) string {
	return fmt.Sprintf("nothing was seen from %s to %s (%v)", Clock(i.From), Clock(i.To), i.To.Sub(i.From).Round(time.Second))
}

// Change says what became of a backend's servers.
func Change(c *inspect.Change) string {
	from, to := inspect.Escape(c.From), inspect.Escape(c.To)
	switch c.What {
	case inspect.ChangedLeader:
		return fmt.Sprintf("%s leads now, before it %s", to, from)
	case inspect.ChangedMaster:
		return fmt.Sprintf("%s is the master now, before it %s: locks that it had not copied are gone", to, from)
	default:
		return to + " started anew: locks that it had not written down are gone"
	}
}
