package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Recognise is a source whose locks are read once more by these recipes; the first that owns a lock's path or
// key counts.
func Recognise(s Source, recipes []recipe.Custom) Source {
	if len(recipes) == 0 {
		return s
	}
	return recogniser{s, recipes}
}

type recogniser struct {
	Source
	recipes []recipe.Custom
}

// Run is the source's, with other locks in its updates.
func (r recogniser) Run(ctx context.Context, emit func(Update)) error {
	return r.Source.Run(ctx, func(u Update) {
		read := make([]*Lock, len(u.Put))
		for i, l := range u.Put {
			read[i] = ReadBy(l, r.recipes)
		}
		u.Put = read
		emit(u)
	})
}

// ReadBy reads a lock by the first recipe that owns its path. It returns the lock unchanged if no
// recipe owns it, or if none of its contenders fits the recipe.
func ReadBy(l *Lock, recipes []recipe.Custom) *Lock {
	backend := ZooKeeper
	if len(l.Masters) > 0 {
		backend = Redis
	}
	i := slices.IndexFunc(recipes, func(c recipe.Custom) bool { return c.Backend == string(backend) && c.Owns(l.ID.Path) })
	if i < 0 {
		return l
	}
	c := recipes[i]
	read := clone(l)
	known, moded := 0, false
	everyContender(read, func(entry *Contender) {
		e, ok := c.Read(l.ID.Path, entry.Name.Raw(), entry.Owner.Label.Raw())
		if !ok {
			entry.Recipe = cmp.Or(entry.Recipe, l.Recipe)
			return
		}
		known++
		moded = moded || e.HasMode
		entry.Recipe = ""
		overwrite(&entry.Owner, e)
		if e.HasMode {
			entry.Mode = e.Mode
		}
	})
	if known == 0 && l.Contention() > 0 {
		return l
	}
	read.Recipe, read.Confidence = c.Name, recipe.Certain
	if c.Kind != "" {
		read.Kind, read.KindConfidence = Kind(c.Kind), ""
	}
	if moded && backend == ZooKeeper {
		requeue(read)
	}
	return read
}

func overwrite(o *Owner, e recipe.CustomEntry) {
	for _, field := range []struct {
		to   *Untrusted
		from string
	}{{&o.Host, e.Host}, {&o.PID, e.PID}, {&o.Thread, e.Thread}, {&o.Label, e.Label}, {&o.LibraryID, e.LibraryID}} {
		if field.from != "" {
			*field.to = Untrusted(field.from)
		}
	}
}

// requeue recomputes the holders and the waiters with their blockers, now that the modes are known. A
// reader waits for the nearest write before it, any other entry for the one before it.
func requeue(l *Lock) {
	all := append(slices.Clone(l.Holders), l.Waiters...)
	if slices.ContainsFunc(all, func(c Contender) bool { return !c.Sequential }) {
		return
	}
	byName := make(map[string]Contender, len(all))
	entries := make([]recipe.Entry, len(all))
	for i, c := range all {
		byName[c.Name.Raw()] = c
		entries[i] = recipe.Entry{Name: c.Name.Raw(), Sequence: c.Sequence, Czxid: c.Czxid, Mode: c.Mode}
	}
	recipe.Sort(entries)
	blocks := (recipe.Queue{}).Blocks(entries)
	l.Holders, l.Waiters = nil, nil
	for i, e := range entries {
		c := byName[e.Name]
		c.BlockedBelow = int32(blocks[i])
		if blocker := (recipe.Queue{}).Blocker(entries, i); blocker >= 0 {
			c.State, c.Watches = Waiting, Untrusted(entries[blocker].Name)
			l.Waiters = append(l.Waiters, c)
		} else {
			c.State, c.Watches = Holding, ""
			l.Holders = append(l.Holders, c)
		}
	}
	l.State = queueState(l)
}
