package suspend

import (
	"testing"
	"time"
)

// The system is also asked if the clocks drift apart slowly, or the wall clock is set back.
func TestClockDriftTriggersSystemQuery(t *testing.T) {
	var ahead, slept time.Duration
	asked := 0
	c := counter{ahead: func() time.Duration { return ahead }, count: func() time.Duration { asked++; return slept }}
	want := func(total time.Duration, questions int) {
		t.Helper()
		if got := c.total(); got != total || asked != questions {
			t.Errorf("%v after %d questions, want %v after %d", got, asked, total, questions)
		}
	}
	want(0, 1)
	want(0, 1)
	ahead, slept = 20*time.Second, 20*time.Second // suspended
	want(20*time.Second, 2)
	want(20*time.Second, 2)
	ahead -= time.Hour // set back: no suspension
	want(20*time.Second, 3)
	want(20*time.Second, 3)
	for range 3 {
		ahead, slept = ahead+apart*2/5, slept+apart*2/5
		c.total()
	}
	want(slept, 4)
}

// A suspension that happens while the system is asked is found the next time.
func TestSuspensionDuringQueryIsNotLost(t *testing.T) {
	var ahead, slept time.Duration
	c := counter{ahead: func() time.Duration { return ahead }}
	c.count = func() time.Duration {
		now := slept
		ahead, slept = time.Minute, time.Minute
		return now
	}
	if got := c.total(); got != 0 {
		t.Fatalf("%v", got)
	}
	if got := c.total(); got != time.Minute {
		t.Errorf("%v, want the minute added during the question", got)
	}
}

// The clocks stay closer than apart without a suspension, so that the system is not asked again.
func TestTheMachinesClocksStayTogether(t *testing.T) {
	ahead := aheadSince(time.Now())
	least := ahead().Abs()
	for range 100 { // a thread preempted between the two readings makes the difference large
		least = min(least, ahead().Abs())
	}
	if least >= apart {
		t.Errorf("at least %v apart without a suspension", least)
	}
}

func BenchmarkTotal(b *testing.B) {
	for b.Loop() {
		Total()
	}
}
