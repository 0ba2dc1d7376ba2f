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

// Ended distinguishes what a contender's end on a master can be due to, where the master did not answer that
// it took it out.
type Ended string

// The ends.
const (
	EndedItself  Ended = "itself"  // the master's answer proves that the request removed nothing
	EndedSomehow Ended = "somehow" // by the request, whose answer is missing or unclear, or on its own
)

// Words say it to the operator; empty if there was no such end.
func (e Ended) Words() string {
	switch e {
	case EndedItself:
		return "gone, not by this request"
	case EndedSomehow:
		return "gone; by this request or on its own"
	}
	return ""
}

// refusedWhole are the scripts that have nothing left that could fail once they have changed something: when
// they fail, nothing is changed. The others go on to a command that may be refused.
var refusedWhole = []string{"string", "redisson", "redisson_waiter", "member", "expire"}

// endedByKeys fills in Ended for failed masters, by their keys. A contender is gone if it was there
// right before, and is no longer there in anything read since. Its TTL may have run out meanwhile,
// or its holder may have released it.
func (r *Redis) endedByKeys(script string, masters []MasterResult, seen *inspect.Contender, before, after reading) {
	for i := range masters {
		m, was, is := &masters[i], &before.lock.Masters[i], &after.lock.Masters[i]
		switch {
		case m.Err == nil || !stands(was, seen) || !lacks(is, seen):
		case r.removedNothing(i, script, m.Err):
			m.Ended = EndedItself
		default:
			m.Ended = EndedSomehow
		}
	}
}

// removedNothing reports whether an error proves that the script has removed nothing, or set nothing: it is a
// server's reply, and either no command of the script was refused, so that it did not begin, or one before
// which it changes nothing. A client of a Cluster sends a request again whose answer was lost, so that a
// reply may be to the second one. Only a denied client was denied the first time, too.
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

// otherEnd says of a release that no master confirmed how the contender ended on those where it did: unknown
// where it can have been by the request.
func otherEnd(masters []MasterResult) (unknown bool, detail string) {
	for _, end := range []Ended{EndedSomehow, EndedItself} {
		if at := slices.IndexFunc(masters, func(m MasterResult) bool { return m.Ended == end }); at >= 0 {
			return end == EndedSomehow, fmt.Sprintf("%s (%s)", end.Words(), inspect.Escape(masters[at].Err.Error()))
		}
	}
	return false, ""
}

// unanswered reports whether it is unknown if a quorum is left, or anything: of so many masters no answer
// came that says what became of the request, and they could not be read after it, or not before it and have
// nothing now, or have it still: the request may arrive until its time limit. One that had nothing before and
// has nothing now never had it.
func (r *Redis) unanswered(
	script string, seen *inspect.Contender, masters []MasterResult, before, after reading,
) (detail string, unknown bool) {
	left := 0
	for i := range masters {
		m, was, is := &masters[i], &before.lock.Masters[i], &after.lock.Masters[i]
		const lost = "whether it was removed on %s is unknown: no answer came, and it could not be read "
		const pending = "whether it is removed on %s is unknown: it was still there afterwards, but the request got no answer and may still arrive"
		switch undone := r.removedNothing(i, script, m.Err) || r.unsent(i, m.Err); {
		case stands(is, seen) && (m.Err == nil || undone):
			left++
		case stands(is, seen):
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

// unsent reports whether an error proves that the request did not reach the master; of a Cluster's client it
// may be that of a second try.
func (r *Redis) unsent(i int, err error) bool {
	_, cluster := r.masters[i].(*redis.ClusterClient)
	return errors.Is(err, errNotSent) || !cluster && connect.NotDialled(err)
}

// unknownEnd is the error of a release that no master has confirmed although one may have done it.
func unknownEnd(r Result) error {
	if !r.Unknown {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, r.Detail)
}
