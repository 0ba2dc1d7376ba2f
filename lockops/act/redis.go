package act

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/redissource"
	"lockscope/internal/connect"
	"lockscope/internal/failpoint"
)

// Redis is a Releaser of locks that one Redis or several independent masters hold. Make one with NewRedis.
type Redis struct {
	masters []redis.UniversalClient
	target  Target
	audit   *Audit
	limit   time.Duration
}

// NewRedis releases locks on these masters, which target names one by one (Target.Servers), in the audit file too. limit
// is the time that one master gets to answer.
func NewRedis(masters []redis.UniversalClient, target Target, limit time.Duration, audit *Audit) *Redis {
	return &Redis{masters: masters, target: target, audit: audit, limit: limit}
}

// reading is a key as read from all masters: the lock, and each master's whole value where that is a plain string.
type reading struct {
	lock   *inspect.Lock
	values []string
	errs   []error
}

// maxShown is the longest value, in bytes, that is a contender's name; longer ones go by their digest.
const maxShown = 1 << 10

// read asks every master at once, each for at most the limit.
func (r *Redis) read(ctx context.Context, id inspect.ID) reading {
	votes := make([]inspect.Vote, len(r.masters))
	out := reading{values: make([]string, len(r.masters)), errs: make([]error, len(r.masters))}
	r.each(ctx, func(ctx context.Context, i int) {
		votes[i], out.values[i], out.errs[i] = r.vote(ctx, i, id.Path)
	})
	out.lock = inspect.KeyLock(id, votes, time.Now())
	return out
}

// vote reads a key as the source does; where its user may not do that, a plain string with the commands alone that a
// release needs anyway. A value longer than is shown is read in full: it is what the release compares.
func (r *Redis) vote(ctx context.Context, i int, key string) (inspect.Vote, string, error) {
	v, err := redissource.ReadKey(ctx, r.masters[i], r.target.Servers[i], key, r.limit)
	if refused := cmp.Or(deniedText(v.Error), deniedIn(err)); refused != "" || refusedValue(v) {
		plain, value, plainErr := r.plainVote(ctx, i, key)
		if refused != "" || !plain.Foreign { // else it is no string, and the refused read was the right one
			return plain, value, plainErr
		}
	}
	switch {
	case err != nil:
		return v, "", fmt.Errorf("master %s: %w", r.target.Servers[i], connect.Plain(err))
	case v.Digest == "" || v.Held != nil:
		return v, v.Value.Raw(), nil
	}
	value, err := r.masters[i].Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) || err == nil && digest(value) != v.Digest {
		return inspect.Vote{Addr: v.Addr, Error: errMoving.Error()}, "", fmt.Errorf("master %s: %w", v.Addr, errMoving)
	}
	return v, value, r.failed(i, "get", key, err)
}

// refusedValue reports whether the key's holder is unknown for want of a right.
func refusedValue(v inspect.Vote) bool {
	return slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool { return u.Aspect == inspect.AspectHolders && u.Right != "" })
}

var errMoving = errors.New("the value changed while it was read (try again)")

// each runs f for every master at once and waits for all.
func (r *Redis) each(ctx context.Context, f func(ctx context.Context, i int)) {
	var wg sync.WaitGroup
	for i := range r.masters {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, r.limit)
			defer cancel()
			f(ctx, i)
		})
	}
	wg.Wait()
}

// goneTTL is go-redis' answer for the time to live of a key that is not there.
const goneTTL = -2 * time.Nanosecond

// plainVote reads a key that can be a plain string only, whose library keeps nothing beside it.
func (r *Redis) plainVote(ctx context.Context, i int, key string) (inspect.Vote, string, error) {
	v := inspect.Vote{Addr: r.target.Servers[i]}
	down := func(err error) (inspect.Vote, string, error) {
		v.Error = err.Error()
		return v, "", err
	}
	if _, isWriter := recipe.MadelsonReaders(key); isWriter {
		return down(r.failed(i, "read", key, errors.New("a lock of madelson's has more than this key (grant +getrange +type +smembers +zrange +hscan +pttl)")))
	}
	if _, several := recipe.RueidisKeys(key); several {
		return down(r.failed(i, "read", key, errors.New("a lock of rueidislock has three keys (grant +getrange +pttl on all of them)")))
	}
	both := r.masters[i].Pipeline() // one after the other, it could expire in between
	get, ttl := both.Get(ctx, key), both.PTTL(ctx, key)
	_, execErr := both.Exec(ctx)
	if get.Err() == nil && ttl.Err() == nil && execErr != nil {
		return down(r.failed(i, "get", key, execErr)) // the connection failed: go-redis then leaves the commands without an answer
	}
	value, err := get.Result()
	switch {
	case errors.Is(err, redis.Nil), ttl.Err() == nil && ttl.Val() == goneTTL:
		v.Up = true
		return v, "", nil
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		v.Up, v.Present, v.Foreign = true, true, true
		return v, "", nil
	case err != nil:
		return down(r.failed(i, "get", key, err))
	}
	v.Up, v.Present, v.Value = true, true, inspect.Untrusted(value)
	if len(value) > maxShown {
		v.Value, v.Digest = inspect.Untrusted(value[:maxShown]), digest(value)
	}
	switch left := ttl.Val(); {
	case ttl.Err() != nil: // its expiry decides nothing here
	case left < 0:
		v.NoExpiry = true
	default:
		v.ExpiresAt = time.Now().Add(left)
	}
	return v, value, nil
}

