package screen

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// A finding is as old as its event, even if that comes with the first snapshot, as in a recording. If
// it existed before, or only became more severe, it is at least as old as the watch on its backend.
func TestFindingAgeComesFromEvent(t *testing.T) {
	f := fixture.Stuck()
	l := fixture.Sick("zk:/a", f)
	at := fixture.Ago(90 * time.Second)
	came := []inspect.Event{{Kind: inspect.EventFinding, At: at, Lock: l.ID, Finding: &f}}
	nothing := inspect.NewSnapshot(fixture.Ago(time.Hour), nil, nil)
	healthy := inspect.NewSnapshot(fixture.Ago(time.Hour), fixture.Backends(), nil)
	worse := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l})
	for name, test := range map[string]struct {
		before *inspect.Snapshot
		exact  bool
	}{"of a recording": {nothing, true}, "new": {healthy, true}, "more severe": {worse, false}} {
		h := NewHistory()
		h.Add(nil, nothing, test.before)
		h.Add(came, test.before, worse)
		got, exact := h.FoundAt(l.ID, &f)
		must.True(t, exact == test.exact && (!exact || got.Equal(at)), name, got, "exact", exact)
		h.Add([]inspect.Event{{Kind: inspect.EventCleared, At: fixture.Noon, Lock: l.ID, Finding: &f}, came[0]}, worse, worse)
		got, exact = h.FoundAt(l.ID, &f)
		must.True(t, exact && got.Equal(at), name, "cleared and back again", got, "exact", exact)
	}
}

// A grant after a forced release is marked as forced.
func TestAForcedHandoffIsKnown(t *testing.T) {
	l := fixture.Orders()
	from, to := &l.Holders[0], &l.Waiters[0]
	taken := inspect.Event{Kind: inspect.EventHandover, Lock: l.ID, Contender: to, Previous: from}
	h, s := NewHistory(), inspect.NewSnapshot(fixture.Noon, nil, nil)
	h.Add([]inspect.Event{{Kind: inspect.EventForced, Lock: l.ID, Contender: from}, taken}, s, s)
	h.Add([]inspect.Event{taken}, s, s)
	must.True(t, h.Of(l.ID)[0].Forced, "forced release")
	must.True(t, !h.Of(l.ID)[1].Forced, "normal release")
}

// A grant is highlighted only after a quiet time, since a busy lock changes hands all the time.
func TestGrantAfterQuietTimeIsHighlighted(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for apart, want := range map[time.Duration]bool{quietFor: true, quietFor - 1: false} {
		grants := []Grant{{Seen: at.Add(-apart), Name: "a"}, {Seen: at, Name: "b"}}
		must.Equal(t, FreshGrant(grants, "b", at), want, "highlighted", apart, "after the previous grant")
	}
}
