//go:build unix

package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Rule is a lock's promise, for Check.
type Rule struct {
	// Permits is the number of simultaneous holders of kinds that exclude each other.
	Permits int
	// Readers is the kind that any number may hold together, while nothing else holds the lock.
	Readers string
	// Tokens means that it has fencing tokens, which grow from each holder to the next.
	Tokens bool
}

// Violation is a broken promise of a lock.
type Violation struct {
	Check, Lock, Text string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Check, v.Lock, v.Text) }

// Verdict has the violations, and counts that show how much was checked.
type Verdict struct {
	Violations []Violation
	// Paused and Forced are overlaps while the earlier holder's process was stopped or the lock was
	// forced. Leases cannot exclude them; only a fenced store can. Refused counts the writes that
	// the store refused.
	Paused, Forced, Refused int
	Operations, Grants      int
	// Losses are the lost holds of live workers.
	Losses int
	// Stood counts stops at a failpoint.
	Stood int
	// Undecided are histories that porcupine gave up on.
	Undecided int
}

func (v *Verdict) add(check, lock, format string, args ...any) {
	v.Violations = append(v.Violations, Violation{check, lock, fmt.Sprintf(format, args...)})
}

// Check checks a history; rule is the promise of each lock.
func Check(h *History, rule func(lock string) Rule) Verdict {
	var v Verdict
	for _, r := range h.Records {
		switch r.Op {
		case OpAcquire, OpTry, OpRelease, OpExtend, OpEntered, OpRead, OpWrote:
			v.Operations++
		case OpStood:
			v.Stood++
		case OpExit:
			if r.Goroutines > 0 || r.Files > 0 {
				v.add("left behind", "", "worker %d ended with %d more goroutines and %d more descriptors\n%s",
					r.Worker, r.Goroutines, r.Files, r.Text)
			}
		}
		if r.Op == OpWrote && r.Err == ErrStale.Error() {
			v.Refused++
		}
	}
	v.Grants = len(h.Holds)
	for _, hold := range h.Holds {
		if hold.Ended < hold.Released && hold.Cause != "killed" {
			v.Losses++
		}
	}
	for _, lock := range h.Locks() {
		holds, promise := h.of(lock), rule(lock)
		checkExclusion(h, holds, promise, &v)
		if promise.Tokens {
			checkTokens(h, holds, promise, &v)
		}
		if promise.Readers == "" {
			checkLinear(h, lock, holds, promise.Permits, &v)
		}
	}
	return v
}

const (
	// grain is the precision of the times: on a busy machine a record is written a little after the
	// event. Longer delays are stalls.
	grain = int64(15 * time.Millisecond)
	// before is the time before a grant in which a stall may have delayed the earlier holder's notice.
	before = 50 * time.Millisecond
	// noticedIn limits how long a process may run, without stalls, before it notices its loss.
	noticedIn = 100 * time.Millisecond
)

// checkExclusion looks for simultaneous holders.
func checkExclusion(h *History, holds []*Hold, rule Rule, v *Verdict) {
	var active []*Hold
	for _, next := range holds {
		active = slices.DeleteFunc(active, func(a *Hold) bool { return a.Until() <= next.Granted })
		var against []*Hold
		for _, a := range active {
			if rule.Readers == "" || a.Kind != rule.Readers || next.Kind != rule.Readers {
				against = append(against, a)
			}
		}
		if len(against) >= rule.Permits {
			overlap(h, rule, against, next, v)
		}
		active = append(active, next)
	}
}

// overlap judges a grant to next while others held the lock. It excuses holders whose process did
// not run or that the nemesis had forced out, and blames the other holder that stopped last.
func overlap(h *History, rule Rule, against []*Hold, next *Hold, v *Verdict) {
	if h.tookEarlier(next) || h.grantedBehind(next) {
		v.Forced++
		return
	}
	var paused, forced bool
	guilty := slices.DeleteFunc(slices.Clone(against), func(a *Hold) bool {
		switch {
		case a.Until()-next.Granted <= grain:
			return true
		case h.stalled(a.Worker, next.Granted-int64(before), a.Until()) &&
			h.ran(a.Worker, next.Granted, a.Until()) <= noticedIn:
			paused = true
			return true
		case h.stoppedOver(next.Worker, a.Granted, next.Granted): // next could not report its grant until later
			paused = true
			return true
		case h.wasForced(a, next.Granted):
			forced = true
			return true
		}
		return false
	})
	if len(guilty) < rule.Permits {
		if paused {
			v.Paused++
		} else if forced {
			v.Forced++
		}
		return
	}
	blamed := slices.MaxFunc(guilty, func(a, b *Hold) int { return cmp.Compare(a.Until(), b.Until()) })
	v.add("two holders", next.Lock, "worker %d (%s, hold %d, %s) held it until %s after worker %d (%s, hold %d, "+
		"%s) was granted it; it ended with %q",
		blamed.Worker, blamed.Kind, blamed.ID, blamed.Name, seconds(blamed.Until()-next.Granted), next.Worker,
		next.Kind, next.ID, next.Name, blamed.Cause)
}

