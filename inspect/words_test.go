package inspect

import (
	"testing"
	"time"
)

func TestFormatAge(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0ms": -time.Second, "812ms": 812 * time.Millisecond, "2.1s": 2190 * time.Millisecond, "59s": 59900 * time.Millisecond,
		"14m02s": 14*time.Minute + 2*time.Second, "3h05m": 3*time.Hour + 5*time.Minute, "4d06h": 102 * time.Hour,
	} {
		if got := FormatAge(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	for votes, want := range map[string]string{
		"x x x": "x", "x x y y z": "split 2·2·1", "x - - - -": "minority 1 of 5", "- - -": "free", "x ! !": "unknown",
	} {
		if got := KeyLock(ID{"redis", "k"}, ballots(votes), now).Summary(); got.Raw() != want {
			t.Errorf("%s: %s, want %s", votes, got, want)
		}
	}
}

func TestWhoIsTheBestThatIsKnown(t *testing.T) {
	c := Contender{Name: "value"}
	for _, step := range []struct {
		learn func(*Owner)
		want  Untrusted
	}{
		{func(*Owner) {}, "value"},
		{func(o *Owner) { o.Session = -1 }, "0xffffffffffffffff"},
		{func(o *Owner) { o.Host = "host" }, "host"},
		{func(o *Owner) { o.Client = "10.0.0.1:5" }, "10.0.0.1:5"},
		{func(o *Owner) { o.Label = "me" }, "me 10.0.0.1:5"},
	} {
		step.learn(&c.Owner)
		if got := c.Who(); got != step.want {
			t.Errorf("who: %s, want %s", got, step.want)
		}
	}
}
