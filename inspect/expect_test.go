package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
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
		usual, learnt := l.UsualHold()
		must.True(t, usual == want.hold && !learnt, path, "usually", usual)
		must.Equal(t, l.Kind, want.kind, path)
		must.Equal(t, l.KindConfidence, want.sure, path)
	}
	readers := &Lock{ID: ID{"zk", "/app/leader-b"}, Kind: KindRW}
	o.expect(readers)
	must.Equal(t, readers.Kind, KindRW)
}

func TestUsualHoldIsLearnt(t *testing.T) {
	for holds, want := range map[int]time.Duration{20: time.Second, 19: 0} {
		l := &Lock{Observed: Observed{History: &History{Holds: Spans{Count: holds, P99: time.Second}}}}
		usual, learnt := l.UsualHold()
		must.True(t, usual == want && learnt == (want > 0), usual, "learnt from", holds)
	}
}