// checkTokens looks for a grant whose token is not above those of all holds released before it.
func checkTokens(h *History, holds []*Hold, rule Rule, v *Verdict) {
	for i, next := range holds {
		if next.Token == 0 {
			continue
		}
		for _, before := range holds[:i] {
			if rule.Readers != "" && next.Kind == rule.Readers && before.Kind == rule.Readers {
				continue
			}
			if before.Token != 0 && before.Confirmed < next.Granted && before.Token >= next.Token &&
				!h.tookEarlier(next) && !h.grantedBehind(next) &&
				!h.stoppedOver(next.Worker, before.Granted, next.Granted) {
				v.add("tokens", next.Lock,
					"worker %d was granted it with token %#x after worker %d had released it with %#x",
					next.Worker, next.Token, before.Worker, before.Token)
				return
			}
		}
	}
}

// checkLinear checks that a lock could have had this history. Each grant needs a free permit. It
// ends with its release, or with a loss at any time between its grant and the loss's report.
func checkLinear(h *History, lock string, holds []*Hold, permits int, v *Verdict) {
	var ops []porcupine.Operation
	for i, hold := range holds {
		ops = append(ops, porcupine.Operation{
			ClientId: 2 * i, Input: step{hold: i, take: true}, Call: hold.Called,
			Return: hold.Granted,
		})
		end := porcupine.Operation{ClientId: 2*i + 1, Input: step{hold: i}, Call: hold.Granted, Return: never}
		switch {
		case hold.Released < hold.Ended:
			end.Call = hold.Released
			if hold.Confirmed != never {
				end.Return = hold.Confirmed
			}
		case hold.Ended != never:
			end.Return = hold.Ended + grain
		}
		if h.stalled(hold.Worker, hold.Granted, hold.Until()) || h.wasForced(hold, hold.Until()) ||
			h.stoppedOver(hold.Worker, hold.Granted-int64(noticedIn), hold.Granted) {
			end.Call = hold.Called // it may have been lost long before its report
		}
		ops = append(ops, end)
	}
	switch porcupine.CheckOperationsTimeout(lockModel(permits), ops, 20*time.Second) {
	case porcupine.Illegal:
		v.add("history", lock, "no lock could have had this history (%d grants)", len(holds))
	case porcupine.Unknown:
		v.Undecided++
	}
}

type step struct {
	hold int
	take bool
}

// lockModel is a lock with a number of permits. A permit can be acquired only while one is free, and
// only its holder returns it. The state is the sorted list of holders.
func lockModel(permits int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []int(nil) },
		Step: func(state, input, _ any) (bool, any) {
			held, s := state.([]int), input.(step)
			i, holds := slices.BinarySearch(held, s.hold)
			if s.take {
				return !holds && len(held) < permits, slices.Insert(slices.Clone(held), i, s.hold)
			}
			return holds, slices.Delete(slices.Clone(held), i, min(i+1, len(held)))
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
		DescribeOperation: func(input, _ any) string {
			s := input.(step)
			if s.take {
				return fmt.Sprintf("%d takes it", s.hold)
			}
			return fmt.Sprintf("%d leaves it", s.hold)
		},
	}
}

// CheckStore checks that a fenced store accepted no token smaller than one seen before, and lost no
// acknowledged write.
func CheckStore(h *History, lock string, s Store, v *Verdict) error {
	type access struct {
		token uint64
		Record
	}
	tokens := map[holdKey]uint64{}
	for _, hold := range h.of(lock) {
		tokens[holdKey{hold.Worker, hold.ID}] = hold.Token
	}
	var list []access
	for _, r := range h.Records {
		if r.Lock == lock && (r.Op == OpRead || r.Op == OpWrote) && r.Err == "" {
			list = append(list, access{tokens[holdKey{r.Worker, r.Hold}], r})
		}
	}
	slices.SortFunc(list, func(a, b access) int { return cmp.Compare(a.Seq, b.Seq) })
	var greatest uint64
	fenced := true
	writes := int64(0)
	values := map[int64]int64{}
	for _, a := range list {
		if a.token < greatest && fenced {
			v.add("fence", lock, "worker %d was let in with token %#x after %#x", a.Worker, a.token, greatest)
			fenced = false
		}
		greatest = max(greatest, a.token)
		if a.Op == OpWrote {
			writes++
			if at, twice := values[a.Value]; twice {
				v.add("lost update", lock, "%d was written at step %d and again at %d", a.Value, at, a.Seq)
				return nil
			}
			values[a.Value] = a.Seq
		}
	}
	value, err := s.Value()
	if err != nil {
		return err
	}
	if value < writes { // a killed writer may not have reported its last write
		v.add("lost update", lock, "%d writes were acknowledged, the counter is %d", writes, value)
	}
	return nil
}
