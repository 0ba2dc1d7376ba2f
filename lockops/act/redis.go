package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/failpoint"
)

// Redis is a Releaser of locks on one Redis or several independent masters. Make one with NewRedis.
type Redis struct {
	masters []redis.UniversalClient
	target  Target
	audit   *Audit
	limit   time.Duration
	recipes []recipe.Custom
}

// NewRedis makes a Releaser for locks on these masters. target lists them one by one
// (Target.Servers), and names them in the audit file. limit bounds each master's answer. recipes
// say how to wake waiters.
func NewRedis(
	masters []redis.UniversalClient, target Target, limit time.Duration, audit *Audit, recipes ...recipe.Custom,
) *Redis {
	return &Redis{masters: masters, target: target, audit: audit, limit: limit, recipes: recipes}
}

var errMoving = errors.New("the value changed while it was read (try again)")

// serving returns a Releaser that names the Cluster node with the key.
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
	p.Refused, p.StillHolding = refusal(req, p.Seen), otherHolders(rd.lock, p.Seen)
	if req.Ask {
		p.Refused, p.Detail = Unsupported,
			"holders of Redis locks cannot be asked to release; only Curator's holders in ZooKeeper can"
		return p, nil
	}
	lacking, lacks := r.noScripts(ctx, rd.lock)
	if lacking != "" {
		p.Refused, p.Detail = Unsupported, lacking
		return p, nil
	}
	if req.TTL > 0 {
		p = r.previewTTL(p, rd)
		p.Warnings = append(p.Warnings, lacks...)
		return p, nil
	}
	value, _ := rd.value(p.Seen)
	way, ok := removalOf(rd.lock, p.Seen, value)
	if !ok {
		p.Refused, p.Detail = Unsupported, unsupported(rd.lock)
		return p, nil
	}
	for i := range rd.lock.Masters {
		if m := &rd.lock.Masters[i]; stillHas(m, p.Seen) || !m.Up {
			p.Sends = append(p.Sends, r.target.Servers[i]+": "+way.says)
		}
	}
	if p.Next = rd.next(p.Seen); p.Next == nil && p.Seen.State == inspect.Holding {
		p.NextUnknown = rd.unseenWaiters()
	}
	p.Warnings = append(redisWarnings(rd, p.Seen), lacks...)
	return p, nil
}

func redisWarnings(rd reading, seen *inspect.Contender) []string {
	warnings := []string{keepsRunning}
	if _, queued := find(rd.lock, seen.Name); queued && seen.State == inspect.Waiting {
		warnings = waiterWarnings(seen)
	} else if seen.State != inspect.Holding {
		warnings = []string{"this value has no quorum. If these are the masters of one lock, its client does not " +
			"hold it (the other locks were not read: see lockscope doctor). Deleting it clears the way for others"}
	}
	if len(rd.lock.Masters) > 1 {
		warnings = append(warnings,
			"the quorum is checked again first; each master then deletes separately (not atomic across masters)")
	}
	return append(warnings, rd.silentWarning()...)
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

// lookAgain reads the lock right before an action. The result has a reason if anything that was
// confirmed has changed.
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
	now, unsure := before.again(p.Seen), before.lock.State == inspect.StateUnknown
	there := now != nil
	switch detail := otherRole(p.Seen, now); {
	case unsure && (there || before.unanswered() != nil || before.unread() != nil):
		result.Reason, result.Detail = NoQuorum,
			"too few masters answer to tell whether it holds the lock; nothing was done"
		for i, err := range before.errs {
			result.Masters[i].Err = err
		}
	// the waiter may get the lock now, and would then be compared as the holder
	case !ok, !there && (unsure || p.Seen.State != inspect.Holding):
		result.HoldersAfter = before.lock.Holders
		if err := errors.Join(before.unanswered(), before.unread()); err != nil { // it may be there
			return before, result, err
		}
		result.Reason = before.missing()
	case detail != "":
		result.Reason, result.Detail = Changed, detail
	}
	if result.Reason != "" {
		result.HoldersAfter = before.lock.Holders
		return before, result, before.unanswered()
	}
	return before, result, nil
}

