package inspect

import (
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
		must.Equal(t, c.lock.AsOf(c.b, now), c.want, name)
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
		must.Equal(t, p.came(c), map[bool]time.Time{true: c.Since, false: seen}[known], czxid, "came")
	}
	must.Equal(t, new(backendState).ageOf(&WatchTable{ReadAt: now}, now), TableOfNow, "of an unreported backend")
}

// The read that the gap interrupted failed too, so it dates no earlier facts.
func TestFailedReadAfterGapDatesNothing(t *testing.T) {
	applying(t).play(t, `
0	redis; key x@0
34	gap 1 34
34	key !@34
	reports: blind
35	key y@35
	details: ended x unknown in 1..35, acquired y in 1..35
`)
}
