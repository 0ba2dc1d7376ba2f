package act

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/redissource"
	"lockscope/internal/connect"
)

// redisMasters releases locks that one Redis or several independent masters hold.
type redisMasters struct {
	masters []redis.UniversalClient
	addrs   []string
	audit   *Audit
	limit   time.Duration
}

// NewRedis releases locks on these masters, shown as addrs. limit is the time that one master gets to answer.
func NewRedis(masters []redis.UniversalClient, addrs []string, limit time.Duration, audit *Audit) Releaser {
	return &redisMasters{masters: masters, addrs: addrs, audit: audit, limit: limit}
}

// reading is what the masters hold under a key: the lock, and each master's whole value.
type reading struct {
	lock   *inspect.Lock
	values []string
	errs   []error
}

// maxShown is how much of a value a contender's name holds; longer ones are known by their digest.
const maxShown = 1 << 10

// read asks every master at once, each for at most the limit.
func (r *redisMasters) read(ctx context.Context, id inspect.ID) reading {
	votes := make([]inspect.Vote, len(r.masters))
	out := reading{values: make([]string, len(r.masters)), errs: make([]error, len(r.masters))}
	r.each(ctx, func(ctx context.Context, i int) {
		votes[i], out.values[i], out.errs[i] = r.vote(ctx, i, id.Path)
		if out.errs[i] != nil {
			return
		}
		// What a recipe makes of it, with what belongs to it.
		if v, err := redissource.ReadKey(ctx, r.masters[i], r.addrs[i], id.Path, r.limit); err != nil {
			votes[i], out.errs[i] = v, fmt.Errorf("master %s: %w", r.addrs[i], connect.Plain(err))
		} else if v.Held != nil {
			votes[i] = v
		}
	})
	out.lock = inspect.KeyLock(id, votes, time.Now())
	return out
}

// each runs f for every master at once and waits for all.
func (r *redisMasters) each(ctx context.Context, f func(ctx context.Context, i int)) {
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

func (r *redisMasters) vote(ctx context.Context, i int, key string) (inspect.Vote, string, error) {
	v := inspect.Vote{Addr: r.addrs[i]}
	both := r.masters[i].Pipeline() // one after the other, it could expire in between
	get, ttl := both.Get(ctx, key), both.PTTL(ctx, key)
	_, execErr := both.Exec(ctx)
	value, err := get.Result()
	if err == nil && ttl.Err() == nil {
		err = execErr // the connection failed: go-redis then leaves the commands without an answer
	}
	left, ttlErr := ttl.Result()
	switch {
	case errors.Is(err, redis.Nil), ttlErr == nil && left == goneTTL:
		v.Up = true
		return v, "", nil
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		v.Up, v.Present, v.Foreign = true, true, true
		return v, "", nil
	case err != nil:
		v.Error = err.Error()
		return v, "", fmt.Errorf("master %s: %w", r.addrs[i], connect.Plain(err))
	}
	if ttlErr != nil {
		v.Error = ttlErr.Error()
		return v, "", fmt.Errorf("master %s: %w", r.addrs[i], connect.Plain(ttlErr))
	}
	v.Up, v.Present, v.Value = true, true, inspect.Untrusted(value)
	if len(value) > maxShown {
		v.Value, v.Digest = inspect.Untrusted(value[:maxShown]), digest(value)
	}
	if left < 0 {
		v.NoExpiry = true
	} else {
		v.ExpiresAt = time.Now().Add(left)
	}
	return v, value, nil
}

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

// next is who gets the lock when the contender is gone; nil when nobody waits, or others hold it still.
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

// Preview implements Releaser.
func (r *redisMasters) Preview(ctx context.Context, req Request) (Preview, error) {
	p := Preview{Request: req}
	rd := r.read(ctx, req.ID)
	p.Seen = rd.seen(req.Owner)
	if p.Seen == nil {
		if err := errors.Join(rd.errs...); err != nil {
			return p, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		p.Refused, p.Alike = rd.missing(), alike(rd.lock, req.Owner)
		return p, nil
	}
	if err := errors.Join(rd.errs...); err != nil && rd.lock.State == inspect.StateUnknown {
		return p, fmt.Errorf("%w: too few answered to tell who holds it: %w", ErrUnreachable, err)
	}
	p.Refused = refusal(req, p.Seen)
	way, err := removalOf(rd.lock, p.Seen, "")
	if err != nil {
		return p, err
	}
	for i := range rd.lock.Masters {
		if m := &rd.lock.Masters[i]; stands(m, p.Seen) || !m.Up {
			p.Sends = append(p.Sends, r.addrs[i]+": "+way.says)
		}
	}
	p.Next = rd.next(p.Seen)
	p.Warnings = []string{keepsRunning}
	if _, queued := find(rd.lock, p.Seen.Name); queued && p.Seen.State == inspect.Waiting {
		p.Warnings = waiterWarnings(p.Seen)
	} else if p.Seen.State != inspect.Holding {
		p.Warnings = []string{"this value has no quorum: nobody holds the lock by it; deleting it clears the way for others"}
	}
	if err := errors.Join(rd.errs...); err != nil {
		p.Warnings = append(p.Warnings, "not every master answers: "+inspect.Escape(err.Error()))
	}
	return p, nil
}

// Execute implements Releaser.
func (r *redisMasters) Execute(ctx context.Context, p Preview, confirmed string) (Result, error) {
	if p.Refused != "" || p.Seen == nil {
		return Result{Reason: p.Refused, Seen: p.Seen}, nil
	}
	owner := evidence{Value: p.Seen.Digest}
	if owner.Value == "" {
		owner.Value = digest(p.Seen.Name.Raw())
	}
	intent := line{Servers: r.addrs, Lock: p.Request.ID.String(), Confirmed: confirmed, Owner: owner}
	return audited(r.audit, intent, func() (Result, error) { return r.release(ctx, p) })
}

func (r *redisMasters) release(ctx context.Context, p Preview) (Result, error) {
	result := Result{Seen: p.Seen, Masters: make([]MasterResult, len(r.masters))}
	before := r.read(ctx, p.Request.ID)
	value, ok := before.value(p.Seen)
	if !ok {
		result.Reason = Gone
		return result, nil
	}
	way, err := removalOf(before.lock, p.Seen, value)
	if err != nil {
		return result, err
	}
	r.each(ctx, func(ctx context.Context, i int) {
		deleted, err := way.run(ctx, r.masters[i])
		result.Masters[i] = MasterResult{Addr: r.addrs[i], Deleted: deleted, Err: err}
	})
	after := r.read(ctx, p.Request.ID)
	result.HoldersAfter = after.lock.Holders
	result.Released, result.Reason = outcome(p, result.Masters, after)
	var failed error
	for _, m := range result.Masters {
		if m.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w: master %s: %w", ErrUnreachable, m.Addr, m.Err))
		}
	}
	return result, failed
}

// outcome says whether the release freed the lock: it did when some master deleted the value and no quorum is left
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

// missing says why the value asked for is not there: the key holds another one, or none.
func (rd reading) missing() Reason {
	for _, m := range rd.lock.Masters {
		if m.Present && m.Held == nil { // a queue or a set has others in it: he is gone
			return Changed
		}
	}
	return Gone
}
