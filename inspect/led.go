package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

// Led is a leader that an operator forced out, although its library never checks its entry again.
// Most likely it keeps leading while its session lives.
type Led struct {
	Lock ID
	// Name of its former entry, and its Session.
	Name    Untrusted
	Session int64
	// At is the time, by our clock, at which it was forced out.
	At time.Time
}

// LeadsOn reports whether a contender leads an election and would keep leading without its entry.
func (l *Lock) LeadsOn(c *Contender) bool {
	return l.Kind == KindElection && c.State == Holding && recipe.LeadsOn(cmp.Or(c.Recipe, l.Recipe))
}

// Remember tells the observer which leaders were forced out earlier. Call it before Run.
func (o *Observer) Remember(leaders []Led) {
	for _, former := range leaders {
		o.led[former.Lock] = append(o.led[former.Lock], former)
	}
}

// rememberForced keeps the leaders that this program has just forced out.
func (o *Observer) rememberForced(was *Lock, events []Event) {
	for _, e := range events {
		if e.Kind == EventForced && e.Contender != nil && was.LeadsOn(e.Contender) {
			former := Led{Lock: e.Lock, Name: e.Contender.Name, Session: e.Contender.Owner.Session, At: e.At}
			o.led[e.Lock] = append(slices.Clip(o.led[e.Lock]), former)
		}
	}
}

// ExpectsElection reports whether one of the expectations marks that lock as an election.
func ExpectsElection(list []Expectation, id ID) bool {
	return slices.ContainsFunc(list, func(e Expectation) bool { return e.Election && text.Glob(e.Match, id.String()) })
}
