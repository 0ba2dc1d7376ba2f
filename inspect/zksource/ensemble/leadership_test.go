package ensemble

import (
	"errors"
	"testing"
	"time"
)

// A resumed former leader starts a new claim, however long it led before. The server elected
// meanwhile has led since its first answer.
func TestLeadershipStartsAtFirstClaim(t *testing.T) {
	t.Parallel()
	e := &Ensemble{answers: make([]answer, 2)}
	at := func(a answer, second int) answer {
		a.at = noon.Add(time.Duration(second) * time.Second)
		return a
	}
	silent := answer{asked: true, at: noon, failed: errors.New("timed out"), err: "timed out"}
	for i, tt := range []struct {
		answers [2]answer
		want    [2]time.Duration
	}{
		{[2]answer{at(leads(4, 0, bounds{}), 0), at(follows(), 0)}, [2]time.Duration{}},
		{[2]answer{at(leads(4, 0, bounds{}), 10), at(follows(), 10)}, [2]time.Duration{10 * time.Second}},
		{[2]answer{silent, at(leads(5, 0, bounds{}), 20)}, [2]time.Duration{}},
		{[2]answer{at(leads(4, 0, bounds{}), 80), at(leads(5, 0, bounds{}), 80)}, [2]time.Duration{0, time.Minute}},
		{[2]answer{at(follows(), 90), at(leads(5, 0, bounds{}), 90)}, [2]time.Duration{0, 70 * time.Second}},
		{[2]answer{at(leads(6, 0, bounds{}), 100), at(leads(6, 0, bounds{}), 100)}, [2]time.Duration{}},
	} {
		answers := tt.answers[:]
		e.recordLeaders(answers)
		e.answers = answers
		for s, want := range tt.want {
			if a := &answers[s]; a.leads() == a.ledFrom.IsZero() || a.leads() && a.at.Sub(a.ledFrom) != want {
				t.Errorf("inquiry %d, server %d: %v, want %v", i, s, a.at.Sub(a.ledFrom), want)
			}
		}
	}
}
