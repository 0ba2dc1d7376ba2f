package inspect

import (
	"testing"
	"time"
)

// A finding that is muted stays, marked, until the mute's end; no other of the lock, and none of another lock, is.
func TestAFindingIsMutedUntilItsEnd(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	o := NewObserver(func() time.Time { return now })
	l := ID{"zk", "/l"}
	found := []Finding{{Rule: "stuck-holder"}, {Rule: "herd"}}
	if got := o.muted(l, found, now); got[0].Muted != nil {
		t.Error("nothing was muted")
	}
	o.Mute([]Mute{{Lock: l, Rule: "stuck-holder", Muted: Muted{Until: now.Add(time.Hour), Reason: "known", By: "ann"}}})
	if !o.mutesChanged() || o.mutesChanged() {
		t.Error("reported once")
	}
	got := o.muted(l, found, now)
	if got[0].Muted == nil || got[0].Muted.By != "ann" || got[1].Muted != nil {
		t.Errorf("%+v", got)
	}
	if found[0].Muted != nil {
		t.Error("what was given was changed")
	}
	if got := o.muted(ID{"zk", "/other"}, found, now); got[0].Muted != nil {
		t.Error("another lock's")
	}
	if got := o.muted(l, found, now.Add(time.Hour)); got[0].Muted != nil {
		t.Error("its time is up")
	}
	if sameFindings(found, got) {
		t.Error("a mute is no change")
	}
}
