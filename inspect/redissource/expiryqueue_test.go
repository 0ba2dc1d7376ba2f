package redissource

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/redissource/node"
)

func TestExpiryQueueKeepsTheEarliest(t *testing.T) {
	var a expiryQueue
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	a.set("a", at(3))
	a.set("b", at(2))
	a.set("a", at(1))
	a.set("b", at(9))
	if next, ok := a.next(); !ok || !next.Equal(at(1)) {
		t.Errorf("next %v %v", next, ok)
	}
	if got := a.due(at(0)); got != nil {
		t.Errorf("too early: %v", got)
	}
	if got := a.due(at(2)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("due %v", got)
	}
	if _, ok := a.next(); ok || len(a.heap) != 0 {
		t.Errorf("left %v", a.heap)
	}
}

func TestLimitLetsABurstThroughAndThenTheRate(t *testing.T) {
	l := node.Limit{Every: 50 * time.Millisecond, Burst: 3}
	var spent time.Time
	passed := 0
	for now := noon; now.Before(noon.Add(time.Second)); now = now.Add(time.Millisecond) {
		if !l.Ready(spent, now).After(now) {
			spent = l.Spend(spent, now, 1)
			passed++
		}
	}
	if passed < 22 || passed > 23 {
		t.Errorf("%d passed in a second, want the burst of 3 and 20 a second", passed)
	}
	spent = l.Spend(time.Time{}, noon, 3)
	at := l.Ready(spent, noon)
	if wait := at.Sub(noon); wait != 50*time.Millisecond || l.Ready(spent, at).After(at) {
		t.Errorf("the next after %v", wait)
	}
	if s := l.Slowed(); s.Every != 100*time.Millisecond || s.Burst != 2 {
		t.Errorf("slowed %+v", s)
	}
}
