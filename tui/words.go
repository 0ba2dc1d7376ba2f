package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

// who names a contender as a person would: its label, else its client, host, session or name.
func who(c *inspect.Contender) string {
	o := &c.Owner
	switch {
	case o.Label != "":
		return o.Label.String()
	case o.Client != "":
		return printed(o.Client)
	case o.Host != "":
		return o.Host.String()
	case o.Session != 0:
		return inspect.SessionID(o.Session)
	default:
		return c.Name.String()
	}
}

// client is where a contender sits, as well as it is known; empty when it is not.
func client(o *inspect.Owner) string {
	if o.Client != "" {
		return printed(o.Client)
	}
	return o.Host.String()
}

// tally is how the masters voted.
type tally struct {
	counts         []int // by value, the most first
	absent, silent int
}

func votes(l *inspect.Lock) tally {
	var t tally
	counts := make(map[string]int)
	for _, v := range l.Masters {
		switch {
		case !v.Up:
			t.silent++
		case !v.Present:
			t.absent++
		case v.Foreign: // no lock, so no vote
		default:
			counts[v.Value.Raw()+v.Digest]++
		}
	}
	t.counts = slices.SortedFunc(maps.Values(counts), func(a, b int) int { return cmp.Compare(b, a) })
	return t
}

// ballot is 2·2·1: the votes by value.
func ballot(t *theme.Theme, l *inspect.Lock) string {
	return strings.ReplaceAll(l.Ballot(), "·", t.Glyphs.Dot)
}

// rank is how bad a lock is, the worst first.
type rank int

const (
	rankFree rank = iota
	rankHeld
	rankContended
	rankUnknown
	rankWarning
	rankCritical
)

func rankOf(l *inspect.Lock) rank {
	r := rankFree
	switch l.State {
	case inspect.StateHeld:
		r = rankHeld
	case inspect.StateContended:
		r = rankContended
	case inspect.StateUnknown:
		r = rankUnknown
	case inspect.StateMinority:
		r = rankWarning
	case inspect.StateSplit:
		r = rankCritical
	}
	switch f := worst(l); {
	case f == nil:
	case f.Severity == inspect.Critical:
		r = rankCritical
	case f.Severity == inspect.Warning:
		r = max(r, rankWarning)
	}
	return r
}

// worst is the worst finding of a lock; nil when it has none.
func worst(l *inspect.Lock) *inspect.Finding {
	var found *inspect.Finding
	for i := range l.Findings {
		if f := &l.Findings[i]; found == nil || severity(f.Severity) > severity(found.Severity) {
			found = f
		}
	}
	return found
}

func severity(s inspect.Severity) int {
	return slices.Index([]inspect.Severity{inspect.Info, inspect.Warning, inspect.Critical}, s)
}

// sign is the glyph of a lock and its style.
func sign(t *theme.Theme, l *inspect.Lock) span { return rankSign(t, rankOf(l)) }

func rankSign(t *theme.Theme, r rank) span {
	switch r {
	case rankCritical:
		return span{t.Glyphs.Critical, t.Critical}
	case rankWarning:
		return span{t.Glyphs.Warning, t.Warning}
	case rankUnknown:
		return span{t.Glyphs.Unknown, t.Unknown}
	case rankFree:
		return span{t.Glyphs.Free, t.Free}
	default:
		return span{t.Glyphs.Holding, t.Holding}
	}
}

// severitySign is the glyph of a finding and its style.
func severitySign(t *theme.Theme, s inspect.Severity) span {
	switch s {
	case inspect.Critical:
		return span{t.Glyphs.Critical, t.Critical}
	case inspect.Warning:
		return span{t.Glyphs.Warning, t.Warning}
	default:
		return span{t.Glyphs.Info, t.Info}
	}
}

// verdict says in plain words who holds a lock, since when, and who waits.
func (w *world) verdict(l *inspect.Lock) string {
	if len(l.Masters) > 0 {
		return w.redisVerdict(l)
	}
	switch {
	case l.State == inspect.StateUnknown:
		return "unknown: it could not be read; this does not say that nobody holds it"
	case len(l.Holders) == 0 && len(l.Waiters) == 0:
		return "free: nobody holds it and nobody waits"
	case len(l.Holders) == 0:
		return fmt.Sprintf("nobody holds it, though %s; first in line is %s", waitWords(len(l.Waiters)), who(&l.Waiters[0]))
	}
	return w.holders(l) + w.queue(l)
}

func (w *world) holders(l *inspect.Lock) string {
	h := &l.Holders[0]
	n := len(l.Holders)
	switch {
	case l.Kind == inspect.KindSemaphore && l.Limit > 0:
		return fmt.Sprintf("%d of %s used", n, plural(l.Limit, "permit"))
	case l.Kind == inspect.KindSemaphore:
		return plural(n, "permit") + " used"
	case n > 1 && h.Mode == recipe.Shared:
		return fmt.Sprintf("%d readers hold it", n)
	case n > 1 && oneSession(l.Holders):
		return fmt.Sprintf("%s holds it with %d entries", who(h), n)
	case n > 1:
		return fmt.Sprintf("%d hold it", n)
	}
	text := who(h)
	if at := client(&h.Owner); at != "" && at != text {
		text += " (" + at + ")"
	}
	if h.Mode == recipe.Shared {
		text += " reads it"
	} else {
		text += " holds it"
	}
	return text + w.held(l, h).words()
}

