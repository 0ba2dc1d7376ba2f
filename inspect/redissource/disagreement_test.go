package redissource

import (
	"errors"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Masters that disagree are asked again up to three times. If they still disagree, that is reported
// as of the new read.
func TestDisagreeingMastersAreAskedAgain(t *testing.T) {
	const beat = inspect.SettleFor + afterExpiry
	b := testTable(3)
	b.add("k", noon)
	e := b.entries["k"]
	read := func(at time.Duration, votes ...inspect.Vote) *inspect.Lock {
		return b.read("k", noon.Add(at), votes...)
	}
	thin := []inspect.Vote{held(0, "a", time.Minute, noon), held(1, "a", time.Minute, noon), absent(2)}
	if read(0, thin...) == nil || !e.askAgain().Equal(noon.Add(beat)) {
		t.Fatalf("asked again at %v", e.askAgain())
	}
	if l := read(beat-1, thin...); l != nil {
		t.Errorf("confirmed too early: %+v", l)
	}
	if l := read(beat+1, thin[:2]...); l != nil {
		t.Errorf("reported before the third has answered: %+v", l)
	}
	for n := range time.Duration(3) {
		at := (n+1)*beat + 2
		if l := read(at, thin...); l == nil || !l.ReadAt.Equal(noon.Add(at)) {
			t.Errorf("not reported as of %v: %+v", at, l)
		}
	}
	if at := e.askAgain(); !at.IsZero() {
		t.Errorf("asked a fourth time, at %v", at)
	}
	if read(4*beat, absent(1)); e.askAgain().IsZero() {
		t.Error("a new disagreement is not asked about")
	}

	b.silence(2, errors.New("timed out"), noon.Add(time.Minute)) // the third's vote is now unknown
	if l := read(time.Minute, thin[:2]...); l == nil || l.Masters[2].Up || !e.askAgain().IsZero() {
		t.Errorf("masters that agree are asked again: %+v, %v", l, e.askAgain())
	}
}
