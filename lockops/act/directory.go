package act

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
)

type directory struct {
	*zksource.Reading
	recipes []recipe.Custom
	seen    *inspect.Lock // as on the screen; may be nil
}

// look reads a lock as the screen does, after a sync.
func (z *ZooKeeper) look(ctx context.Context, r Request) (directory, error) {
	read, err := zksource.ReadLock(ctx, synced{z}, zksource.Config{
		Backend: r.ID.Backend, Servers: z.target.Servers, Chroot: z.target.Chroot, Only: r.ID.Path, Now: z.target.now,
	})
	return directory{read, z.recipes, r.Lock}, err
}

// contender returns the lock, and the contender of that name; nil if there is none. An error means
// that the contender may be in a place that could not be read.
func (d *directory) contender(owner inspect.Untrusted) (*inspect.Lock, *inspect.Contender, error) {
	l := d.lock()
	if c, ok := find(l, owner); ok {
		return l, &c, nil
	}
	if why := unseen(l, "", inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectKind); why != "" {
		return l, nil, fmt.Errorf("%w: it is unknown whether it exists: %w: %s", ErrUnreachable, zk.ErrNoAuth, why)
	}
	return l, nil, nil
}

// missing explains why a contender that was not found cannot be acted on. It is gone only if its
// node is.
func (d *directory) missing(owner inspect.Untrusted) (Reason, string) {
	if _, exists := d.EphemeralNode(owner.Raw()); exists {
		return Changed, "its znode still exists, but is no longer a contender; nothing was done"
	}
	return Gone, ""
}

// changedSince explains why a confirmed action is no longer allowed on a contender as it is now;
// now is nil if it was not found.
func (d *directory) changedSince(seen, now *inspect.Contender) (Reason, string) {
	if now == nil {
		return d.missing(seen.Name)
	}
	return changedSince(seen, now)
}

// over reports whether the node of a seen contender is gone; now is the contender of that name, or
// nil.
func (d *directory) over(seen, now *inspect.Contender) bool {
	if now != nil {
		return now.Czxid != seen.Czxid
	}
	czxid, exists := d.EphemeralNode(seen.Name.Raw())
	return !exists || czxid != seen.Czxid
}

// lock returns the lock as a configured recipe reads it, if one owns its path.
func (d *directory) lock() *inspect.Lock { return d.knownAs(d.Lock) }

func (d *directory) knownAs(l *inspect.Lock) *inspect.Lock {
	return inspect.ReadBy(l, d.recipes)
}

// vacated returns the data that marks a contender's znode as free, if its library keeps the znode;
// false if the znode goes with the contender.
func (d *directory) vacated(c *inspect.Contender) ([]byte, bool) {
	data, own := d.Own(c)
	if !own || !c.Persistent {
		return nil, false
	}
	return recipe.Vacated(d.Lock.Recipe, data)
}

// next returns the contender that would hold the lock after the seen one; nil for none. why is set
// if it is unknown.
func (d *directory) next(before *inspect.Lock, seen *inspect.Contender) (next *inspect.Contender, why string) {
	if why = unseen(before, "", inspect.AspectWaiters); why != "" {
		why = "unknown: " + why
	}
	rest := d.Without(seen)
	if rest == nil {
		return nil, why
	}
	after := d.knownAs(rest)
	for i := range after.Holders {
		if was, ok := before.Contender(after.Holders[i].Name); ok && was.State != inspect.Holding {
			return &was, ""
		}
	}
	if after.Kind == inspect.KindSemaphore && seen.State == inspect.Holding && len(after.Waiters) > 0 &&
		len(after.Holders) < after.Limit {
		return &after.Waiters[0], "" // the head of the queue adds its permit when there is room
	}
	return nil, why
}
