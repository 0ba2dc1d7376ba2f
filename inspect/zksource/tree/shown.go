package tree

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// Changes are the locks that Build built, and those that no longer exist.
type Changes struct {
	Put  map[string]*inspect.Lock
	Gone map[string]bool // true if it was never a lock
}

func newChanges() Changes {
	return Changes{Put: map[string]*inspect.Lock{}, Gone: map[string]bool{}}
}

// Changes returns what changed since the last call.
func (t *Tree) Changes() Changes {
	c := t.changes
	if len(c.Put)+len(c.Gone) > 0 {
		t.changes = newChanges()
	}
	return c
}

// shown is what we remember about a directory's last shown lock.
type shown struct {
	kind       inspect.Kind
	kindSure   recipe.Confidence
	recipe     string
	confidence recipe.Confidence
	limit      int
	contended  bool
	watched    bool // the servers' watch tables may concern it
}

// show adds a directory's lock to the changes.
func (t *Tree) show(d *Dir, l *inspect.Lock) {
	d.shown = &shown{
		kind: l.Kind, kindSure: l.KindConfidence, recipe: l.Recipe, confidence: l.Confidence, limit: l.Limit,
		contended: l.Contention() > 0, watched: l.Watched(),
	}
	delete(t.changes.Gone, d.Path)
	t.changes.Put[d.Path] = l
}

// silence reports that a directory is no longer a lock.
func (t *Tree) silence(d *Dir) {
	if d.shown != nil {
		d.shown = nil
		delete(t.changes.Put, d.Path)
		t.changes.Gone[d.Path] = true
	}
}

// vacant returns the lock of a directory that may have had contenders but has none.
func (g *ground) vacant(d *Dir) *inspect.Lock {
	whole := d.directory()
	return whole.Vacant(g.id(d), d.was(), d.newest())
}

// freeLock returns a free lock for a directory that may have had one.
func (g *ground) freeLock(d *Dir, readAt time.Time) *inspect.Lock {
	return inspect.FreeDirectory(g.id(d), d.was(), readAt)
}

// was returns the last shown lock, or nil.
func (d *Dir) was() *inspect.Lock {
	s := d.shown
	if s == nil {
		return nil
	}
	return &inspect.Lock{
		Kind: s.kind, KindConfidence: s.kindSure, Recipe: s.recipe, Confidence: s.confidence,
		Limit: s.limit,
	}
}
