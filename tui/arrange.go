package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

// How long matches by time may be old: where few locks are arranged, and where many.
const (
	agedFew  = time.Second
	agedMany = 5 * time.Second
)

// arrangedMsg is a new index that was made meanwhile.
type arrangedMsg struct {
	generation int
	index      *index
}

// arranger has the locks in some arrangement, and makes another when that is wanted. Until it is there the old one stays
// and goes on to follow the locks.
type arranger struct {
	Context
	index *index
	want  arrangement
	// generation numbers what is made, so that a late one is dropped.
	generation int
	busy       bool
	cancel     context.CancelFunc
	// meanwhile are the locks that changed since what is being made was begun, as of arrangedAt.
	meanwhile  map[inspect.ID]struct{}
	arrangedAt time.Time
}

func newArranger(host Context) arranger {
	want := arrangement{order: order{by: byWorst}}
	return arranger{Context: host, want: want, index: newIndex(host.Life(), host.Snapshot(), want, host.Now())}
}

// take follows a new snapshot.
func (a *arranger) take(msg snapshotShownMsg) {
	if msg.all || len(msg.changed) > atOnce {
		a.arrange()
		return
	}
	a.index.update(a.Snapshot(), msg.changed, a.Now())
	if a.busy {
		for _, id := range msg.changed {
			a.meanwhile[id] = struct{}{}
		}
	}
}

// arrange makes what is wanted, of all locks: at once where they are few.
func (a *arranger) arrange() {
	a.generation++
	a.arrangedAt = a.Now()
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
	snapshot, want, now := a.Snapshot(), a.want, a.Now()
	if a.busy = snapshot.Len() > atOnce; !a.busy {
		a.index = newIndex(a.Life(), snapshot, want, now)
		return
	}
	ctx, cancel := context.WithCancel(a.Life())
	a.cancel = cancel
	a.meanwhile = make(map[inspect.ID]struct{})
	generation := a.generation
	a.Later(a.Ask(locksScreen, 0, func(context.Context) tea.Msg {
		defer cancel()
		return arrangedMsg{generation, newIndex(ctx, snapshot, want, now)}
	}))
}

// arranged takes over what was made, and what changed meanwhile; false when it is none that is waited for.
func (a *arranger) arranged(msg arrangedMsg) bool {
	if msg.generation != a.generation {
		return false
	}
	a.index, a.busy = msg.index, false
	changed := make([]inspect.ID, 0, len(a.meanwhile))
	for id := range a.meanwhile {
		changed = append(changed, id)
	}
	a.index.update(a.Snapshot(), changed, a.Now())
	return true
}

// aged arranges the locks again where the filter asks for times and these went by; false: there is nothing new yet.
func (a *arranger) aged() bool {
	limit := agedFew
	if a.Snapshot().Len() > atOnce {
		limit = agedMany
	}
	if !a.want.filter.timed || a.busy || a.Now().Sub(a.arrangedAt) < limit {
		return false
	}
	a.arrange()
	return !a.busy
}

// spans are the longest times to live seen on locks: the full lengths of their gauges.
type spans map[inspect.ID]time.Duration

// note takes over the locks that changed, before the index does.
func (s spans) note(snapshot *inspect.Snapshot, before *index, changed []inspect.ID) {
	for _, id := range changed {
		l := snapshot.Lock(id)
		if l == nil {
			delete(s, id)
			continue
		}
		if len(l.Masters) == 0 {
			continue
		}
		longest := max(s[id], longestTTL(l))
		if r := before.rows[id]; r != nil {
			longest = max(longest, longestTTL(r.lock))
		}
		if longest > 0 {
			s[id] = longest
		}
	}
}

// of a lock as it is now.
func (s spans) of(l *inspect.Lock) time.Duration { return max(s[l.ID], longestTTL(l)) }

// longestTTL is the longest time to live on any master, when the lock was read.
func longestTTL(l *inspect.Lock) time.Duration {
	longest := time.Duration(0)
	for i := range l.Masters {
		if at := l.Masters[i].ExpiresAt; !at.IsZero() {
			longest = max(longest, at.Sub(l.ReadAt))
		}
	}
	return longest
}
