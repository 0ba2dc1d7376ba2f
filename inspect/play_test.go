package inspect

import (
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
			l := queueOf(t, []string{"11 12", "12 13", "13 14", "14 15", "15 16"}[i])
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
	for i, d := range taken {
		if i > 0 && i < len(taken)-1 && d-taken[i-1] < time.Second {
			t.Errorf("snapshots less than a step apart: %v", taken)
		}
	}
	must.True(t, taken[0] == 0 && taken[len(taken)-1] == time.Minute && len(taken) >= 4, "snapshots at", taken)
	if i := slices.IndexFunc(taken, func(d time.Duration) bool { return d > 0 }); taken[i] >= 1500*time.Millisecond {
		t.Errorf("changes of the first step appear in the second: %v", taken)
	}
	if !slices.ContainsFunc(taken, func(d time.Duration) bool { return d > 11*time.Second && d < time.Minute }) {
		t.Errorf("no snapshot for a finding that depends on time alone: %v", taken)
	}
	want := queueOf(t, "15 16")
	if l := last.Lock(want.ID); events < 5 || l.Holders[0].Name != want.Holders[0].Name {
		t.Errorf("%d events, last holders %+v", events, l.Holders)
	}
}
