package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A long idle time is played in few steps with the same result.
func TestPlayHurriesThroughQuietTimes(t *testing.T) {
	at := now
	asked := 0
	o := NewObserver(func() time.Time { return at }, script{})
	rules := append(testRules(), Rule{Name: "count", Backend: func(*Backend, time.Time) []Finding { asked++; return nil }})
	o.Diagnose(rules, 10*time.Second)
	err := o.Play(func(emit func(Update)) error {
		emit(Update{Backend: zkUp, Put: []*Lock{queueOf(t, "11 12")}})
		at = now.Add(30 * 24 * time.Hour)
		emit(Update{Backend: zkUp})
		return nil
	})
	must.Succeed(t, err)
	l := o.Snapshot().Lock(queueOf(t, "11 12").ID)
	must.Equal(t, rulesOf(l), "long, past 0", "found")
	must.True(t, asked <= 100, "a quiet month took", asked, "checks")
}

// A film has the changes and events of each step of recorded time, even without updates, and the
// last state.
func TestFilm(t *testing.T) {
	at := now
	o := NewObserver(func() time.Time { return at }, script{})
	o.Diagnose(testRules(), 10*time.Second)
	var taken []time.Duration
	events := 0
	var last *Snapshot
	err := o.Film(time.Second, func(emit func(Update)) error {
		for i, after := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 1500 * time.Millisecond, time.Minute} {
			at = now.Add(after)
			l := queueOf(t, fmt.Sprint(11+i, " ", 12+i))
			l.ReadAt = at
			emit(Update{Backend: zkUp, Put: []*Lock{l}})
		}
		return nil
	}, func(s *Snapshot) {
		taken = append(taken, s.TakenAt.Sub(now))
		events += len(s.Events)
		last = s
	})
	must.Succeed(t, err)
	for i := 1; i < len(taken)-1; i++ {
		must.True(t, taken[i]-taken[i-1] >= time.Second, "snapshots less than a step apart:", taken)
	}
	must.True(t, len(taken) >= 4, "snapshots at", taken)
	must.Same(t, []time.Duration{taken[0], taken[len(taken)-1]}, []time.Duration{0, time.Minute}, "first and last")
	second := slices.IndexFunc(taken, func(d time.Duration) bool { return d > 0 })
	must.True(t, taken[second] < 1500*time.Millisecond, "changes of the first step appear in the second:", taken)
	waited := func(d time.Duration) bool { return d > 11*time.Second && d < time.Minute }
	must.True(t, slices.ContainsFunc(taken, waited), "no snapshot for a finding that depends on time alone:", taken)
	must.True(t, events >= 5, "only", events, "events")
	must.Equal(t, outline(last.Lock(ID{"zk", "/l"})), outline(queueOf(t, "15 16")), "at the end")
}
