package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// KeyLock makes the lock of a Redis key from each master's vote. Votes must be in the order of the
// masters; KeyLock fills in Agrees. It never returns nil: a key that is gone everywhere is a free
// lock.
//
// The verdict follows Redlock in the Redis documentation: with N masters a value with N/2+1
// votes is held. Without a quorum, several values are a split and a single value is a minority. If
// too few masters answered to decide, it is unknown.
func KeyLock(id ID, votes []Vote, readAt time.Time) *Lock {
	l := &Lock{
		ID:         id,
		Kind:       KindMutex,
		Confidence: recipe.Possible, // by name alone
		Masters:    slices.Clone(votes),
		Quorum:     len(votes)/2 + 1,
		ReadAt:     readAt,
	}
	if len(votes) > 1 {
		l.Kind = KindRedlock
	}
	t := count(votes)
	if t.foreign == len(votes) {
		l.Kind = KindUnknown // no master shows a lock
	}
	if t.most > 0 {
		t.token = recipe.DecodeToken(id.Path, t.value.Raw())
	}
	l.Margin = t.most - l.Quorum
	l.State = t.verdict(l.Quorum)
	l.recognise(t)
	if l.Kind == KindMutex && recipe.ElectsByPath(id.Path) {
		l.Kind, l.KindConfidence = KindElection, recipe.Possible
	}
	for i := range l.Masters {
		m := &l.Masters[i]
		m.Agrees = slices.ContainsFunc(ballotsOf(*m), func(b ballot) bool {
			return t.counts[b] >= l.Quorum || t.counts[b] == t.most && !t.tie
		})
	}
	if l.State == StateHeld {
		l.Holders = l.holders(t)
		l.ValidUntil = validUntil(l, readAt)
	}
	l.queue(readAt)
	for i := range l.Masters {
		for _, u := range l.Masters[i].Unseen {
			if !slices.Contains(l.Unseen, u) {
				l.Unseen = append(l.Unseen, u)
			}
		}
	}
	return l
}

// Named raises a possible lock to likely, since the operator named it by its path, a pattern or a
// recipe. It does not promote data that is visibly not a lock, or plain numbered nodes: a registry
// has them too, and only their watches tell the two apart.
func (l *Lock) Named() {
	if l.Confidence == recipe.Possible && l.Kind != KindUnknown && l.Recipe != "sequential" {
		l.Confidence = recipe.Likely
	}
}

// recognise decodes the recipe of the most common value, or of the masters' structure.
func (l *Lock) recognise(t tally) {
	for i := range l.Masters {
		r := l.Masters[i].Held
		if r == nil {
			continue
		}
		l.Recipe, l.Confidence, l.Limit = r.Recipe, r.Confidence, r.Limit
		if kind := Kind(r.Kind); kind != KindMutex || len(l.Masters) == 1 {
			l.Kind = kind
		}
		return
	}
	if t.most > 0 {
		l.Recipe, l.Confidence = t.token.Recipe, t.token.Confidence
		if t.token.Kind != "" && len(l.Masters) == 1 {
			l.Kind = Kind(t.token.Kind)
		}
	}
}

// ballot is a master's vote: the whole value of a plain string, or one holder of a structure.
type ballot struct {
	value  Untrusted
	digest string
}

func ballotsOf(v Vote) []ballot {
	switch {
	case v.Held != nil:
		var list []ballot
		for _, c := range v.Held.Claims {
			if !c.Waiting {
				list = append(list, ballot{value: Untrusted(c.Name)})
			}
		}
		return list
	case v.Up && v.Present && !v.Foreign && !v.Unknown(AspectHolders):
		return []ballot{{v.Value, v.Digest}}
	}
	return nil
}

