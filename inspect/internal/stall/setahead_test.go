package stall_test

import (
	"testing"
	"time"

	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/internal/stall"
	"lockscope/internal/suspend"
)

// While the machine is suspended the wall clock alone goes on, and nobody has set it.
func TestASuspensionIsNoSetClock(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		wall, slept time.Duration
		want        time.Duration
	}{
		"nothing":                          {0, 0, 0},
		"set":                              {day, 0, day},
		"set back":                         {-day, 0, -day},
		"suspended":                        {day, day, 0},
		"suspended, and set back then":     {day - time.Hour, day, -time.Hour},
		"suspended, and set ahead then":    {day + time.Hour, day, time.Hour},
		"read before, and suspended since": {0, day, 0},
	} {
		began := time.Now()
		before := stall.Slept(began, time.Now())
		suspend.Pretend(tt.slept)
		now := sourcetest.WallSet(t, began.Add(time.Minute), tt.wall)
		for range 2 {
			if got := stall.SetAhead(began, now) - tt.want; got.Abs() > 100*time.Millisecond {
				t.Errorf("%s: off by %v", name, got)
			}
		}
		if got := stall.Slept(began, time.Now()) - before - tt.slept; got.Abs() > 100*time.Millisecond {
			t.Errorf("%s: slept, off by %v", name, got)
		}
		if stall.Slept(time.Now(), time.Now()) != 0 || stall.Slept(began.Round(0), time.Now()) != 0 {
			t.Errorf("%s: slept since now, or in a recording", name)
		}
	}
}

// A clock that is set right after a suspension, as when it is synchronised anew, was not set back by that.
func TestAClockIsSetRightAfterASuspension(t *testing.T) {
	const slept = 8 * time.Hour
	began := time.Now()
	suspend.Pretend(slept)
	awake := sourcetest.WallSet(t, time.Now(), slept)
	if got := stall.SetAhead(began, awake); got.Abs() > 100*time.Millisecond {
		t.Fatalf("awake: set by %v", got)
	}
	if got := stall.SetAhead(awake, sourcetest.WallSet(t, awake.Add(time.Second), 2*time.Second)); got != 2*time.Second {
		t.Errorf("set by %v", got)
	}
}
