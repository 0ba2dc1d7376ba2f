package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

func (v View) free(l *inspect.Lock) string {
	switch {
	case len(l.Masters) > 0:
		return vacant(l, "free: no holder")
	case l.Kind == inspect.KindUnknown:
		return vacant(l, "it has no contender of a known recipe: if it is a lock, it has no holder")
	default:
		return vacant(l, "free: no holder, no waiters")
	}
}

func (v View) holding(l *inspect.Lock) string {
	switch {
	case len(l.Holders) == 0:
		return v.free(l)
	case len(l.Masters) > 0:
		return v.votedHolder(l)
	default:
		return v.holders(l) + v.queue(l)
	}
}

func (v View) unknown(l *inspect.Lock) string { return "unknown: " + unknown(l) }

func (v View) split(l *inspect.Lock) string {
	if l.OneServer() {
		return fmt.Sprintf("unknown: each of its %d values is on one server, and %s takes a lock on one: "+
			"most likely each is held", len(Tally(l).Counts), l.Recipe)
	}
	return fmt.Sprintf("split %s: %d values, none with the %d votes it needs; no client holds it or can get it%s",
		l.Ballot(), len(Tally(l).Counts), l.Quorum, v.clearsIn(l))
}

func (v View) minority(l *inspect.Lock) string {
	switch t := Tally(l); {
	case len(t.Counts) == 0:
		return "no holder: a client has some of the lock's keys, but too few"
	case v.Suspect(l):
		return fmt.Sprintf("unknown: its value is on %d of %d servers, which are most likely not masters of one lock",
			t.Counts[0], len(l.Masters))
	case l.OneServer():
		return fmt.Sprintf("unknown: its value is on %d of %d servers, but %s takes a lock on one: most likely held",
			t.Counts[0], len(l.Masters), l.Recipe)
	default:
		return fmt.Sprintf("no holder: one value is on only %d of %s (quorum %d)%s",
			t.Counts[0], Count(len(l.Masters), "master"), l.Quorum, v.clearsIn(l))
	}
}

// unknown says why the holder is unknown: the refused or failed reads, if a source reported them.
func unknown(l *inspect.Lock) string {
	if why := Reasons(l.Unseen, inspect.AspectHolders, inspect.AspectVotes, inspect.AspectKind); why != "" {
		return why
	}
	for _, f := range l.Findings {
		if f.Rule == "blind" {
			return Printable(f.Message)
		}
	}
	if len(l.Masters) == 0 && len(l.Aliens) > 0 {
		return unexplained(l)
	}
	if len(l.Masters) == 0 {
		return "it could not be read; it may be held"
	}
	if silent := Tally(l).Silent; silent > 0 {
		do := " do"
		if silent == 1 {
			do = " does"
		}
		return fmt.Sprintf("%d of %s not answer; too few are left to tell", silent, Count(len(l.Masters), "master")+do)
	}
	if Structured(l) {
		return "the key's value does not show who holds the lock" + UnseenWaiters(l)
	}
	return "the value under this key is not a lock"
}

// unexplained describes a directory whose children are not contenders of a known library.
func unexplained(l *inspect.Lock) string {
	first := l.Aliens[0]
	if _, _, numbered := recipe.SplitSequence(first.Raw()); numbered {
		return fmt.Sprintf("its numbered nodes (%s …) have no session that shows who holds it", first.Cut(40))
	}
	return fmt.Sprintf("its children (%s …) are not contenders of a known library", first.Cut(40))
}

// Structured reports whether a recipe found more than a plain string under the key of a Redis lock.
func Structured(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(v inspect.Vote) bool { return v.Held != nil })
}

// vacant describes a lock without a holder, which may still have waiters.
func vacant(l *inspect.Lock, free string) string {
	switch listed := inQueue(l); {
	case len(l.Waiters) == 0:
		return free
	case live(l) == 0:
		return "free: no holder, " + listed
	default:
		return "no holder · " + listed
	}
}

func (v View) holders(l *inspect.Lock) string {
	h := &l.Holders[0]
	n := len(l.Holders)
	switch {
	case l.Kind == inspect.KindSemaphore && l.Limit > 0:
		return fmt.Sprintf("%d of %s used", n, Count(l.Limit, "permit"))
	case l.Kind == inspect.KindSemaphore:
		return Count(n, "permit") + " used, total not recorded"
	case n > 1 && h.Mode == recipe.Shared:
		return fmt.Sprintf("%d readers hold it", n)
	case n > 1 && oneSession(l.Holders):
		return fmt.Sprintf("%s holds it with %d entries", Owner(h), n)
	case n > 1:
		return fmt.Sprintf("%d hold it", n)
	}
	text := Owner(h)
	if at := Client(&h.Owner); at != "" && at != text {
		text += " (" + at + ")"
	}
	held := v.Held(l, h)
	text = holding(h, text, held)
	if h.Mode == recipe.Shared {
		text += " as a reader"
	}
	return text + held.String()
}

func holding(h *inspect.Contender, name string, held Held) string {
	if h.Nameless() {
		return "an unknown client holds it"
	}
	return name + held.verb()
}

// Standing is the verdict without running ages, so that it does not change until something happens.
func (v View) Standing(l *inspect.Lock) string {
	if len(l.Holders) == 0 || l.State != inspect.StateHeld && l.State != inspect.StateContended {
		text, _, _ := strings.Cut(v.Verdict(l), ";")
		return text
	}
	h := &l.Holders[0]
	text := holding(h, Owner(h), Held{})
	if counted(l, h) {
		text = Count(int(h.Count), "shared holder")
	} else if len(l.Holders) > 1 || l.Kind == inspect.KindSemaphore {
		text = v.holders(l)
	}
	if held := v.held(l, h); held.Known != Exactly {
		text += held.unseen.String()
	}
	if len(l.Waiters) > 0 {
		text += " · " + inQueue(l)
	}
	return text + UnseenWaiters(l) + doubt(l)
}