// valueDigest is the digest of a contender's value.
func valueDigest(c *inspect.Contender) string { return cmp.Or(c.Digest, digest(c.Name.Raw())) }

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// seen is the contender that the owner names: the holder, or a value that is on some masters without a quorum.
func (rd reading) seen(owner inspect.Untrusted) *inspect.Contender {
	if c, ok := find(rd.lock, owner); ok {
		return &c
	}
	for i, m := range rd.lock.Masters {
		named := m.Digest == "" && m.Value == owner || m.Digest != "" && m.Digest == owner.Raw()
		if m.Present && !m.Foreign && named {
			token := recipe.DecodeToken(rd.lock.ID.Path, rd.values[i])
			return &inspect.Contender{
				Name: m.Value, Digest: m.Digest, State: inspect.Waiting, Count: 1, Since: token.Since,
				ExpiresAt: m.ExpiresAt, NoExpiry: m.NoExpiry,
				Owner: inspect.Owner{Label: inspect.Untrusted(token.Label), Host: inspect.Untrusted(token.Host)},
			}
		}
	}
	return nil
}

// next is the waiter that gets the lock when the contender is gone; nil when nobody waits, or others hold it still.
func (rd reading) next(c *inspect.Contender) *inspect.Contender {
	if len(rd.lock.Waiters) == 0 || c.State != inspect.Holding || len(rd.lock.Holders) > 1 {
		return nil
	}
	return &rd.lock.Waiters[0]
}

// value is the whole value behind a contender.
func (rd reading) value(c *inspect.Contender) (string, bool) {
	if c.Digest == "" {
		return c.Name.Raw(), true
	}
	for i, m := range rd.lock.Masters {
		if m.Present && m.Value == c.Name && m.Digest == c.Digest {
			return rd.values[i], true
		}
	}
	return "", false
}

// serving is a Releaser that names the node of a Cluster that has the key, rather than those that the Cluster was found by.
func (r *Redis) serving(ctx context.Context, key string) *Redis {
	cluster, ok := r.masters[0].(*redis.ClusterClient)
	if !ok {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	node, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return r
	}
	at := *r
	at.target.Servers = []string{node.Options().Addr}
	return &at
}

// Preview implements Releaser.
func (r *Redis) Preview(ctx context.Context, req Request) (Preview, error) {
	r = r.serving(ctx, req.ID.Path)
	p := Preview{Request: req}
	rd := r.read(ctx, req.ID)
	p.Seen = rd.seen(req.Owner)
	if p.Seen == nil {
		if err := errors.Join(rd.unanswered(), rd.unread()); err != nil {
			return p, err
		}
		p.Refused, p.Alike = rd.missing(), alike(rd.lock, req.Owner)
		return p, nil
	}
	if err := errors.Join(rd.errs...); err != nil && rd.lock.State == inspect.StateUnknown {
		return p, fmt.Errorf("%w: too few answered to tell who holds it: %w", ErrUnreachable, err)
	}
	p.Refused = refusal(req, p.Seen)
	if req.Ask {
		p.Refused, p.Detail = Unsupported, "no library of Redis locks knows a request to let go; only Curator's holders in ZooKeeper can be asked"
		return p, nil
	}
	if req.TTL > 0 {
		return r.previewTTL(p, rd), nil
	}
	way, ok := removalOf(rd.lock, p.Seen, "")
	if !ok {
		p.Refused, p.Detail = Unsupported, unsupported(rd.lock)
		return p, nil
	}
	for i := range rd.lock.Masters {
		if m := &rd.lock.Masters[i]; stands(m, p.Seen) || !m.Up {
			p.Sends = append(p.Sends, r.target.Servers[i]+": "+way.says)
		}
	}
	if p.Next = rd.next(p.Seen); p.Next == nil && p.Seen.State == inspect.Holding {
		p.NextUnknown = rd.unseenWaiters()
	}
	p.Warnings = redisWarnings(rd, p.Seen)
	return p, nil
}

