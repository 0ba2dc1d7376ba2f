package act

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// Ended is the possible cause of a contender's end on a master that did not confirm the removal.
type Ended string

// The possible causes.
const (
	EndedItself  Ended = "itself"  // the master's answer proves that the request removed nothing
	EndedSomehow Ended = "somehow" // by the request, whose answer is missing or unclear, or on its own
)

// Words describes it to the operator; empty if there was no such end.
func (e Ended) Words() string {
	return map[Ended]string{
		EndedItself: "gone, not by this request", EndedSomehow: "gone; by this request or on its own",
	}[e]
}

// refusedWhole are the scripts whose changes come last: if such a script fails, nothing has
// changed. The others may change something before a command that is refused.
var refusedWhole = []string{"string", "redisson", "redisson_waiter", "member", "expire"}

// endedByKeys fills in Ended for failed masters, by their keys. A contender is gone if it was there
// right before, and is no longer there in anything read since. Its TTL may have run out meanwhile,
// or its holder may have released it.
func (r *Redis) endedByKeys(script string, masters []MasterResult, seen *inspect.Contender, before, after reading) {
	for i := range masters {
		m, was, is := &masters[i], &before.lock.Masters[i], &after.lock.Masters[i]
		switch {
		case m.Err == nil || !stillHas(was, seen) || !lacks(is, seen):
		case r.removedNothing(i, script, m.Err):
			m.Ended = EndedItself
		default:
			m.Ended = EndedSomehow
		}
	}
}

// removedNothing reports whether an error proves that the script removed or set nothing. It must be
// a server's reply. Either no command of the script was refused, so it did not begin, or the
// refused one precedes all changes. A Cluster client repeats a request whose answer was lost, so a
// reply may be to the second try. Only a denied client was certainly denied the first time, too.
func (r *Redis) removedNothing(i int, script string, err error) bool {
	if errors.Is(err, errTooLate) {
		return true
	}
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	text := reply.Error()
	if _, cluster := r.masters[i].(*redis.ClusterClient); !redisreply.DeniesAccess(text) &&
		(cluster || !inScript.MatchString(text) && !redisreply.OfRedis(err)) {
		return false
	}
	return slices.Contains(refusedWhole, script) || !inScript.MatchString(text)
}

// otherEnd explains how the contender ended in a release that no master confirmed. It is unknown if
// the request may have done it.
func otherEnd(masters []MasterResult) (unknown bool, detail string) {
	for _, end := range []Ended{EndedSomehow, EndedItself} {
		if at := slices.IndexFunc(masters, func(m MasterResult) bool { return m.Ended == end }); at >= 0 {
			return end == EndedSomehow, fmt.Sprintf("%s (%s)", end.Words(), inspect.Escape(masters[at].Err.Error()))
		}
	}
	return false, ""
}

// unanswered reports whether too few masters answered to tell if a quorum, or anything, is left. A
// master counts as unanswered if it could not be read afterwards, still has the value, or has
// nothing now and could not be read before. The request may arrive until its time limit. A master
// that had nothing before and has nothing now never had it.
func (r *Redis) unanswered(
	script string, seen *inspect.Contender, masters []MasterResult, before, after reading,
) (detail string, unknown bool) {
	left := 0
	for i := range masters {
		m, was, is := &masters[i], &before.lock.Masters[i], &after.lock.Masters[i]
		const lost = "whether it was removed on %s is unknown: no answer came, and it could not be read "
		const pending = "whether it is removed on %s is unknown: it was still there afterwards, but the request got no answer and may still arrive"
		switch undone := r.removedNothing(i, script, m.Err) || r.unsent(i, m.Err); {
		case stillHas(is, seen) && (m.Err == nil || undone):
			left++
		case stillHas(is, seen):
			unknown, detail = true, cmp.Or(detail, fmt.Sprintf(pending, m.Addr))
		case m.Err == nil || m.Ended != "":
		case !lacks(is, seen) && undone:
			left++
		case !lacks(is, seen):
			unknown, detail = true, cmp.Or(detail, fmt.Sprintf(lost+"after that", m.Addr))
		case !lacks(was, seen) && !undone:
			unknown, detail = true, cmp.Or(detail, fmt.Sprintf(lost+"before that", m.Addr))
		}
	}
	return detail, unknown && left < after.lock.Quorum
}

// unsent reports whether an error proves that the request did not reach the master. A Cluster
// client's error may be that of a second try.
func (r *Redis) unsent(i int, err error) bool {
	_, cluster := r.masters[i].(*redis.ClusterClient)
	return errors.Is(err, errNotSent) || !cluster && connect.NotDialled(err)
}

// unknownEnd returns the error for a release that no master confirmed although one may have done
// it.
func unknownEnd(r Result) error {
	if !r.Unknown {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, r.Detail)
}
