package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// Reads from before this process was paused keep their date, although they are applied after the
// pause. Later events count as unseen.
func TestReadsBeforeStallKeepTheirDate(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.reports(t)
	known := now.Add(time.Second)
	a.send(19, Update{Put: []*Lock{at(queueOf(t, "12"), 1)}, At: known})
	a.publish()
	s, err := a.sub.Next(t.Context())
	must.Succeed(t, err)
	expect(t, "known before", short(s.Events), "released 11, handover 11>12")
	for _, e := range s.Events {
		if !e.At.Equal(known) || e.Between != (Interval{}) {
			t.Errorf("%s at %v, between %v", e.Kind, e.At, e.Between)
		}
	}
	a.send(19, Update{Gap: &Gap{Backend: "zk", From: known, Until: now.Add(19 * time.Second)}})
	a.send(20, Update{Put: []*Lock{at(queueOf(t, "13"), 20)}, At: now.Add(20 * time.Second)})
	if reported := a.reports(t); !strings.Contains(reported, "ended 12") || strings.Contains(reported, "released") {
		t.Error(reported)
	}
	a.send(21, Update{Put: []*Lock{at(queueOf(t, "14"), 21)}, At: now.Add(time.Hour)}) // with another clock's time
	a.publish()
	if s, err = a.sub.Next(t.Context()); err != nil || len(s.Events) == 0 || s.Events[0].At.After(now.Add(21*time.Second)) {
		t.Errorf("%v, %+v", err, s.Events)
	}
}

// A silent backend was last seen when we last heard from it, not when we noticed the silence.
func TestSilenceStartsAtLastContact(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	down := *zkUp
	down.State, down.HeardAt = Down, now.Add(3*time.Second)
	a.send(10, Update{Backend: &down})
	a.send(20, Update{Backend: zkUp})
	a.events = nil
	a.send(21, Update{Put: []*Lock{at(queueOf(t, "12"), 21)}})
	if len(a.events) < 2 {
		t.Fatalf("%+v", a.events)
	}
	for _, e := range a.events {
		must.True(t, e.Between.From.Equal(down.HeardAt), e.Kind, "between", e.Between)
	}
}

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
		s := NewSnapshot(now.Add(after), nil, nil)
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
		if gaps := of.Gaps(now.Add(tt.after), now.Add(tt.to)); len(gaps) != tt.want || tt.want > 0 && gaps[0] != gap {
			t.Errorf("%s: %+v", name, gaps)
		}
	}
	snapshot(time.Hour)
	if gaps := past.Gaps(now, now.Add(time.Hour)); len(gaps) > 0 {
		t.Errorf("old gaps are kept: %+v", gaps)
	}
}
