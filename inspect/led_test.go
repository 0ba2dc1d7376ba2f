package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A leader that this program forced out is remembered if its library does not notice the loss.
func TestForcedLeadersAreRemembered(t *testing.T) {
	leader := Contender{Name: "_c_x-latch-0000000001", State: Holding, Owner: Owner{Session: 7}}
	for name, tt := range map[string]struct {
		kind   Kind
		recipe string
		event  EventKind
		want   []Led
	}{
		"a latch":                {KindElection, "curator", EventForced, []Led{{ID{"zk", "/leader"}, leader.Name, 7, now}}},
		"it stepped down":        {KindElection, "curator", EventReleased, nil},
		"a mutex":                {KindMutex, "curator", EventForced, nil},
		"a library that notices": {KindElection, "accumulo", EventForced, nil},
	} {
		o := NewObserver(time.Now)
		l := &Lock{ID: ID{"zk", "/leader"}, Kind: tt.kind, Recipe: tt.recipe}
		o.rememberForced(l, []Event{{Kind: tt.event, Lock: l.ID, At: now, Contender: &leader}})
		must.Same(t, o.led[l.ID], tt.want, name)
	}
}
