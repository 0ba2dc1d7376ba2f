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

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// reading is a key as read from all masters: the lock, and each master's whole value where that is a plain string.
type reading struct {
	lock   *inspect.Lock
	values []string
	errs   []error
}

// read asks every master at once, each for at most the limit.
func (r *Redis) read(ctx context.Context, id inspect.ID) reading {
	votes := make([]inspect.Vote, len(r.masters))
	out := reading{values: make([]string, len(r.masters)), errs: make([]error, len(r.masters))}
	r.each(ctx, func(ctx context.Context, i int) {
		votes[i], out.values[i], out.errs[i] = r.vote(ctx, i, id.Path)
	})
	out.lock = inspect.ReadBy(inspect.KeyLock(id, votes, r.target.now()), r.recipes)
	return out
}

// vote reads a key as the source does. A value too long to show is read in full, since the release
// compares all of it.
func (r *Redis) vote(ctx context.Context, i int, key string) (inspect.Vote, string, error) {
	v, err := node.ReadKey(ctx, r.target.now, r.masters[i], r.target.Servers[i], key, r.limit)
	switch {
	case err != nil:
		return v, "", r.failed(i, "read", key, err)
	case v.Digest == "" || v.Held != nil:
		return v, v.Value.Raw(), nil
	}
	value, err := r.masters[i].Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) || err == nil && digest(value) != v.Digest {
		return inspect.Vote{Addr: v.Addr, Error: errMoving.Error()}, "", fmt.Errorf("master %s: %w", v.Addr, errMoving)
	}
	return v, value, r.failed(i, "get", key, err)
}

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

// valueDigest returns the digest of a contender's value.
func valueDigest(c *inspect.Contender) string { return cmp.Or(c.Digest, digest(c.Name.Raw())) }

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// seen returns the contender that the owner names: the holder, or a value on some masters without a
// quorum.
func (rd reading) seen(owner inspect.Untrusted) *inspect.Contender {
	if c, ok := find(rd.lock, owner); ok {
		return &c
	}
	for i, m := range rd.lock.Masters {
		if m.Held != nil && slices.Contains(m.Held.Partial, owner.Raw()) { // in fewer of the lock's keys than hold it
			return &inspect.Contender{Name: owner, State: inspect.Waiting, Count: 1}
		}
		named := m.Digest == "" && m.Value == owner || m.Digest != "" && m.Digest == owner.Raw()
		if m.Present && !m.Foreign && named {
			token := recipe.DecodeToken(rd.lock.ID.Path, rd.values[i])
			return &inspect.Contender{
				Name: m.Value, Special: inspect.Special{Digest: m.Digest}, State: inspect.Waiting, Count: 1,
				Since:     token.Since,
				ExpiresAt: m.ExpiresAt, NoExpiry: m.NoExpiry,
				Owner: inspect.Owner{
					Label:   inspect.Untrusted(token.Label),
					Process: inspect.Process{Host: inspect.Untrusted(token.Host)},
				},
			}
		}
	}
	return nil
}

// next returns the waiter that gets the lock after the contender. It skips waiters that are most
// likely gone. It is nil without waiters, or if others still hold the lock.
func (rd reading) next(c *inspect.Contender) *inspect.Contender {
	if c.State != inspect.Holding || len(rd.lock.Holders) > 1 {
		return nil
	}
	if len(rd.lock.Waiters) > 1 && rd.lifeUnknown() != "" {
		return nil
	}
	live := slices.IndexFunc(rd.lock.Waiters, func(w inspect.Contender) bool { return !w.Dead })
	if live < 0 {
		return nil
	}
	return &rd.lock.Waiters[live]
}

// value returns the whole value behind a contender.
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

// again returns the current state of a contender seen before; nil if it is gone.
func (rd reading) again(was *inspect.Contender) *inspect.Contender { return rd.seen(was.Argument()) }

// silentWarning warns of masters that do not answer; nil if all do.
func (rd reading) silentWarning() []string {
	if err := errors.Join(rd.errs...); err != nil {
		return []string{"not every master answers: " + inspect.Escape(strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return nil
}

// unanswered returns the errors of masters that could not be asked.
func (rd reading) unanswered() error {
	if err := errors.Join(rd.errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}

// unread returns an error if reads were refused or failed on masters that answer: an owner that was
// not found may still exist.
func (rd reading) unread() error {
	why := unseen(rd.lock, "master ",
		inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectKind, inspect.AspectVotes)
	if why != "" {
		return fmt.Errorf("%w: it is unknown whether it exists: %s", ErrUnreachable, why)
	}
	return nil
}

// unseenWaiters returns the reason why there may be other waiters than those that were read; empty
// if there are none.
func (rd reading) unseenWaiters() string {
	switch why := unseen(rd.lock, "master ", inspect.AspectWaiters); {
	case rd.lock.WaitersAtLeast > 0:
		return fmt.Sprintf("unknown: it has unseen waiters (at least %d)", rd.lock.WaitersAtLeast)
	case why != "":
		return "unknown: " + why
	case len(rd.lock.Waiters) > 1 && rd.lifeUnknown() != "":
		return "unknown: without the server's clock we cannot tell which waiters are alive: " + rd.lifeUnknown()
	}
	return ""
}

// lifeUnknown returns the reason why it is unknown how long the waiters have been silent; empty if
// known or irrelevant.
func (rd reading) lifeUnknown() string {
	timed := *rd.lock
	timed.Unseen = slices.DeleteFunc(slices.Clone(timed.Unseen),
		func(u inspect.Unseen) bool { return u.Read != "TIME" })
	return unseen(&timed, "master ", inspect.AspectExpiry)
}

// missing distinguishes a plain string with another value (Changed) from an owner whose key or entry is gone (Gone).
func (rd reading) missing() Reason {
	for _, m := range rd.lock.Masters {
		if m.Present && m.Held == nil {
			return Changed
		}
	}
	return Gone
}
