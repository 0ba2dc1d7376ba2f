//go:build unix

package campaign

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/internal/failpoint"
)

// never is an end that was not seen.
const never = math.MaxInt64

// Hold is one attempt to acquire a lock, and its outcome.
type Hold struct {
	Worker, Client int
	ID             int64
	Lock, Kind     string
	// Called is the start of the acquire, and Granted its successful return, or 0. All times are ns of
	// CLOCK_MONOTONIC.
	Called, Granted int64
	// Released is right before the release, when the holder has stopped, and Confirmed its return
	// without an error. Ended is the end of the hold's context without a release. Each is never if it
	// was not seen, since the process was killed or the history ends earlier.
	Released, Confirmed, Ended int64
	Cause                      string
	Token                      uint64
	Name                       string
}

// Until is the instant from which the holder no longer relied on the lock.
func (h *Hold) Until() int64 { return min(h.Released, h.Ended) }

// History is the merged reports of a round.
type History struct {
	Records []Record // by time
	Holds   []*Hold  // granted attempts, by the time of the grant
	Refused []*Hold  // the others, with the time of the refusal in Ended
	healed  int64    // the end of the last fault; never if unknown
	Killed  map[int]int64
	stalls  map[int][]Record
	stood   map[int][]Record // stops at a failpoint
	forced  map[string][]Record
	cuts    []Record // starts of cuts between the members of an ensemble
}

type holdKey struct {
	worker int
	id     int64
}

// cutsMembers reports whether a fault, in words, cuts members of an ensemble off from each other.
func cutsMembers(fault string) bool {
	return strings.Contains(fault, "cut") && !strings.Contains(fault, "clients") && !strings.Contains(fault, "replica")
}

// NewHistory joins reports. killed has the killed workers, each with the latest time of its death,
// until which it counts as holding.
func NewHistory(killed map[int]int64, reports ...[]Record) *History {
	h := &History{
		Killed: killed, healed: never, stalls: map[int][]Record{}, stood: map[int][]Record{},
		forced: map[string][]Record{},
	}
	for _, r := range reports {
		h.Records = append(h.Records, r...)
	}
	slices.SortStableFunc(h.Records, func(a, b Record) int { return cmp.Compare(a.At, b.At) })
	holds := map[holdKey]*Hold{}
	for _, r := range h.Records {
		switch r.Op {
		case OpStall:
			h.stalls[r.Worker] = append(h.stalls[r.Worker], r)
		case OpStood:
			h.stood[r.Worker] = append(h.stood[r.Worker], r)
		case OpFault:
			if cutsMembers(r.Text) {
				h.cuts = append(h.cuts, r)
			}
		case OpHealed:
			h.healed = r.At
		case OpForced:
			h.forced[r.Lock] = append(h.forced[r.Lock], r)
		case OpAcquire, OpTry:
			holds[holdKey{r.Worker, r.Hold}] = &Hold{
				Worker: r.Worker, Client: r.Client, ID: r.Hold, Lock: r.Lock, Kind: r.Kind,
				Called: r.At, Released: never, Confirmed: never, Ended: never,
			}
		default:
			if hold := holds[holdKey{r.Worker, r.Hold}]; hold != nil {
				hold.apply(r)
			}
		}
	}
	for _, hold := range holds {
		if hold.Granted == 0 {
			h.Refused = append(h.Refused, hold)
			continue
		}
		if at, ok := killed[hold.Worker]; ok && hold.Until() == never {
			hold.Ended, hold.Cause = max(at, hold.Granted), "killed"
		}
		h.Holds = append(h.Holds, hold)
	}
	slices.SortFunc(h.Holds, func(a, b *Hold) int { return cmp.Compare(a.Granted, b.Granted) })
	return h
}

func (h *Hold) apply(r Record) {
	switch r.Op {
	case OpGranted:
		h.Granted, h.Token, h.Name = r.At, r.Token, r.Name
	case OpRelease:
		h.Released = r.At
	case OpReleased:
		if r.Err == "" {
			h.Confirmed = r.At
		}
	case OpRefused:
		h.Ended = r.At
	case OpEnded:
		if h.Ended == never {
			h.Ended, h.Cause = r.At, r.Err
		}
	}
}

// stalled reports whether a worker did not run for some of the time between from and to.
func (h *History) stalled(worker int, from, to int64) bool {
	return slices.ContainsFunc(h.stalls[worker], func(s Record) bool { return s.Since < to && s.At > from })
}

// stoppedOver reports whether one stall covers the time between from and to, except for its end.
func (h *History) stoppedOver(worker int, from, to int64) bool {
	return slices.ContainsFunc(h.stalls[worker],
		func(s Record) bool { return s.Since <= from && s.At >= to-int64(before) })
}

// ran returns the time between from and to without the worker's stalls.
func (h *History) ran(worker int, from, to int64) time.Duration {
	ran := to - from
	for _, s := range h.stalls[worker] {
		ran -= max(0, min(s.At, to)-max(s.Since, from))
	}
	return time.Duration(ran)
}

// wasForced reports whether the nemesis had removed a holder from its lock by some time.
func (h *History) wasForced(hold *Hold, until int64) bool {
	return slices.ContainsFunc(h.forced[hold.Lock], func(f Record) bool {
		return f.At >= hold.Called && f.Since <= until && (f.Name == "" || f.Name == hold.Name)
	})
}

// tookEarlier reports whether the nemesis removed a holder after its grant, but before the grant
// was reported. The goroutine with the grant had stopped at a failpoint, so the grant is older than
// its report. The loss can also go unreported until then, if the goroutine that would report it had
// stopped, too.
func (h *History) tookEarlier(hold *Hold) bool {
	return h.wasForced(hold, hold.Granted) && slices.ContainsFunc(h.stood[hold.Worker], func(s Record) bool {
		return s.Text == failpoint.Granted && s.At > hold.Called && s.At < hold.Granted
	})
}

// mayLag bounds how late after its removal a waiter may still be granted the lock by a member that
// lags behind. The waiter learns of its removal at its next heartbeat, an eighth of the session
// timeout. cutFor is longer than any cut between members.
const (
	mayLag = 300 * time.Millisecond
	cutFor = 10 * time.Second
)

// grantedBehind reports whether the nemesis removed a waiter from its queue just before its grant,
// while members were cut off from each other. The waiter's member may still have shown its node,
// and docs/locks.md promises nothing then.
func (h *History) grantedBehind(hold *Hold) bool {
	return slices.ContainsFunc(h.forced[hold.Lock], func(f Record) bool {
		return f.At >= hold.Called && f.Since <= hold.Granted && hold.Granted-f.At <= int64(mayLag) &&
			(f.Name == "" || f.Name == hold.Name) &&
			slices.ContainsFunc(h.cuts, func(c Record) bool { return c.At <= f.At && f.At-c.At <= int64(cutFor) })
	})
}

// Locks returns the names of all locks, sorted.
func (h *History) Locks() []string {
	var names []string
	for _, hold := range h.Holds {
		if !slices.Contains(names, hold.Lock) {
			names = append(names, hold.Lock)
		}
	}
	slices.Sort(names)
	return names
}

// of returns the holds of a lock.
func (h *History) of(lock string) []*Hold {
	var list []*Hold
	for _, hold := range h.Holds {
		if hold.Lock == lock {
			list = append(list, hold)
		}
	}
	return list
}
