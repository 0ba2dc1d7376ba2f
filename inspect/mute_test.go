package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A muted finding stays, marked as muted, until the mute ends. Other findings and locks are not
// affected.
func TestMuteLastsUntilItsEnd(t *testing.T) {
	o := NewObserver(func() time.Time { return now })
	l := ID{"zk", "/l"}
	found := []Finding{{Rule: "stuck-holder"}, {Rule: "herd"}}
	must.Equal(t, o.muted(l, found, now)[0].Muted, nil, "before any mute")
	o.Mute([]Mute{{Lock: l, Rule: "stuck-holder", Muted: Muted{Until: now.Add(time.Hour), Reason: "known", By: "ann"}}})
	must.True(t, o.mutesChanged() && !o.mutesChanged(), "want exactly one change after Mute")
	got := o.muted(l, found, now)
	must.True(t, got[0].Muted != nil && got[0].Muted.By == "ann", "not muted by ann", got)
	must.Equal(t, got[1].Muted, nil, "another rule's finding")
	must.Equal(t, found[0].Muted, nil, "the input")
	must.Equal(t, o.muted(ID{"zk", "/other"}, found, now)[0].Muted, nil, "another lock's finding")
	must.Equal(t, o.muted(l, found, now.Add(time.Hour))[0].Muted, nil, "at the end of the mute")
	must.True(t, !sameFindings(found, got), "a mute does not count as a change")

	a := applying(t)
	a.Diagnose(testRules(), time.Minute)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.Mute([]Mute{{Lock: a.id, Rule: "past 0", Muted: Muted{Until: a.at.Add(time.Hour)}}})
	a.onBeat(a.at)
	must.True(t, a.locks.get(a.id).Findings[0].Muted != nil, "a mute shows only after the next change")
}