// oneSession says that several holders are one client, which both reads and writes.
func oneSession(holders []inspect.Contender) bool {
	first := holders[0].Owner.Session
	return first != 0 && !slices.ContainsFunc(holders, func(c inspect.Contender) bool { return c.Owner.Session != first })
}

func (w *world) queue(l *inspect.Lock) string {
	n := len(l.Waiters)
	if n == 0 {
		return "; nobody waits"
	}
	text := "; " + waitWords(n)
	if first := &l.Waiters[0]; first.State == inspect.Pending {
		text += ", next " + who(first) + " (pending)"
	} else {
		text += ", next " + who(first)
	}
	if longest, ok := w.longestWait(l); ok {
		text += ", longest " + age(longest)
	}
	return text
}

func waitWords(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return fmt.Sprintf("%d wait", n)
}

// longestWait is how long the oldest waiter has waited; false when that is not known.
func (w *world) longestWait(l *inspect.Lock) (time.Duration, bool) {
	return w.snapshot.Age(l, oldestWaiter(l), w.now)
}

// oldestWaiter is when the waiter came that waits longest; zero when unknown.
func oldestWaiter(l *inspect.Lock) time.Time {
	var oldest time.Time
	for i := range l.Waiters {
		if since := l.Waiters[i].Since; !since.IsZero() && (oldest.IsZero() || since.Before(oldest)) {
			oldest = since
		}
	}
	return oldest
}

func (w *world) redisVerdict(l *inspect.Lock) string {
	n, t := len(l.Masters), votes(l)
	switch l.State {
	case inspect.StateFree:
		if len(l.Waiters) > 0 {
			return fmt.Sprintf("nobody holds it, though %s; first in line is %s", waitWords(len(l.Waiters)), who(&l.Waiters[0]))
		}
		return "free: nobody holds it"
	case inspect.StateUnknown:
		if t.silent == 0 && structured(l) {
			return "unknown: what the key holds does not tell who holds the lock" + atLeast(l)
		}
		if t.silent > 0 {
			return fmt.Sprintf("unknown: %d of %s not answer; too few are left to tell", t.silent, plural(n, "master")+does(t.silent))
		}
		return "unknown: what the masters hold under this key is no lock"
	case inspect.StateSplit:
		return fmt.Sprintf("split %s: %d values, none with the %d votes it needs; nobody holds it and nobody can get it%s",
			ballot(w.theme, l), len(t.counts), l.Quorum, w.clearsIn(l))
	case inspect.StateMinority:
		if len(t.counts) == 0 {
			return "nobody holds it: a client has some of the lock's keys, but too few"
		}
		return fmt.Sprintf("nobody holds it: one value on %d of %d, short of the %d votes it needs%s",
			t.counts[0], n, l.Quorum, w.clearsIn(l))
	}
	text := w.redisHolder(l)
	if len(l.Waiters) > 0 {
		text += w.queue(l)
	}
	return text + atLeast(l)
}

// structured says that a recipe found more than a plain string under the key.
func structured(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(v inspect.Vote) bool { return v.Held != nil })
}

// atLeast is who waits besides, without being seen.
func atLeast(l *inspect.Lock) string {
	switch n := l.WaitersAtLeast; n {
	case 0:
		return ""
	case 1:
		return "; at least one client waits unseen"
	default:
		return fmt.Sprintf("; at least %d clients wait unseen", n)
	}
}

func does(n int) string {
	if n == 1 {
		return " does"
	}
	return " do"
}

func (w *world) redisHolder(l *inspect.Lock) string {
	n, dot := len(l.Masters), " "+w.theme.Glyphs.Dot+" "
	h := &l.Holders[0]
	text := middle(who(h), 40, w.theme.Glyphs.Ellipsis) + " holds it"
	if len(l.Holders) > 1 || l.Kind == inspect.KindSemaphore {
		text = w.holders(l)
	}
	if n > 1 {
		text += fmt.Sprintf(" with %d of %d votes", l.Votes(), n)
	}
	if held := w.held(l, h); held.known != unbounded {
		text += held.words()
	}
	switch {
	case n > 1 && l.Margin == 0:
		text += ": one restart from a double hold"
	case n > 1 && l.Margin > 0:
		text += ", " + plural(l.Margin, "vote") + " to spare"
	}
	switch {
	case h.NoExpiry:
		text += dot + "never expires"
	case !l.ValidUntil.IsZero() && l.ValidUntil.After(w.now):
		text += dot + "valid " + age(l.ValidUntil.Sub(w.now))
	case !l.ValidUntil.IsZero():
		text += dot + "validity run out"
	}
	return text
}

// clearsIn is when the last of the votes expires.
func (w *world) clearsIn(l *inspect.Lock) string {
	var last time.Time
	for _, v := range l.Masters {
		switch {
		case v.Present && v.NoExpiry:
			return "; a part of it never expires"
		case v.Present && v.ExpiresAt.After(last):
			last = v.ExpiresAt
		}
	}
	if last.IsZero() {
		return ""
	}
	return "; all expired in " + age(last.Sub(w.now))
}
