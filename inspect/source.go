package inspect

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// Source reads one backend or recording.
type Source interface {
	// Run emits updates until ctx ends or a single pass is done. An unreachable server is not an
	// error of Run: it is reported in the Backend of an Update. emit is never called concurrently,
	// nor after Run has returned.
	Run(ctx context.Context, emit func(Update)) error
	// Focus names the locks that a viewer has open. They are read first and in full; the rest may
	// be only counted and watched. It replaces the previous focus and does not block. Other
	// backends' ids are ignored.
	Focus(ids []ID)
}

// Update has whole values, never deltas. After the source has emitted it, neither the source nor
// the receiver may modify the values that it points to.
type Update struct {
	// Put holds new versions of locks, Gone the locks that no longer exist.
	Put  []*Lock
	Gone []ID
	// Withdrawn lists those of Gone that turned out not to be locks, or to be parts of another
	// lock. Their holds and waits have not ended.
	Withdrawn []ID
	// Sessions is the whole table of sessions, by id; nil if it was not read again.
	Sessions map[int64]Session
	// AllSessions means that every server of the ensemble reported its sessions, so a session that
	// is not in the table is gone.
	AllSessions bool
	// SessionsAt is when, by our clock, the first server was asked for them; a hanging server
	// delays the update. Zero means the time of the update.
	SessionsAt time.Time
	// Watches is the servers' watch table for the focused locks; nil if it was not read again.
	Watches *WatchTable
	// Backend is the backend's state; nil if it has not changed.
	Backend *Backend
	// At is when, by our clock, the source learnt of the update. The observer dates its
	// observations by it, so a pause of this process does no harm. Zero means now.
	At time.Time
	// Gap is a time during which the source did not look, for example while this process was
	// stopped; else nil. It comes before the updates read after it. A backend that was down says so
	// in its state instead.
	Gap *Gap
}

func (u *Update) sessionsAsked(now time.Time) time.Time {
	if u.SessionsAt.IsZero() || u.SessionsAt.After(now) {
		return now
	}
	return u.SessionsAt
}

// Gap is a time, by our clock, during which we did not look at a backend. We know what changed in
// it, but not when.
type Gap struct {
	Backend     string
	From, Until time.Time
}

// WatchTable lists the sessions that have a data or exists watch on a path. Servers do not list
// child watches.
type WatchTable struct {
	Backend string
	// ReadAt is the time, by our clock, at which the servers were asked.
	ReadAt time.Time
	// Sessions by path.
	Sessions map[string][]int64
	// Unheard are sessions, in order, whose watches the table lacks, because none of the servers
	// that reported watches serves them.
	Unheard []int64
	// Covers lists the lock directories for which the table is complete; nil means all.
	Covers []ID

	in map[string][]string // see pathsIn
}

// pathsIn returns the watched paths in a directory. Its first call indexes the table, which must
// not change later.
func (t *WatchTable) pathsIn(dir string) []string {
	if t.in == nil {
		t.in = make(map[string][]string)
		for p := range t.Sessions {
			in := path.Dir(p)
			t.in[in] = append(t.in[in], p)
		}
	}
	return t.in[dir]
}

// hears reports whether the table includes all watches of a session.
func (t *WatchTable) hears(session int64) bool {
	_, unheard := slices.BinarySearch(t.Unheard, session)
	return !unheard
}

// Lacks counts a lock's waiters whose watches are not in the table; 0 without a table.
func (t *WatchTable) Lacks(l *Lock) int {
	n := 0
	for i := range l.Waiters {
		if t != nil && !t.hears(l.Waiters[i].Owner.Session) {
			n++
		}
	}
	return n
}

// Reach has the shell words that reach a backend: quoted, and without secrets. Empty fields are
// unknown, as in a recording.
type Reach struct {
	// Target is lockscope's own argument: a target or a profile.
	Target string
	// Client has the arguments of the service's own client: all of them for zkCli.sh, those other
	// than host and port for redis-cli.
	Client string
}

// Advise makes the rules' advice name the backends, so that its commands can be pasted unchanged.
// Call it before Run.
func (o *Observer) Advise(reach map[string]Reach) { o.reach = reach }

// Recognise returns a source whose locks are also read by these recipes. The first that owns a
// lock's path or key decides.
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

// Run implements Source.
func (r recogniser) Run(ctx context.Context, emit func(Update)) error {
	return r.Source.Run(ctx, func(u Update) {
		u.Put = each.Of(u.Put, func(l *Lock) *Lock { return ReadBy(l, r.recipes) })
		emit(u)
	})
}

// ReadBy reads a lock by the first recipe that owns its path. It returns the lock unchanged if no
// recipe owns it. If the recipe fits none of its contenders, the lock is only treated as named.
func ReadBy(l *Lock, recipes []recipe.Custom) *Lock {
	backend := ZooKeeper
	if len(l.Masters) > 0 {
		backend = Redis
	}
	i := slices.IndexFunc(recipes,
		func(c recipe.Custom) bool { return c.Backend == string(backend) && c.Owns(l.ID.Path) })
	if i < 0 {
		return l
	}
	c := recipes[i]
	read := clone(l)
	known, moded, sure := 0, false, c.Sure(l.ID.Path)
	for entry := range read.Contenders {
		e, ok := c.Read(l.ID.Path, entry.Name.Raw(), entry.Owner.Label.Raw())
		if !ok {
			entry.Recipe = cmp.Or(entry.Recipe, l.Recipe)
			continue
		}
		known++
		moded = moded || e.HasMode
		entry.Recipe = ""
		overwrite(&entry.Owner, e)
		if e.HasMode {
			entry.Mode = e.Mode
		}
		if !e.Since.IsZero() {
			entry.Since = e.Since
		}
		entry.Count = max(entry.Count, int32(e.Count))
	}
	if known == 0 && l.Contention() > 0 {
		read = clone(l)
		read.Named()
		return read
	}
	read.Recipe, read.Confidence, read.Custom = c.Name, sure, &c
	if c.Kind != "" {
		read.Kind, read.KindConfidence = Kind(c.Kind), ""
	}
	if moded && backend == ZooKeeper {
		requeue(read)
	}
	return read
}

// NoTTLByDefault says whether the lock's library sets no TTL by default; see package recipe.
func (l *Lock) NoTTLByDefault() bool {
	return l.Custom.NoTTL() || recipe.NoTTLByDefault(l.Recipe, string(l.Kind))
}

// OneServer says whether the lock's library uses one server only; see package recipe.
func (l *Lock) OneServer() bool { return l.Custom.OneServer() || recipe.OneServer(l.Recipe) }

func overwrite(o *Owner, e recipe.Token) {
	for _, field := range []struct {
		to   *Untrusted
		from string
	}{{&o.Host, e.Host}, {&o.PID, e.PID}, {&o.Thread, e.Thread}, {&o.Label, e.Label}, {&o.LibraryID, e.LibraryID}} {
		if field.from != "" {
			*field.to = Untrusted(field.from)
		}
	}
}

// requeue recomputes the holders, and the waiters with their blockers, once the modes are known. A
// reader waits for the nearest writer before it, any other entry for the one before it.
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
