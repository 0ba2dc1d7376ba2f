package inspect

import (
	"testing"
	"time"
)

// A long time in which nothing happened is played in few steps, and its end as if all of it had been.
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
	if err != nil {
		t.Fatal(err)
	}
	l := o.Snapshot().Lock(queueOf(t, "11 12").ID)
	if got := rulesOf(l); got != "long, past 0" {
		t.Errorf("found %q", got)
	}
	if asked > 100 {
		t.Errorf("a quiet month took %d rounds", asked)
	}
}
