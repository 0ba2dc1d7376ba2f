package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

func TestConfiguredExpectationsApplyToLocks(t *testing.T) {
	o := NewObserver(time.Now)
	o.Expect([]Expectation{
		{Match: "zk:/app/leader-*", Election: true},
		{Match: "zk:/app/*", Hold: time.Hour},
		{Match: "zk:/app/jobs/*", Hold: time.Minute},
	})
	for path, want := range map[string]struct {
		kind Kind
		sure recipe.Confidence
		hold time.Duration
	}{
		"/app/leader-a":   {KindElection, recipe.Certain, time.Hour},
		"/app/jobs/night": {KindMutex, "", time.Hour}, // the first match decides
		"/other":          {KindMutex, "", 0},
	} {
		l := &Lock{ID: ID{"zk", path}, Kind: KindMutex}
		o.expect(l)
		if usual, learnt := l.UsualHold(); l.Kind != want.kind || l.KindConfidence != want.sure || usual != want.hold || learnt {
			t.Errorf("%s: %s (%s), usually %v", path, l.Kind, l.KindConfidence, usual)
		}
	}
	readers := &Lock{ID: ID{"zk", "/app/leader-b"}, Kind: KindRW}
	if o.expect(readers); readers.Kind != KindRW {
		t.Error("a read-write lock became an election")
	}
}

func TestUsualHoldIsLearnt(t *testing.T) {
	l := &Lock{Observed: Observed{History: &History{Holds: Spans{Count: 20, P99: time.Second}}}}
	if usual, learnt := l.UsualHold(); usual != time.Second || !learnt {
		t.Errorf("%v, %v", usual, learnt)
	}
	l.Observed.History = &History{Holds: Spans{Count: 19, P99: time.Second}}
	if usual, _ := l.UsualHold(); usual != 0 {
		t.Errorf("learnt from 19 holds: %v", usual)
	}
}
