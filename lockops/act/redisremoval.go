package act

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

//go:embed lua/*.lua
var scripts embed.FS

// removal removes a contender from a lock on one master, if it is still there.
type removal struct {
	// name of the script.
	name string
	keys []string
	args []any
	// wakeList is the list that wakes the library's waiters, if it has one.
	wakeList string
	// says describes the command in the preview.
	says string
}

// run removes the contender, and reports whether it was there.
func (r removal) run(ctx context.Context, c redis.UniversalClient) (bool, error) {
	n, err := redis.NewScript(scriptText(r.name)).Run(ctx, c, r.keys, r.args...).Int()
	return err == nil && n == 1, err
}

// wakeFor is the TTL of the list that wakes a waiter, as in python-redis-lock.
const wakeFor = time.Second

// wake puts one element on the list, as the library's release does. The script cannot: the list is
// in another slot of a Cluster, and an account that may not write to it can still release.
func (r removal) wake(ctx context.Context, c redis.UniversalClient) {
	p := c.Pipeline()
	p.Del(ctx, r.wakeList)
	p.LPush(ctx, r.wakeList, 1)
	p.PExpire(ctx, r.wakeList, wakeFor)
	_, _ = p.Exec(ctx) // a waiter that is not woken polls
}

// scriptText returns a script after the common prelude. For an unknown name it is the prelude
// alone, which removes nothing.
func scriptText(name string) string {
	prelude, _ := scripts.ReadFile("lua/prelude.lua")
	text, _ := scripts.ReadFile("lua/" + name + ".lua")
	return string(prelude) + string(text)
}

// structured reports whether the masters hold more than a plain string under the lock's key.
func structured(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(v inspect.Vote) bool { return v.Held != nil })
}

// removalOf chooses the script for the lock's library; value is the whole value of a plain string.
// False if no way is known for the library.
func removalOf(l *inspect.Lock, c *inspect.Contender, value string) (removal, bool) {
	key := l.ID.Path
	channels, message := recipe.Wakes(key, value)
	wakeList, _ := recipe.WakeList(key, value)
	if l.Custom != nil {
		channels, message = l.Custom.WakeChannels(key)
		wakeList, _ = l.Custom.WakeList(key)
	}
	plain := removal{
		name: "string", keys: []string{key}, args: []any{value, message},
		says: "compare-and-delete " + inspect.Escape(key) + " (go on only if it still holds the value seen)",
	}
	for _, channel := range channels {
		plain.args = append(plain.args, channel)
	}
	plain.says += onChannels(channels)
	plain.wakeList = wakeList
	if !structured(l) {
		return plain, true
	}
	name := c.Name.Raw()
	switch l.Recipe {
	case "redisson":
		return redissonRemoval(l, c), true
	case "symfony":
		args := []any{name}
		if c.Mode == recipe.Exclusive {
			args = append(args, recipe.SymfonyWrite)
		}
		return memberRemoval(key, args...), true
	case "redis-semaphore":
		return permitsRemoval(l, c), true
	case "sidekiq-unique-jobs":
		return sidekiqRemoval(l, c)
	case "lockscope":
		return lockscopeRemoval(key, c, plain), true
	case "rueidislock":
		keys, _ := recipe.RueidisKeys(key)
		return removal{
			name: "rueidislock", keys: keys, args: []any{name, c.State.String()},
			says: fmt.Sprintf("compare-and-delete the %d keys of %s (those that still hold the value seen)", len(keys),
				inspect.Escape(key)),
		}, true
	case "madelson":
		readers, isWriter := recipe.MadelsonReaders(key)
		switch {
		case l.Kind == inspect.KindSemaphore:
			return memberRemoval(key, name), true
		case c.Mode == recipe.Shared && isWriter:
			return memberRemoval(readers, name), true
		}
		return plain, true
	}
	return removal{}, false
}

// onChannels describes where a release is published. With several channels, the one that the
// waiters listen on is unknown.
func onChannels(channels []string) string {
	switch len(channels) {
	case 0:
		return ""
	case 1:
		return ", and publish on " + inspect.Escape(channels[0])
	}
	return fmt.Sprintf(", and publish on %s and %d more like it (its waiters listen on one of them, "+
		"others ignore it)", inspect.Escape(channels[0]), len(channels)-1)
}

func sidekiqRemoval(l *inspect.Lock, c *inspect.Contender) (removal, bool) {
	keys, jobDigest, ok := recipe.SidekiqKeys(l.ID.Path)
	return removal{
		name: "sidekiq", keys: keys, args: []any{c.Name.Raw(), jobDigest},
		says: "remove the job from " + inspect.Escape(l.ID.Path) +
			" (go on only if it is still in it), and the digest's other keys if it was the last; then wake its waiters",
	}, ok
}

// lockscopeRemoval removes a contender from a lock of our own package with waiters; plain is the
// removal without waiters.
func lockscopeRemoval(key string, c *inspect.Contender, plain removal) removal {
	if c.State == inspect.Holding {
		plain.args = []any{c.Name.Raw(), "", recipe.LockscopeChannel(key)}
		return plain
	}
	return removal{
		name: "lockscope_waiter",
		keys: []string{
			recipe.LockscopeKey(recipe.QueuePrefix, key), recipe.LockscopeKey(recipe.WaitPrefix, key),
			recipe.LockscopeKey(recipe.AlivePrefix, key),
		},
		args: []any{c.Name.Raw(), recipe.LockscopeChannel(key)},
		says: "remove the waiter from the queue of " + inspect.Escape(key) + " (go on only if it is still in it)",
	}
}

