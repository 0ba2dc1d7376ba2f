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

// Source reads one backend. zksource and redissource are Sources, and so is a recording.
type Source interface {
	// Run reads until ctx ends or, if it was made for one pass, until that is done, and emits what it
	// finds. A server that cannot be reached is no error of Run: it is reported in the Backend of an Update.
	// emit must not be called concurrently nor after Run has returned.
	Run(ctx context.Context, emit func(Update)) error
	// Focus names the locks that a viewer has open. They are read first and in full; the rest may
	// be only counted and watched. It replaces the previous focus and does not block. Ids of other
	// backends are ignored.
	Focus(ids []ID)
}

// Update of a source, in whole values, never as deltas. Neither the source, after emitting it, nor
// the receiver may modify the values that it points to.
type Update struct {
	// Put holds new versions of locks, Gone the locks that no longer exist.
	Put  []*Lock
	Gone []ID
	// Withdrawn lists those of Gone that turned out to be no locks, or parts of another. Their
	// holds and waits have not ended.
	Withdrawn []ID
	// Sessions is the whole table of sessions, by id, when it was read again; nil otherwise.
	Sessions map[int64]Session
	// AllSessions: every server of the ensemble reported its sessions, so that one that is not in the table is gone.
	AllSessions bool
	// SessionsAt is the time, by our clock, at which the first of the servers was asked for them: a server
	// that hangs delays the update. Zero: they are as of the update.
	SessionsAt time.Time
	// Watches is the server's watch table, when it was read again; nil otherwise. It holds the paths below the
	// locks it was asked for.
	Watches *WatchTable
	// Backend is the backend's state when it changed; nil otherwise.
	Backend *Backend
	// At is the time, by our clock, at which the source knew it. The observer dates its
	// observations by it, so that a pause of this process before the update is handled does no
	// harm. Zero: it is handled at once.
	At time.Time
	// Gap is a time during which the source did not look, such as while this process was stopped; else
	// nil. It comes before the updates read after it. (A backend that was down has a state for
	// that.)
	Gap *Gap
}

// sessionsAsked dates the table of sessions of the update that is being applied.
func (u *Update) sessionsAsked(now time.Time) time.Time {
	if u.SessionsAt.IsZero() || u.SessionsAt.After(now) {
		return now
	}
	return u.SessionsAt
}

// Gap is a time, by our clock, in which we did not look at a backend. We know what changed in it,
// but not when.
type Gap struct {
	Backend     string
	From, Until time.Time
}

// WatchTable lists the sessions that watch a path: data and exists watches only, child watches are not in the servers'
// tables.
type WatchTable struct {
	Backend string
	// ReadAt is the time, by our clock, at which the servers were asked.
	ReadAt time.Time
	// Sessions by path.
	Sessions map[string][]int64
	// Unheard are sessions, in order, whose watches the table lacks: none of the servers that reported
	// watches serves them.
	Unheard []int64
	// Covers lists the lock directories for which the table is complete; nil means all.
	Covers []ID

	in map[string][]string // see pathsIn
}

// pathsIn are the watched paths in a directory. An Observer compares a table with each lock that it covers,
// which may be thousands. The table no longer changes.
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

// hears reports whether the table has all watches of a session.
func (t *WatchTable) hears(session int64) bool {
	_, unheard := slices.BinarySearch(t.Unheard, session)
	return !unheard
}

// Lacks counts the waiters of a lock whose watches the table does not have; 0 when there is no table.
func (t *WatchTable) Lacks(l *Lock) int {
	n := 0
	for i := range l.Waiters {
		if t != nil && !t.hears(l.Waiters[i].Owner.Session) {
			n++
		}
	}
	return n
}

// Reach holds the words of a shell that commands need to reach a backend: quoted, and never with a
// secret. Empty fields are unknown, as in a recording.
type Reach struct {
	// Target names it to lockscope: a target or a profile.
	Target string
	// Client arguments of the service's own client: all of them for zkCli.sh, those besides host and port for
	// redis-cli.
	Client string
}

// Advise makes the rules' advice name the backends, so that its commands can be pasted unchanged.
// Call it before Run.
func (o *Observer) Advise(reach map[string]Reach) { o.reach = reach }

// Recognise is a source whose locks are also read by these recipes; the first that owns a lock's path or
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
		u.Put = each.Of(u.Put, func(l *Lock) *Lock { return ReadBy(l, r.recipes) })
		emit(u)
	})
}

// ReadBy reads a lock by the first recipe that owns its path. It returns the lock unchanged if no
// recipe owns it, and the lock as named if none of its contenders fits the recipe.
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
	for entry := range read.Contenders() {
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

// NoTTLByDefault and OneServer are facts about its library: see the functions of package recipe.
func (l *Lock) NoTTLByDefault() bool {
	return l.Custom.NoTTL() || recipe.NoTTLByDefault(l.Recipe, string(l.Kind))
}

// OneServer: see NoTTLByDefault.
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
