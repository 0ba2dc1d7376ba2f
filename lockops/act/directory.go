package act

import (
	"context"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// directory is all that a lock's contenders are made of, as the leader has it.
type directory struct {
	id   inspect.ID
	self inspect.Znode // unknown when it is gone
	inspect.Directory
	at      time.Time
	recipes []recipe.Custom
	seen    *inspect.Lock // as it was on the screen; may be nil
	writer  string        // the library whose names the contenders have
}

// look reads a lock's znode, its children, and those of the directories that its recipe may keep parts of it in.
func (z *ZooKeeper) look(ctx context.Context, r Request) (directory, error) {
	id := r.ID
	d := directory{id: id, at: time.Now(), recipes: z.recipes, seen: r.Lock}
	p := z.path(id.Path)
	if err := z.sync(ctx, p); err != nil {
		return d, err
	}
	var err error
	if d.self, err = z.node(ctx, p); err != nil || !d.self.Known {
		return d, err
	}
	d.Data = d.self.Data
	if d.Children, err = z.children(ctx, p); err != nil {
		return d, err
	}
	for _, part := range recipe.Parts(id.Path) {
		at := z.path(part.Path)
		if err := z.sync(ctx, at); err != nil {
			return d, err
		}
		children, err := z.children(ctx, at)
		if err != nil {
			return d, err
		}
		if children == nil {
			continue
		}
		if d.Parts == nil {
			d.Parts = map[string][]inspect.Znode{}
		}
		d.Parts[part.Place] = children
	}
	return d, nil
}

// contender looks a name up; the lock is free where there is none.
func (d *directory) contender(owner inspect.Untrusted) (*inspect.Lock, *inspect.Contender) {
	l := d.lock()
	if l == nil {
		l = inspect.FreeDirectory(d.id, nil, d.at)
	}
	if c, ok := find(l, owner); ok {
		return l, &c
	}
	return l, nil
}

// vacated returns the data with which the znode of a contender is free where it stays, by its library; false where a
// contender is gone with its znode.
func (d *directory) vacated(c *inspect.Contender) ([]byte, bool) {
	if !c.Persistent || c.Name.Raw() != d.self.Name {
		return nil, false
	}
	return recipe.Vacated(d.writer, d.self.Data)
}

// lock reads the directory, or the znode by itself, as a lock; nil when it is none.
func (d *directory) lock() *inspect.Lock {
	l, _ := d.Lock(d.id, d.at)
	if l == nil {
		l = inspect.NodeLock(d.id, d.self, true, d.at)
	}
	if l == nil {
		return nil
	}
	l = inspect.ByWatches(l, d.seen)
	d.writer = l.Recipe
	return inspect.ReadBy(l, d.recipes)
}

// next is the contender that would hold the lock without the one seen; nil when no new one would.
func (d *directory) next(before *inspect.Lock, seen *inspect.Contender) *inspect.Contender {
	rest := *d
	gone := func(n inspect.Znode) bool { return n.Name == seen.Name.Raw() && n.Czxid == seen.Czxid }
	rest.Children = slices.DeleteFunc(slices.Clone(d.Children), gone)
	rest.Parts = map[string][]inspect.Znode{}
	for place, children := range d.Parts {
		rest.Parts[place] = slices.DeleteFunc(slices.Clone(children), gone)
	}
	if gone(rest.self) {
		return nil
	}
	after := rest.lock()
	if after == nil {
		return nil
	}
	for i := range after.Holders {
		if was, ok := before.Contender(after.Holders[i].Name); ok && was.State != inspect.Holding {
			return &was
		}
	}
	if after.Kind == inspect.KindSemaphore && seen.State == inspect.Holding && len(after.Waiters) > 0 && len(after.Holders) < after.Limit {
		return &after.Waiters[0] // the head of the queue makes its entry among the permits when there is room
	}
	return nil
}