// tally counts the votes on one key.
type tally struct {
	ballot              // the most common one
	token  recipe.Token // decoded as the value of a plain string
	counts map[ballot]int
	most   int // its votes
	tie    bool
	values int  // different values
	shared bool // values are permits, so each counts alone
	// masters that did not answer, have no such key, hold something that is not a lock, or hide its holder or
	// the key itself
	silent, absent, foreign, opaque int
}

func count(votes []Vote) tally {
	t := tally{counts: make(map[ballot]int, len(votes))}
	partial := map[string]bool{}
	for _, v := range votes {
		list := ballotsOf(v)
		t.shared = t.shared || v.Held != nil && Kind(v.Held.Kind) == KindSemaphore
		switch {
		case !v.Up:
			t.silent++
		case len(list) > 0:
			for _, b := range list {
				t.counts[b]++
			}
		case v.Unknown(AspectHolders):
			t.opaque++
		case v.Held != nil:
			t.countEmpty(v.Held, partial)
		case !v.Present:
			t.absent++
		case v.Foreign:
			t.foreign++
		}
	}
	t.values = len(t.counts) + len(partial)
	for b, n := range t.counts {
		if n < t.most {
			continue
		}
		if t.tie = n == t.most; !t.tie || b.value < t.value { // on a tie, always the same one
			t.ballot = b
		}
		t.most = n
	}
	return t
}

// countEmpty counts a master that has the lock's keys, but no holder.
func (t *tally) countEmpty(r *recipe.Record, partial map[string]bool) {
	for _, p := range r.Partial {
		partial[p] = true
	}
	if r.Opaque {
		t.opaque++
	} else {
		t.absent++
	}
}

func (t tally) verdict(quorum int) State {
	switch {
	case t.most >= quorum:
		return StateHeld
	case t.most+t.silent+t.opaque >= quorum:
		return StateUnknown // masters that hide it could complete its quorum
	case t.values > 1 && !t.shared:
		return StateSplit
	case t.values > 0:
		return StateMinority
	case t.absent >= quorum && t.foreign == 0:
		return StateFree
	default:
		return StateUnknown
	}
}

// quorumExpiry returns when the quorum ends: at the quorum-th latest expiry among the votes.
// noExpiry is true if the votes without an expiry are a quorum.
func quorumExpiry(l *Lock) (at time.Time, noExpiry bool) {
	ends := make([]time.Time, 0, len(l.Masters))
	forever := 0
	for _, m := range l.Masters {
		switch {
		case !m.Agrees || !m.Present:
		case m.NoExpiry:
			forever++
		default:
			ends = append(ends, m.ExpiresAt)
		}
	}
	return nthEnd(ends, forever, l.Quorum)
}

// nthEnd returns the n-th latest end. forever counts the votes that never expire.
func nthEnd(ends []time.Time, forever, n int) (at time.Time, never bool) {
	if forever >= n {
		return time.Time{}, true
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	if i := n - forever - 1; i < len(ends) {
		return ends[i], false
	}
	return time.Time{}, false
}

// validUntil subtracts the drift from the quorum's remaining time: 1 % of it and 2 ms, as Redlock
// clients do.
func validUntil(l *Lock, now time.Time) time.Time {
	at, noExpiry := quorumExpiry(l)
	if noExpiry || at.IsZero() {
		return time.Time{}
	}
	left := at.Sub(now)
	return now.Add(left - left/100 - 2*time.Millisecond)
}

// Votes counts the masters that hold the most common value.
func (l *Lock) Votes() int { return l.Margin + l.Quorum }

// Ballot lists how many masters have each value, largest first: 2·2·1.
func (l *Lock) Ballot() string {
	counts := make(map[Untrusted]int)
	for _, m := range l.Masters {
		for _, b := range ballotsOf(m) {
			counts[b.value+Untrusted(b.digest)]++
		}
	}
	var parts []string
	for n := len(l.Masters); n > 0; n-- {
		for _, c := range counts {
			if c == n {
				parts = append(parts, fmt.Sprint(n))
			}
		}
	}
	return strings.Join(parts, "·")
}
