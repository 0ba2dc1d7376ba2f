package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// holders returns the contenders that a quorum of masters names.
func (l *Lock) holders(t tally) []Contender {
	var list []Contender
	seen := map[ballot]bool{}
	for _, m := range l.Masters {
		for _, b := range ballotsOf(m) {
			if t.counts[b] < l.Quorum || seen[b] {
				continue
			}
			seen[b] = true
			if m.Held != nil {
				list = append(list, l.claimant(m.Held, b))
				continue
			}
			token := &t.token // a plain string with a quorum is the usual case
			c := contenderOf(recipe.Claim{
				Name: b.value.Raw(), Mode: token.Mode, Count: token.Count, Since: token.Since, Label: token.Label,
				Host: token.Host, PID: token.PID, Thread: token.Thread, LibraryID: token.LibraryID,
			})
			c.Digest = b.digest
			c.ExpiresAt, c.NoExpiry = quorumExpiry(l)
			list = append(list, c)
		}
	}
	return list
}

// claimant is the holder with that name. With several masters, it is dead if the masters that do
// not say so are too few for a quorum. Its entry lasts as long as on the quorum-th master.
func (l *Lock) claimant(r *recipe.Record, b ballot) Contender {
	var c Contender
	var ends []time.Time
	forever, dead := 0, 0
	for _, m := range l.Masters {
		if m.Held == nil {
			continue
		}
		for _, claim := range m.Held.Claims {
			if claim.Waiting || Untrusted(claim.Name) != b.value {
				continue
			}
			if c.Name == "" && c.State == 0 {
				c = contenderOf(claim)
			}
			if claim.Dead {
				dead++
			}
			if claim.NoExpiry {
				forever++
			} else if !claim.ExpiresAt.IsZero() {
				ends = append(ends, claim.ExpiresAt)
			}
			break
		}
	}
	c.Dead = dead > 0 && len(l.Masters)-dead < l.Quorum
	c.ExpiresAt, c.NoExpiry = nthEnd(ends, forever, l.Quorum)
	return c
}

func contenderOf(c recipe.Claim) Contender {
	out := Contender{
		Name: Untrusted(c.Name), Mode: c.Mode, State: Holding, Count: int32(max(1, c.Count)), Since: c.Since,
		ExpiresAt: c.ExpiresAt, NoExpiry: c.NoExpiry, Dead: c.Dead,
		Owner: Owner{
			Label: Untrusted(c.Label),
			Process: Process{
				Host: Untrusted(c.Host), PID: Untrusted(c.PID), Thread: Untrusted(c.Thread),
				LibraryID: Untrusted(c.LibraryID),
			},
		},
	}
	if c.Waiting {
		out.State = Waiting
	}
	return out
}

// queue fills in the waiters that the masters list: in the order of the longest queue, then those
// that only other masters list. It leaves out the holder of a mutex, whose place was read before
// the grant, or on another node while the slot moves.
func (l *Lock) queue(readAt time.Time) {
	records := make([]*recipe.Record, 0, len(l.Masters))
	for _, m := range l.Masters {
		if m.Held != nil {
			records = append(records, m.Held)
			l.WaitersAtLeast = max(l.WaitersAtLeast, m.Held.WaitersAtLeast)
		}
	}
	slices.SortStableFunc(records, func(a, b *recipe.Record) int { return cmp.Compare(len(b.Claims), len(a.Claims)) })
	for _, r := range records {
		for _, claim := range r.Claims {
			named := func(c Contender) bool { return c.Name.Raw() == claim.Name }
			if claim.Waiting && !slices.ContainsFunc(l.Waiters, named) &&
				!(l.grantsOne() && slices.ContainsFunc(l.Holders, named)) {
				l.Waiters = append(l.Waiters, contenderOf(claim))
			}
		}
	}
	behind := int32(0) // dead waiters are blocked by no one, and listen to no channel
	for i := range slices.Backward(l.Waiters) {
		l.Waiters[i].BlockedBelow = behind
		if !l.Waiters[i].Dead {
			behind++
		}
	}
	l.WaitersAtLeast = max(0, l.WaitersAtLeast-int(behind))
	for i := range l.Holders {
		l.Holders[i].BlockedBelow = behind
	}
	if l.State == StateHeld && l.Waiting() > 0 {
		l.State = StateContended
	}
}

// grantsOne reports whether the lock has at most one holder, which cannot also wait for it. A
// reader can wait to become a writer, and the holder of a permit can wait for another.
func (l *Lock) grantsOne() bool { return l.Kind != KindRW && l.Kind != KindSemaphore }
