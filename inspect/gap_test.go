package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestLockAgeFollowsBackendContact(t *testing.T) {
	read, heard := now.Add(-time.Hour), now.Add(-time.Minute)
	for name, c := range map[string]struct {
		lock Lock
		b    *Backend
		want time.Time
	}{
		"watched":          {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, now},
		"lost sight":       {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, heard},
		"polled":           {Lock{ReadAt: read, Polled: true}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, read},
		"a poller":         {Lock{ReadAt: read}, &Backend{Mode: ModePoll, State: Connected, HeardAt: heard}, read},
		"never heard":      {Lock{ReadAt: read}, &Backend{Mode: ModePush, State: Down}, read},
		"read later":       {Lock{ReadAt: now}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, now},
		"reported nothing": {Lock{ReadAt: read}, nil, read},
	} {
		if got := c.lock.AsOf(c.b, now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A time by a former leader's clock, or by this leader's before it was set, does not date a
// client's last contact.
func TestFormerLeadersClockDatesNoContact(t *testing.T) {
	const from = 5
	seen := now.Add(-time.Minute)
	p := &backendState{state: &Backend{Clock: LeaderClock{Known: true, From: from}}}
	for czxid, known := range map[int64]bool{from: true, from - 1: false} {
		c := &Contender{Czxid: czxid, Since: now.Add(-time.Second), Seen: seen, Owner: Owner{Session: 11, SessionTimeout: 30 * time.Second}}
		must.Equal(t, p.sessionLived(c, now), known, czxid, "lived")
		if came := p.came(c); came.Equal(c.Since) != known || came.Equal(seen) == known {
			t.Errorf("%d: created at %v", czxid, came)
		}
	}
	if age := new(backendState).ageOf(&WatchTable{ReadAt: now}, now); age != TableOfNow {
		t.Errorf("a table of an unreported backend: %v", age)
	}
}

// The read that the gap interrupted failed too, so it dates no earlier facts.
func TestFailedReadAfterGapDatesNothing(t *testing.T) {
	a := applying(t)
	key := func(word string, second int) *Lock {
		votes := ballots(word)
		votes[0].ReadAt = now.Add(time.Duration(second) * time.Second)
		return KeyLock(ID{"one", "k"}, votes, votes[0].ReadAt)
	}
	up := &Backend{Name: "one", Kind: Redis, State: Connected, Mode: ModePush, FirstPass: true}
	a.send(0, Update{Put: []*Lock{key("x", 0)}, Backend: up})
	a.send(34, Update{Gap: &Gap{Backend: "one", From: now.Add(time.Second), Until: now.Add(34 * time.Second)}})
	a.send(34, Update{Put: []*Lock{key("!", 34)}})
	a.reports(t)
	a.send(35, Update{Put: []*Lock{key("y", 35)}})
	s := a.next(t)
	for _, kind := range []EventKind{EventEnded, EventAcquired} {
		i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Kind == kind })
		if i < 0 || !s.Events[i].Between.From.Equal(now.Add(time.Second)) {
			t.Errorf("%s: %+v", kind, s.Events)
		}
	}
}