// unsupported gives advice if no guarded removal is known for the library.
func unsupported(l *inspect.Lock) string {
	return fmt.Sprintf("a %s of %s cannot be released safely from outside: stop its holder, or delete its key by hand",
		l.Kind, l.Recipe)
}

func memberRemoval(key string, members ...any) removal {
	return removal{
		name: "member", keys: []string{key}, args: members,
		says: "remove the member from " + inspect.Escape(key) + " (go on only if it is still in it)",
	}
}

// permitsRemoval removes all permits that a redis-semaphore client acquired together. The client
// renews all of them as long as the first one exists.
func permitsRemoval(l *inspect.Lock, c *inspect.Contender) removal {
	permits := []any{c.Name.Raw()}
	for i := range l.Holders {
		if h := &l.Holders[i]; h.Owner.LibraryID != "" && h.Owner.LibraryID == c.Owner.LibraryID && h.Name != c.Name {
			permits = append(permits, h.Name.Raw())
		}
	}
	r := memberRemoval(l.ID.Path, permits...)
	if n := len(permits); n > 1 {
		r.says = fmt.Sprintf("remove the %d permits of its client from %s (go on only if the one named is still in it)",
			n, inspect.Escape(l.ID.Path))
	}
	return r
}

// redissonRemoval uses the same channels and messages as Redisson's own forceUnlock and unlock
// (RedissonLock, RedissonWriteLock, RedissonReadLock, RedissonFairLock,
// RedissonPermitExpirableSemaphore).
func redissonRemoval(l *inspect.Lock, c *inspect.Contender) removal {
	key, name := l.ID.Path, c.Name.Raw()
	queue := recipe.RedissonKey("redisson_lock_queue", key)
	channel := recipe.RedissonKey("redisson_lock__channel", key)
	switch {
	case l.Kind == inspect.KindSemaphore:
		return removal{
			name: "redisson_permit", keys: []string{key, recipe.RedissonSuffix(key, "timeout")},
			args: []any{name, recipe.RedissonKey("redisson_sc", key)},
			says: "return the permit to " + inspect.Escape(key) +
				" and wake its waiters (go on only if it is still taken)",
		}
	case c.State == inspect.Waiting:
		return removal{
			name: "redisson_waiter", keys: []string{key, queue, recipe.RedissonKey("redisson_lock_timeout", key)},
			args: []any{name, channel},
			says: "remove the waiter from " + inspect.Escape(queue) + " (go on only if it is still in it)",
		}
	case l.Kind == inspect.KindRW && c.Mode == recipe.Shared && readMode(l):
		return removal{
			name: "redisson_reader", keys: append([]string{key}, readHolds(key, name, int(c.Count))...),
			args: []any{name, recipe.RedissonKey("redisson_rwlock", key)},
			says: "remove the reader from " + inspect.Escape(key) +
				" (go on only if it is still in it), and wake its waiters when it was the last",
		}
	}
	r := removal{
		name: "redisson", keys: []string{key, queue}, args: []any{name, channel, "0"},
		says: "delete " + inspect.Escape(key) + " and wake its waiters (go on only if the field seen still holds it)",
	}
	if l.Kind == inspect.KindRW {
		r.args = []any{name, recipe.RedissonKey("redisson_rwlock", key), "1"}
		for _, h := range l.Holders {
			if h.Mode == recipe.Shared {
				r.keys = append(r.keys, readHolds(key, h.Name.Raw(), int(h.Count))...)
			}
		}
	}
	return r
}

// readMode reports whether only readers hold the lock.
func readMode(l *inspect.Lock) bool {
	return !slices.ContainsFunc(l.Holders, func(h inspect.Contender) bool { return h.Mode == recipe.Exclusive })
}

func readHolds(key, owner string, count int) []string {
	var keys []string
	for n := 1; n <= min(count, 1000); n++ {
		keys = append(keys, recipe.RedissonSuffix(key, fmt.Sprintf("%s:rwlock_timeout:%d", owner, n)))
	}
	return keys
}

// stillHas reports whether a master still has the contender.
func stillHas(v *inspect.Vote, seen *inspect.Contender) bool {
	if v.Held == nil {
		return v.Up && v.Present && !v.Foreign && v.Value == seen.Name && v.Digest == seen.Digest
	}
	name := seen.Name.Raw()
	return slices.Contains(v.Held.Partial, name) ||
		slices.ContainsFunc(v.Held.Claims, func(c recipe.Claim) bool { return c.Name == name })
}

// hides reports whether a master may have the contender although it was not seen there, because a
// necessary read failed.
func hides(v *inspect.Vote, seen *inspect.Contender) bool {
	// only its first KiB was read
	undigested := seen.Digest != "" && v.Digest == "" && v.Value == seen.Name
	return undigested || v.Unknown(inspect.AspectHolders) || v.Unknown(inspect.AspectKind) ||
		seen.State == inspect.Waiting && v.Unknown(inspect.AspectWaiters)
}

// lacks reports whether a master was read, and certainly does not have the contender that was seen.
func lacks(v *inspect.Vote, seen *inspect.Contender) bool {
	return v.Up && !stillHas(v, seen) && !hides(v, seen)
}

// waiterWarnings returns warnings about a waiter in a queue that its library keeps.
func waiterWarnings(c *inspect.Contender) []string {
	text := "a live waiter queues again, at the end"
	if strings.HasSuffix(c.Name.Raw(), "_WRITERWAITING") {
		text = "a live writer queues again; readers may get the lock first"
	}
	return []string{text}
}
