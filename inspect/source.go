package inspect

import (
	"context"
	"path"
	"slices"
	"time"
)

// Source reads one backend. zksource and redissource are Sources, and so is a recording.
type Source interface {
	// Run reads until ctx ends, or, where it was made for one pass, until that is done, and emits what it
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
	// that hangs lets the update wait. Zero: they are as of the update.
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
	// Gap is a time in which the source did not look, such as while this process was stopped; else
	// nil. It comes before the updates read after it. (A backend that was down has a state for
	// that.)
	Gap *Gap
}

// sessionsAsked dates the table of sessions of an update that is taken in now.
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
	// Unheard are sessions, in order, whose watches the table does not have: no server that reported its
	// watches reported to serve them.
	Unheard []int64
	// Covers lists the lock directories of which the table is complete; nil means all.
	Covers []ID

	in map[string][]string // see pathsIn
}

// pathsIn are the watched paths in a directory. An Observer holds a table against each lock that it covers,
// thousands where all are. The table does not change any more.
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
