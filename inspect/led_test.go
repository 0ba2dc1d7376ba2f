package inspect

import (
	"testing"
	"time"
)

// A leader that this program forced out is remembered if its library does not notice the loss.
func TestForcedLeadersAreRemembered(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	leader := Contender{Name: "_c_x-latch-0000000001", State: Holding, Owner: Owner{Session: 7}}
	for name, tt := range map[string]struct {
		kind   Kind
		recipe string
		event  EventKind
		want   int
	}{
		"a latch":                {KindElection, "curator", EventForced, 1},
		"it stepped down":        {KindElection, "curator", EventReleased, 0},
		"a mutex":                {KindMutex, "curator", EventForced, 0},
		"a library that notices": {KindElection, "accumulo", EventForced, 0},
	} {
		o := NewObserver(time.Now)
		l := &Lock{ID: ID{"zk", "/leader"}, Kind: tt.kind, Recipe: tt.recipe}
		o.rememberForced(l, []Event{{Kind: tt.event, Lock: l.ID, At: at, Contender: &leader}})
		if got := o.led[l.ID]; len(got) != tt.want {
			t.Errorf("%s: %+v", name, got)
		} else if tt.want == 1 && (got[0] != Led{l.ID, leader.Name, 7, at}) {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
}
