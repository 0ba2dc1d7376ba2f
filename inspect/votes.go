package inspect

import (
	"slices"
	"time"

	"lockscope/inspect/recipe"
)

// KeyLock makes the lock of a Redis key from what each master says of it. Votes must be in the order of the
// masters; Agrees is filled in here. It never returns nil: a key that is gone everywhere is a free lock.
//
// Verdict (as the Redis documentation's Redlock asks for it): with N masters a value needs N/2+1 votes. One that has
// them is held; several values without a quorum are split, one is a minority; too few answers to tell is unknown.
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
	l.Margin = t.most - l.Quorum
	l.State = t.verdict(l.Quorum)
	if t.most > 0 {
		token := recipe.DecodeToken(id.Path, t.value.Raw())
		l.Recipe, l.Confidence = token.Recipe, token.Confidence
	}
	if t.most > 0 && !t.tie {
		for i := range l.Masters {
			m := &l.Masters[i]
			m.Agrees = m.Present && !m.Foreign && m.Value == t.value && m.Digest == t.digest
		}
	}
	if l.State == StateHeld {
		l.Holders = []Contender{keyHolder(l, t)}
		l.ValidUntil = validUntil(l, readAt)
	}
	return l
}

// tally is the count of the votes on one key.
type tally struct {
	value  Untrusted
	digest string
	most   int // votes of the most common value
	tie    bool
	values int // different values
	// masters that did not answer, have no such key, hold something that is no lock
	silent, absent, foreign int
}

func count(votes []Vote) tally {
	type ballot struct {
		value  Untrusted
		digest string
	}
	counts := make(map[ballot]int, len(votes))
	var t tally
	for _, v := range votes {
		switch {
		case !v.Up:
			t.silent++
		case !v.Present:
			t.absent++
		case v.Foreign:
			t.foreign++
		default:
			counts[ballot{v.Value, v.Digest}]++
		}
	}
	t.values = len(counts)
	for b, n := range counts {
		switch {
		case n > t.most:
			t.most, t.tie, t.value, t.digest = n, false, b.value, b.digest
		case n == t.most:
			t.tie = true
			if b.value < t.value { // the same one every time
				t.value, t.digest = b.value, b.digest
			}
		}
	}
	return t
}

func (t tally) verdict(quorum int) State {
	switch {
	case t.most >= quorum:
		return StateHeld
	case t.most+t.silent >= quorum:
		return StateUnknown // the silent masters could give it its quorum
	case t.values > 1:
		return StateSplit
	case t.values == 1:
		return StateMinority
	case t.absent >= quorum && t.foreign == 0:
		return StateFree
	default:
		return StateUnknown
	}
}

// keyHolder is the contender that a quorum of masters names.
func keyHolder(l *Lock, t tally) Contender {
	token := recipe.DecodeToken(l.ID.Path, t.value.Raw())
	c := Contender{
		Name:   t.value,
		Digest: t.digest,
		State:  Holding,
		Count:  1,
		Since:  token.Since,
		Owner:  Owner{Label: Untrusted(token.Label), Host: Untrusted(token.Host)},
	}
	c.ExpiresAt, c.NoExpiry = quorumExpiry(l)
	return c
}

// quorumExpiry is when the quorum falls apart: the quorum-th longest expiry among the votes. noExpiry when so many
// never expire that it does not.
func quorumExpiry(l *Lock) (at time.Time, noExpiry bool) {
	var ends []time.Time
	forever := 0
	for _, m := range l.Masters {
		switch {
		case !m.Agrees:
		case m.NoExpiry:
			forever++
		default:
			ends = append(ends, m.ExpiresAt)
		}
	}
	if forever >= l.Quorum {
		return time.Time{}, true
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	if i := l.Quorum - forever - 1; i < len(ends) {
		return ends[i], false
	}
	return time.Time{}, false
}

// validUntil takes the drift off the time that the quorum still lasts: 1 % of it and 2 ms, as Redlock clients do.
func validUntil(l *Lock, now time.Time) time.Time {
	at, noExpiry := quorumExpiry(l)
	if noExpiry || at.IsZero() {
		return time.Time{}
	}
	left := at.Sub(now)
	return now.Add(left - left/100 - 2*time.Millisecond)
}

// Votes is how many masters hold the value that most masters hold.
func (l *Lock) Votes() int { return l.Margin + l.Quorum }
