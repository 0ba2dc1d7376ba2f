package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/failpoint"
)

// ttlKeys returns the keys with the TTL of a contender's lock; false if the contender has its own
// expiry.
func ttlKeys(l *inspect.Lock, c *inspect.Contender) ([]string, bool) {
	if !structured(l) {
		return []string{l.ID.Path}, true
	}
	if c.State != inspect.Holding {
		return nil, false
	}
	return recipe.TTLKeys(l.Recipe, string(l.Kind), l.ID.Path)
}

// noTTL explains why no TTL can be set.
func noTTL(l *inspect.Lock, c *inspect.Contender) string {
	if c.State != inspect.Holding {
		return "it is a waiter: only a holder's TTL can be set"
	}
	return fmt.Sprintf("each holder of a %s of %s has its own expiry, which the key's TTL does not change",
		l.Kind, l.Recipe)
}

// previewTTL completes a preview of setting a TTL.
func (r *Redis) previewTTL(p Preview, rd reading) Preview {
	if p.Refused == NotHolder { // a value without a quorum holds no lock and may expire
		p.Refused = ""
	}
	keys, ok := ttlKeys(rd.lock, p.Seen)
	if !ok {
		p.Refused, p.Detail = Unsupported, noTTL(rd.lock, p.Seen)
		return p
	}
	p.Votes = rd.lock.Masters
	for i := range p.Votes {
		if v := &p.Votes[i]; stillHas(v, p.Seen) {
			for n, key := range keys {
				text := fmt.Sprintf("%s: pexpire %s %d", r.target.Servers[i], inspect.Escape(key),
					p.Request.TTL.Milliseconds())
				if n == 0 {
					text += " (go on only if it still holds the value seen" + expiryCondition(v) + ")"
				}
				p.Sends = append(p.Sends, text)
			}
		}
	}
	p.Warnings = ttlWarnings(rd, p)
	return p
}

// expiryCondition describes the expiry that the guard compares.
func expiryCondition(v *inspect.Vote) string {
	switch scriptExpiry(v) {
	case "never":
		return ", and never expires"
	case "ends":
		return ", and expires"
	}
	return ", whatever its expiry"
}

// scriptExpiry returns the key's expiry in the form that the script expects.
func scriptExpiry(v *inspect.Vote) string {
	switch {
	case v.NoExpiry:
		return "never"
	case !v.ExpiresAt.IsZero():
		return "ends"
	}
	return "unknown"
}

func ttlWarnings(rd reading, p Preview) []string {
	warnings := []string{
		"its client is not notified: if it works longer than the TTL, the lock becomes free and two clients may work " +
			"at once; choose a TTL longer than its work takes",
		"a client that renews its lock overwrites this TTL at the next renewal",
	}
	if len(rd.lock.Masters) > 1 {
		warnings = append(warnings, "each master is checked and set separately (not atomic across masters)")
	}
	return append(warnings, rd.silentWarning()...)
}

