package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestResumedObserverWaitsForSources(t *testing.T) {
	var p pulse
	for _, step := range []struct {
		at     time.Duration
		steady bool
	}{
		{0, true},
		{time.Second, true},
		{3500 * time.Millisecond, true},
		{20 * time.Second, false},
		{20*time.Second + wakeUp - time.Millisecond, false},
		{20*time.Second + wakeUp, true},
	} {
		must.Equal(t, p.steady(now.Add(step.at)), step.steady, "after", step.at, "steady")
	}
}

func TestPastKeepsOnlyRecentGaps(t *testing.T) {
	past := NewPast(10*time.Minute, time.Millisecond, 1<<30)
	gap := Gap{Backend: "zk", From: now.Add(8 * time.Second), Until: now.Add(41 * time.Second)}
	blind := Event{Kind: EventBlind, Backend: zkUp, Between: Interval{gap.From, gap.Until}}
	snapshot := func(after time.Duration, events ...Event) {
		s := NewSnapshot(now.Add(after), []*Backend{zkUp, {Name: "other", State: Connected}}, nil)
		s.Events = events
		past.Add(s)
	}
	snapshot(0)
	snapshot(41*time.Second, Event{Kind: EventBackend, Backend: zkUp}, blind)
	snapshot(time.Minute)
	of := past.Clone()
	for name, tt := range map[string]struct {
		after, to time.Duration
		want      int
	}{"over it": {0, time.Minute, 1}, "to it": {0, 41 * time.Second, 1}, "after it": {41 * time.Second, time.Minute, 0}, "before it": {0, 40 * time.Second, 0}} {
		must.Same(t, of.Gaps(now.Add(tt.after), now.Add(tt.to)), slices.Repeat([]Gap{gap}, tt.want), name)
	}
	for after, want := range map[int]BackendState{8: Connected, 9: Down, 41: Connected} {
		s, _ := of.At(secondsOn(float64(after)))
		must.Equal(t, s.Backend("zk").State, want, after)
		must.Equal(t, s.Backend("other").State, Connected, after)
	}
	snapshot(time.Hour)
	must.Same(t, past.Gaps(now, now.Add(time.Hour)), nil, "old gaps")
}