// counted reports whether a lock's value only counts its shared holders.
func counted(l *inspect.Lock, h *inspect.Contender) bool {
	return h.Mode == recipe.Shared && !Structured(l) && h.Name.Raw() == strconv.Itoa(int(h.Count))
}

// oneSession reports whether all holders are one client, which both reads and writes.
func oneSession(holders []inspect.Contender) bool {
	first := holders[0].Owner.Session
	return first != 0 && !slices.ContainsFunc(holders,
		func(c inspect.Contender) bool { return c.Owner.Session != first })
}

// queue describes the waiters of a held lock.
func (v View) queue(l *inspect.Lock) string {
	n := len(l.Waiters)
	switch {
	case n == 0 && l.Unknown(inspect.AspectWaiters):
		return " · waiters unknown"
	case n == 0:
		return " · no waiters"
	}
	text := " · " + inQueue(l)
	if longest, ok := v.LongestWait(l); ok {
		text += " · longest wait " + Signed(longest)
	}
	return text
}

// inQueue counts the live waiters, names the first, and counts those that are most likely gone.
func inQueue(l *inspect.Lock) string {
	n, text := live(l), ""
	switch gone := len(l.Waiters) - n; {
	case gone > 0 && n == 0 && (l.WaitersAtLeast > 0 || l.Unknown(inspect.AspectWaiters)):
		return fmt.Sprintf("%d in the queue most likely gone, other waiters unknown", gone)
	case gone > 0:
		text = fmt.Sprintf(" (%d more in the queue most likely gone)", gone)
	}
	if n == 0 {
		return "no waiters" + strings.Replace(text, " more", "", 1)
	}
	text = Waiting(n) + text
	first := slices.IndexFunc(l.Waiters, func(w inspect.Contender) bool { return !w.Dead })
	text += " · next: " + Owner(&l.Waiters[first])
	if l.Waiters[first].State == inspect.Pending {
		text += " (pending)"
	}
	return text
}

// live counts the known waiters that are not most likely gone.
func live(l *inspect.Lock) int { return l.Waiting() - l.WaitersAtLeast }

// Waiting is "2 waiting".
func Waiting(n int) string { return fmt.Sprintf("%d waiting", n) }

// UnseenWaiters describes the number of clients that wait without visible entries; empty if there
// are none.
func UnseenWaiters(l *inspect.Lock) string {
	if l.WaitersAtLeast == 0 {
		return ""
	}
	return " · at least " + Count(l.WaitersAtLeast, "unseen waiter")
}

// Votes of the masters.
type Votes struct {
	// Counts of votes by value, largest first.
	Counts []int
	// Absent masters have no key, Silent ones did not answer.
	Absent, Silent int
}

// Tally counts the votes on a Redis lock. A value that is not a lock is not a vote.
func Tally(l *inspect.Lock) Votes {
	var t Votes
	counts := make(map[string]int)
	for _, v := range l.Masters {
		switch {
		case !v.Up:
			t.Silent++
		case !v.Present:
			t.Absent++
		case v.Foreign:
		default:
			counts[v.Value.Raw()+v.Digest]++
		}
	}
	t.Counts = slices.SortedFunc(maps.Values(counts), func(a, b int) int { return cmp.Compare(b, a) })
	return t
}

// Suspect reports whether the masters of a lock are most likely independent servers.
func (v View) Suspect(l *inspect.Lock) bool {
	if v.Snapshot == nil {
		return false
	}
	b := v.Snapshot.Backend(l.ID.Backend)
	return b != nil && b.Spread.Suspect()
}

func (v View) votedHolder(l *inspect.Lock) string {
	n := len(l.Masters)
	h := &l.Holders[0]
	d := v.Held(l, h)
	text := holding(h, text.Middle(Owner(h), 40, "…"), d)
	if counted(l, h) {
		text = Count(int(h.Count), "shared holder")
	} else if len(l.Holders) > 1 || l.Kind == inspect.KindSemaphore {
		text = v.holders(l)
	}
	if len(l.Holders) == 1 && d.Known != Unbounded {
		text += d.String()
	}
	if n > 1 {
		spare := "one restart away from a double hold"
		if l.Margin > 0 {
			spare = fmt.Sprintf("can lose %d", l.Margin)
		}
		text += fmt.Sprintf(": %d of %d votes, %s", l.Votes(), n, spare)
	}
	switch {
	case h.NoExpiry:
		text += " · never expires"
	// when the server will delete it; the holder may rely on it for less time
	case n == 1 && l.Masters[0].ExpiresAt.After(v.Now):
		text += " · expires in " + Age(l.Masters[0].ExpiresAt.Sub(v.Now))
	case l.ValidUntil.IsZero():
	case l.ValidUntil.After(v.Now):
		text += " · valid " + Age(l.ValidUntil.Sub(v.Now))
	default:
		text += " · validity expired"
	}
	if len(l.Waiters) > 0 || l.Unknown(inspect.AspectWaiters) {
		text += v.queue(l)
	}
	return text + UnseenWaiters(l)
}

// clearsIn gives the time until the last of the votes expires.
func (v View) clearsIn(l *inspect.Lock) string {
	var last time.Time
	for _, m := range l.Masters {
		switch {
		case m.Present && m.NoExpiry:
			return "; at least one copy never expires"
		case m.Present && m.ExpiresAt.After(last):
			last = m.ExpiresAt
		}
	}
	if last.IsZero() {
		return ""
	}
	return "; all expire in " + Age(last.Sub(v.Now))
}