func redisWarnings(rd reading, seen *inspect.Contender) []string {
	warnings := []string{keepsRunning}
	if _, queued := find(rd.lock, seen.Name); queued && seen.State == inspect.Waiting {
		warnings = waiterWarnings(seen)
	} else if seen.State != inspect.Holding {
		warnings = []string{"this value has no quorum: nobody holds the lock by it, if these are the masters of one lock (the other locks were not read: see lockscope doctor); deleting it clears the way for others"}
	}
	if len(rd.lock.Masters) > 1 {
		warnings = append(warnings, "whether it has a quorum is read from all masters right before; each then compares and deletes by itself, not all in one step")
	}
	if err := errors.Join(rd.errs...); err != nil {
		warnings = append(warnings, "not every master answers: "+inspect.Escape(err.Error()))
	}
	return warnings
}

// Execute implements Releaser.
func (r *Redis) Execute(ctx context.Context, p Preview, confirmed string) (Result, error) {
	if p.Refused != "" || p.Seen == nil {
		return Result{Reason: p.Refused, Detail: p.Detail, Seen: p.Seen}, nil
	}
	r = r.serving(ctx, p.Request.ID.Path)
	intent := line{
		Action: p.Request.action(), Why: inspect.Escape(p.Request.Why), TTLMillis: p.Request.TTL.Milliseconds(),
		target: r.target.record(), Lock: p.Request.ID.String(), Confirmed: confirmed, Role: p.Seen.State,
		Owner: evidence{Value: valueDigest(p.Seen)},
	}
	intent.DB = &r.target.DB
	if p.Request.TTL > 0 {
		return audited(r.audit, intent, func() (Result, error) { return r.expire(ctx, p) })
	}
	return audited(r.audit, intent, func() (Result, error) { return r.release(ctx, p) })
}

// lookAgain reads the lock once more right before an action. The result has a reason where something that was confirmed is
// otherwise now.
func (r *Redis) lookAgain(ctx context.Context, p Preview) (reading, Result, error) {
	result := Result{Seen: p.Seen, Next: p.Next, Masters: make([]MasterResult, len(r.masters))}
	for i := range result.Masters {
		result.Masters[i].Addr = r.target.Servers[i]
	}
	before := r.read(ctx, p.Request.ID)
	if err := ctx.Err(); err != nil {
		return before, result, fmt.Errorf("%w: %w: %w", ErrUnreachable, errNotSent, context.Cause(ctx))
	}
	_, ok := before.value(p.Seen)
	switch detail, other := before.otherRole(p.Seen); {
	case !ok:
		result.Reason = before.missing()
	case before.lock.State == inspect.StateUnknown:
		result.Reason, result.Detail = NoQuorum, "too few masters answer to tell whether it holds the lock; nothing was done"
		for i, err := range before.errs {
			result.Masters[i].Err = err
		}
	case other:
		result.Reason, result.Detail = Changed, detail
	}
	if result.Reason != "" {
		result.HoldersAfter = before.lock.Holders
		return before, result, before.unanswered()
	}
	return before, result, nil
}

// release reads the lock once more and takes the contender out of it on each master, if nothing that was confirmed has
// changed. Once it is sent to one master it is carried through, whatever becomes of ctx: within twice the limit. A
// master that is too slow for it does nothing any more later.
func (r *Redis) release(ctx context.Context, p Preview) (Result, error) {
	before, result, err := r.lookAgain(ctx, p)
	if result.Reason != "" || err != nil {
		return result, err
	}
	value, _ := before.value(p.Seen)
	way, supported := removalOf(before.lock, p.Seen, value)
	if !supported {
		result.Reason, result.Detail, result.HoldersAfter = Unsupported, unsupported(before.lock), before.lock.Holders
		return result, nil
	}
	failpoint.At(failpoint.Deleting)
	ctx = context.WithoutCancel(ctx)
	r.each(ctx, func(ctx context.Context, i int) {
		m := &result.Masters[i]
		m.Deleted, m.Err = r.remove(ctx, i, way, p.Request.ID.Path)
	})
	after := r.read(ctx, p.Request.ID)
	result.HoldersAfter, result.Next = after.lock.Holders, nextNow(p.Next, after.lock)
	settle(result.Masters, p.Seen, before, after)
	result.Released, result.Reason = outcome(p, result.Masters, after)
	return result, unreachableMasters(result.Masters)
}