// expire sets the TTL on each master where the contender is unchanged.
func (r *Redis) expire(ctx context.Context, p Preview) (Result, error) {
	before, result, err := r.lookAgain(ctx, p)
	if result.Reason != "" || err != nil {
		return result, err
	}
	keys, ok := ttlKeys(before.lock, p.Seen)
	value, _ := before.value(p.Seen)
	if !ok {
		result.Reason, result.Detail = Unsupported, noTTL(before.lock, p.Seen)
		return result, nil
	}
	failpoint.At(failpoint.Deleting)
	ctx = context.WithoutCancel(ctx)
	r.each(ctx, func(ctx context.Context, i int) {
		m := &result.Masters[i]
		if !stillHas(&p.Votes[i], p.Seen) {
			return // it was not in the preview
		}
		until, err := r.timeLimit(ctx, i)
		if m.Err = err; err != nil {
			return
		}
		args := []any{value, scriptExpiry(&p.Votes[i]), p.Request.TTL.Milliseconds(), until}
		answer, err := redis.NewScript(scriptText("expire")).Run(ctx, r.masters[i], keys, args...).Int()
		m.Set, m.Lacked, m.OtherExpiry = err == nil && answer == 1, err == nil && answer == 0,
			err == nil && answer == -1
		m.Err = r.explain("expire", p.Request.ID.Path, err)
	})
	after := r.read(ctx, p.Request.ID)
	result.HoldersAfter = after.lock.Holders
	for i := range result.Masters {
		result.Masters[i].After = after.lock.Masters[i]
	}
	votes := ttlVotes{need: after.lock.Quorum}
	for i := range result.Masters {
		m := &result.Masters[i]
		if m.Set {
			votes.done++
		} else if r.maySet(i, p, m.Err, &m.After) {
			votes.lost = append(votes.lost, m.Addr)
		}
		if stillHas(&before.lock.Masters[i], p.Seen) {
			votes.present++
		}
	}
	if votes.need = min(votes.need, votes.present); p.Seen.State != inspect.Holding {
		votes.need = votes.present
	}
	if result.Unknown = votes.unknown(); result.Unknown {
		result.Detail = fmt.Sprintf("%s did not answer: the TTL may have been set there, or may still be",
			strings.Join(votes.lost, ", "))
		return result, errors.Join(unreachableMasters(result.Masters), unknownEnd(result))
	}
	result.Set, result.Reason, result.Detail = ttlOutcome(p, votes, result.Masters, after)
	return result, unreachableMasters(result.Masters)
}

// ttlVotes counts the masters that must set the TTL, have set it, and had the value. lost lists
// those that may have set it without an answer; the outcome is unknown only if it depends on them.
type ttlVotes struct {
	need, done, present int
	lost                []string
}

// unknown reports whether the outcome depends on lost answers.
func (v ttlVotes) unknown() bool {
	return len(v.lost) > 0 && v.done < v.need && v.done+len(v.lost) >= v.need
}

// maySet reports whether a master may have set the TTL without answering, or may still do so. A key
// that still never expires proves nothing while the request may be on its way. A missing key proves
// that it did not.
func (r *Redis) maySet(i int, p Preview, err error, is *inspect.Vote) bool {
	return err != nil && !r.removedNothing(i, "expire", err) && !r.unsent(i, err) && !lacks(is, p.Seen)
}

// ttlOutcome reports whether the lock ends with the TTL. A quorum of masters must have set it or,
// for a value without a quorum, all masters that have it.
func ttlOutcome(
	p Preview, votes ttlVotes, masters []MasterResult, after reading,
) (set bool, why Reason, detail string) {
	switch done := votes.done; {
	case done > 0 && done >= votes.need:
		return true, "", ""
	case done > 0:
		detail = fmt.Sprintf("only %d of the %d masters that have the value set the TTL; it stays set there",
			done, votes.present)
		if len(votes.lost) > 0 {
			detail += "; unknown for " + strings.Join(votes.lost, ", ")
		}
		return false, NoQuorum, detail
	case slices.ContainsFunc(masters, func(m MasterResult) bool { return m.OtherExpiry }):
		return false, Changed,
			"its expiry has changed since the preview: it has gained or lost a TTL"
	}
	for i := range masters {
		v := &after.lock.Masters[i]
		// the value may still be there, unchanged
		if masters[i].Err != nil && (!v.Up || stillHas(v, p.Seen) || hides(v, p.Seen)) {
			says := "no master set the TTL: "
			if len(votes.lost) > 0 {
				says = "no master is known to have set the TTL: "
			}
			return false, NoQuorum, says + inspect.Escape(masters[i].Err.Error())
		}
	}
	return false, after.missing(), ""
}

// maxTTL and minTTL bound the TTL that may be set.
const (
	minTTL = time.Second
	maxTTL = 366 * 24 * time.Hour
)

// CheckTTL rejects a TTL under a second, which would amount to a release, or over 366 days.
func CheckTTL(ttl time.Duration) error {
	if ttl < minTTL || ttl > maxTTL {
		return fmt.Errorf("use a time from %v to %d days", minTTL, int(maxTTL.Hours()/24))
	}
	return nil
}
