package redissource

import (
	"errors"
	"testing"
	"time"

	"lockscope/inspect"
)

// Masters that do not agree are asked again after a while, three times, and what they all still say is
// reported with the new instant.
func TestMastersThatDoNotAgreeAreAskedAgain(t *testing.T) {
	read := func(b *keyTable, at time.Duration, votes ...inspect.Vote) *inspect.Lock {
		now := noon.Add(at)
		for _, v := range votes {
			b.vote(int(v.Addr[1]-'0'), "k", v, now)
		}
		l, _ := b.judge("k", now)
		return l
	}
	later := inspect.SettleFor + afterExpiry
	thin := []inspect.Vote{held(0, "a", time.Minute, noon), held(1, "a", time.Minute, noon), absent(2)}
	due := func(t *testing.T, b *keyTable) *dispute {
		t.Helper()
		d := &b.entries["k"].dispute
		if d.due(noon.Add(later - 1)) {
			t.Fatal("asked again at once")
		}
		if !d.due(noon.Add(later)) {
			t.Fatal("never asked again")
		}
		return d
	}
	start := func(t *testing.T, votes ...inspect.Vote) *keyTable {
		t.Helper()
		b := testTable(3)
		b.add("k", noon)
		if read(b, 0, votes...) == nil {
			t.Fatal("not judged")
		}
		return b
	}

	b := start(t, thin...)
	d := due(t, b)
	if l := read(b, later+1, thin[:2]...); l != nil {
		t.Errorf("reported before the third has answered: %+v", l)
	}
	if l := read(b, later+2, thin[2]); l == nil || l.ReadAt != noon.Add(later+2) {
		t.Errorf("not reported as of now: %+v", l)
	}
	for n := time.Duration(2); n <= 3; n++ {
		if d.due(noon.Add(n*later-1)) || !d.due(noon.Add(n*later)) {
			t.Errorf("not asked again after %v", n*later)
		}
		if l := read(b, n*later+1, thin...); l == nil || l.ReadAt != noon.Add(n*later+1) {
			t.Errorf("not reported as of then: %+v", l)
		}
	}
	if d.due(noon.Add(time.Hour)) {
		t.Error("asked once more")
	}

	b = start(t, thin...)
	due(t, b)
	b.silence(2, errors.New("timed out"), noon.Add(later+1)) // another state: the third's vote is unknown
	if l := read(b, later+2, thin[:2]...); l == nil || l.Masters[2].Up {
		t.Errorf("%+v", l)
	}
	if l := read(b, later+3, thin[:2]...); l != nil {
		t.Errorf("reported again though the masters that answer agree: %+v", l)
	}

	b = start(t, held(0, "a", time.Minute, noon), held(1, "a", time.Minute, noon), held(2, "a", time.Minute, noon))
	if b.entries["k"].dispute.due(noon.Add(time.Hour)) {
		t.Error("masters that agree are asked again")
	}
}