// unreachableMasters is the error of the masters that failed.
func unreachableMasters(masters []MasterResult) error {
	var failed error
	for _, m := range masters {
		if m.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w: master %s: %w", ErrUnreachable, m.Addr, m.Err))
		}
	}
	return failed
}

// remove takes the contender out on one master. The request carries a time limit by that master's clock, so that one
// that was stopped does not do it later, when the operator has read that it did not.
func (r *Redis) remove(ctx context.Context, i int, way removal, key string) (bool, error) {
	way.args = append(slices.Clone(way.args), r.timeLimit(ctx, i))
	deleted, err := way.run(ctx, r.masters[i])
	if deleted && way.wakeList != "" {
		way.wake(ctx, r.masters[i])
	}
	return deleted, r.explain(way.name, key, err)
}

// timeLimit is the last instant, in milliseconds of the master's clock, at which a request may be executed; 0 where the
// clock may not be read, or is that of any node of a Cluster: no limit.
func (r *Redis) timeLimit(ctx context.Context, i int) int64 {
	if _, cluster := r.masters[i].(*redis.ClusterClient); cluster {
		return 0
	}
	at, err := r.masters[i].Time(ctx).Result()
	if err != nil {
		return 0
	}
	return at.Add(r.limit).UnixMilli()
}

// settle corrects what masters answered by what their keys say: where the answer was lost or an error, the contender
// that stood there right before and does no longer is gone.
func settle(masters []MasterResult, seen *inspect.Contender, before, after reading) {
	for i := range masters {
		m, was, is := &masters[i], &before.lock.Masters[i], &after.lock.Masters[i]
		if m.Err != nil && stands(was, seen) && is.Up && !stands(is, seen) {
			m.Deleted, m.Err = true, nil
		}
	}
}

// outcome reports whether the release freed the lock: it did when some master deleted the value and no quorum is left
// that could still hold it, silent masters counted against us.
func outcome(p Preview, masters []MasterResult, after reading) (bool, Reason) {
	deleted, left := 0, 0
	for i, m := range masters {
		if m.Deleted {
			deleted++
		}
		if m.Err != nil || stands(&after.lock.Masters[i], p.Seen) {
			left++
		}
	}
	switch {
	case left >= after.lock.Quorum:
		return false, NoQuorum
	case deleted > 0:
		return true, ""
	default:
		return false, after.missing()
	}
}

// otherRole reports whether the contender has gained or lost its role, or its quorum, since it was confirmed.
func (rd reading) otherRole(confirmed *inspect.Contender) (string, bool) {
	now := rd.seen(confirmed.Name)
	if confirmed.Digest != "" {
		now = rd.seen(inspect.Untrusted(confirmed.Digest))
	}
	if now == nil {
		return "", false
	}
	return otherRole(confirmed, now)
}

// unanswered are the masters that could not be asked.
func (rd reading) unanswered() error {
	if err := errors.Join(rd.errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}

// unread is the error of reads refused or failed on masters that answer: an owner who was not found may be there.
func (rd reading) unread() error {
	if why := rd.gaps(inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectKind, inspect.AspectVotes); why != "" {
		return fmt.Errorf("%w: whether it is there is not known: %s", ErrUnreachable, why)
	}
	return nil
}

// unseenWaiters is the reason why others than the waiters that were read wait or may wait; empty where none can.
func (rd reading) unseenWaiters() string {
	switch why := rd.gaps(inspect.AspectWaiters); {
	case rd.lock.WaitersAtLeast > 0:
		return fmt.Sprintf("unknown: at least %d wait unseen", rd.lock.WaitersAtLeast)
	case why != "":
		return "unknown: " + why
	}
	return ""
}

// gaps lists the refused and failed reads that leave these aspects of the lock unknown; empty for none, safe to print.
func (rd reading) gaps(aspects ...inspect.Aspect) string {
	var all []string
	for _, u := range rd.lock.Unseen {
		if !slices.Contains(aspects, u.Aspect) {
			continue
		}
		why := fmt.Sprintf("%s of master %s: %s", u.Read, u.Where, u.Reason)
		if u.Right != "" {
			why = fmt.Sprintf("the user may not run %s on master %s (grant %s)", u.Read, u.Where, u.Right)
		}
		if why = inspect.Escape(why); !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return strings.Join(all, "; ")
}

// missing distinguishes a key that others still have a part in (Changed) from one that is free of the owner (Gone).
func (rd reading) missing() Reason {
	for _, m := range rd.lock.Masters {
		if m.Present && m.Held == nil { // a queue or a set has others in it: he is gone
			return Changed
		}
	}
	return Gone
}