// release reads the lock again and removes the contender on each master, unless anything that was
// confirmed has changed. Once it has asked one master, it continues even if ctx ends, for at most
// twice the limit. A slow master does nothing after that.
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
		m.Lacked = !m.Deleted && m.Err == nil
	})
	after := r.read(ctx, p.Request.ID)
	if !permitsOnly(before.lock, after.lock) {
		result.HoldersAfter = after.lock.Holders
	}
	result.Next = nextNow(p.Next, after.lock)
	r.endedByKeys(way.name, result.Masters, p.Seen, before, after)
	result.Released, result.Reason = outcome(p, result.Masters, after)
	if result.Released && takenAgain(p, result.Masters, after) {
		result.Detail = "taken again by the same value"
	}
	if result.Reason != NoQuorum && !result.Released {
		result.Unknown, result.Detail = otherEnd(result.Masters)
	}
	if !result.Released && !result.Unknown {
		if detail, unknown := r.unanswered(way.name, p.Seen, result.Masters, before, after); unknown {
			result.Unknown, result.Detail = true, detail
		}
	}
	if result.Unknown {
		result.Reason = ""
	}
	if result.Reason == NoQuorum &&
		!slices.ContainsFunc(result.Masters, func(m MasterResult) bool { return m.Deleted || m.Err != nil }) {
		// Each master refused if the role had just changed.
		if detail := otherRole(p.Seen, after.again(p.Seen)); detail != "" {
			result.Reason, result.Detail = Changed, detail
		}
	}
	return result, errors.Join(unreachableMasters(result.Masters), unknownEnd(result))
}

// permitsOnly reports whether only a Redisson semaphore's count of free permits is left, which
// looks like a held lock.
func permitsOnly(before, after *inspect.Lock) bool {
	return before.Recipe == "redisson" && before.Kind == inspect.KindSemaphore && after.Kind != inspect.KindSemaphore
}

// unreachableMasters joins the errors of masters that failed and may still have the contender.
func unreachableMasters(masters []MasterResult) error {
	var failed error
	for _, m := range masters {
		if m.Err != nil && m.Ended == "" {
			failed = errors.Join(failed, fmt.Errorf("%w: master %s: %w", ErrUnreachable, m.Addr, m.Err))
		}
	}
	return failed
}

// remove removes the contender on one master. The request carries a time limit by that master's
// clock. So a master that was stopped cannot run it late, after the operator was told that it
// failed.
func (r *Redis) remove(ctx context.Context, i int, way removal, key string) (bool, error) {
	until, err := r.timeLimit(ctx, i)
	if err != nil {
		return false, err
	}
	way.args = append(slices.Clone(way.args), until)
	deleted, err := way.run(ctx, r.masters[i])
	if deleted && way.wakeList != "" {
		way.wake(ctx, r.masters[i])
	}
	return deleted, r.explain(way.name, key, err)
}

// timeLimit returns the last instant, in milliseconds of the master's clock, at which a request may
// be executed. 0 means no limit: the master refuses to report its time, or the clock could be any
// Cluster node's. Without an answer, timeLimit asks again on another connection. Without a second
// answer, do not send the request, since the server may execute it much later.
func (r *Redis) timeLimit(ctx context.Context, i int) (int64, error) {
	if _, cluster := r.masters[i].(*redis.ClusterClient); cluster {
		return 0, unlessOver(ctx)
	}
	var at time.Time
	var err error
	for range 2 {
		if at, err = r.masters[i].Time(ctx).Result(); err == nil {
			return at.Add(r.limit).UnixMilli(), unlessOver(ctx)
		}
		if errors.As(err, new(redis.Error)) {
			return 0, unlessOver(ctx)
		}
	}
	return 0, cmp.Or(unlessOver(ctx), fmt.Errorf("%w: %w", errNotSent, connect.Plain(err)))
}

// unlessOver returns ctx's error once ctx is over, so that the request is not sent.
func unlessOver(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errNotSent, context.Cause(ctx))
}

// takenAgain reports whether a master has the deleted value again: some clients reuse their value.
func takenAgain(p Preview, masters []MasterResult, after reading) bool {
	for i, m := range masters {
		if m.Deleted && stillHas(&after.lock.Masters[i], p.Seen) {
			return true
		}
	}
	return false
}

// outcome reports whether the release freed the lock: a master deleted the value, and the others,
// including unreadable ones, cannot form a quorum.
func outcome(p Preview, masters []MasterResult, after reading) (bool, Reason) {
	deleted, left, refused := 0, 0, 0
	for i, m := range masters {
		if m.Deleted {
			deleted++
			continue
		}
		is := &after.lock.Masters[i]
		if stillHas(is, p.Seen) || m.Err != nil && !lacks(is, p.Seen) {
			left++
		}
		if stillHas(is, p.Seen) && m.Err != nil {
			refused++
		}
	}
	switch {
	case left >= after.lock.Quorum, deleted == 0 && refused > 0: // it is still there
		return false, NoQuorum
	case deleted > 0:
		return true, ""
	default:
		return false, after.missing()
	}
}
