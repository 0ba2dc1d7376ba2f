package locks

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// The maximum age of matches that depend on time: for few locks, and for many.
const (
	agedFew  = time.Second
	agedMany = 5 * time.Second
)

// arrangedMsg carries a new index that was made in the background.
type arrangedMsg struct {
	generation int
	index      *Index
}

// arranger keeps the locks in an arrangement, and makes a new one on request. Until that is ready,
// the old one stays and keeps following the locks.
type arranger struct {
	screen.Context
	Index *Index
	Want  arrangement
	// generation numbers the indexes, so that a late one is dropped.
	generation int
	Busy       bool
	// asked is set if the user asked for the order or filter of the index being made.
	asked  bool
	cancel context.CancelFunc
	// meanwhile lists the locks that changed since arrangedAt, when work on an index began.
	meanwhile  map[inspect.ID]struct{}
	arrangedAt time.Time
	// settledAt is when rows last moved to other places, or the cursor; settles counts the moves of rows.
	settledAt time.Time
	settles   int
}

func newArranger(host screen.Context) arranger {
	want := arrangement{Order: order{by: byWorst}}
	return arranger{Context: host, Want: want, Index: NewIndex(host.Lifetime(), host.Snapshot(), want, host.Now())}
}

// apply follows a new snapshot.
func (a *arranger) apply(msg screen.SnapshotMsg) {
	if msg.All || len(msg.Changed) > screen.AtOnce {
		a.review()
		return
	}
	a.Index.update(a.Snapshot(), msg.Changed, a.Now())
	if a.Busy {
		for _, id := range msg.Changed {
			a.meanwhile[id] = struct{}{}
		}
	}
}

// review looks at all locks again, since any may have changed. If they are few, their order stays
// until it is settled.
func (a *arranger) review() {
	if a.Busy || max(a.Snapshot().Len(), len(a.Index.Rows)) > screen.AtOnce {
		a.make()
		return
	}
	a.arrangedAt = a.Now()
	ids := make([]inspect.ID, 0, a.Snapshot().Len())
	for l := range a.Snapshot().Locks() {
		ids = append(ids, l.ID)
	}
	for id := range a.Index.Rows {
		if a.Snapshot().Lock(id) == nil {
			ids = append(ids, id)
		}
	}
	a.Index.update(a.Snapshot(), ids, a.Now())
}

// settle moves the changed rows to their places, at once or if the last move was long enough ago.
func (a *arranger) settle(atOnce bool) {
	switch {
	case a.Busy || !atOnce && a.Now().Sub(a.settledAt) < a.patience() || a.Index.settled():
		return
	case len(a.Index.unsettled) > screen.AtOnce:
		a.make()
	default:
		a.Index.settle(a.Now())
	}
	a.settledAt = a.Now()
	a.settles++
}

// patience is the minimum time between two moves of rows. It is shorter at the start, when locks
// are sorted by name, since their first findings come a moment later and should soon move them.
func (a *arranger) patience() time.Duration {
	if a.settles <= 1 {
		return settleStart
	}
	return settleEvery
}

// arrange makes the arrangement that the user wants, with all locks.
func (a *arranger) arrange() {
	a.asked = true
	a.make()
}

// make arranges all locks again, at once if they are few.
func (a *arranger) make() {
	a.generation++
	a.arrangedAt = a.Now()
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
	snapshot, want, now := a.Snapshot(), a.Want, a.Now()
	if a.Busy = snapshot.Len() > screen.AtOnce; !a.Busy {
		a.Index, a.asked, a.settledAt = NewIndex(a.Lifetime(), snapshot, want, now), false, now
		return
	}
	ctx, cancel := context.WithCancel(a.Lifetime())
	a.cancel = cancel
	a.meanwhile = make(map[inspect.ID]struct{})
	generation := a.generation
	a.Later(a.Request(screen.Locks, 0, func(context.Context) tea.Msg {
		defer cancel()
		return arrangedMsg{generation, NewIndex(ctx, snapshot, want, now)}
	}))
}

// arranged installs a new index, and updates it with the changes since. It reports false for one
// that is no longer wanted.
func (a *arranger) arranged(msg arrangedMsg) bool {
	if msg.generation != a.generation {
		return false
	}
	a.Index, a.Busy, a.asked, a.settledAt = msg.index, false, false, a.Now()
	changed := make([]inspect.ID, 0, len(a.meanwhile))
	for id := range a.meanwhile {
		changed = append(changed, id)
	}
	a.Index.update(a.Snapshot(), changed, a.Now())
	a.Index.settle(a.Now().Add(lineKept)) // drop the lines of locks that are gone
	return true
}

// aged filters again if the matches change with time and are older than the limit.
func (a *arranger) aged() {
	limit := agedFew
	if a.Snapshot().Len() > screen.AtOnce {
		limit = agedMany
	}
	if !a.Want.Filter.Timed || a.Busy || a.Now().Sub(a.arrangedAt) < limit {
		return
	}
	a.review()
}
