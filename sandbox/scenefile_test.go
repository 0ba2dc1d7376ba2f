package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// The scripts name only locks and masters that exist.
func TestScenariosFitTogether(t *testing.T) {
	for _, scenario := range Scenarios() {
		s := scenario.script
		for _, c := range s.Contenders {
			if s.lock(c.Lock) == nil || c.Then != "" && s.lock(c.Then) == nil || c.Hold.high == 0 || c.Hold.high < c.Hold.low {
				t.Errorf("%s: contender %+v", scenario.Name, c)
			}
		}
		sorted := slices.IsSortedFunc(s.Steps, func(a, b scriptStep) int { return int(a.At - b.At) })
		if last := len(s.Steps) - 1; !sorted || last >= 0 && s.Repeat < s.Steps[last].At {
			t.Errorf("%s: its steps are not in order, or begin again too early", scenario.Name)
		}
		for _, p := range s.Steps {
			ok := p.Freeze != "" && s.lock(p.Freeze) != nil || p.Orphan != nil && s.lock(p.Orphan.Lock) != nil ||
				p.Set != nil && s.lock(p.Set.Lock) != nil || p.Stop > 0 && p.Stop <= mastersCount || p.Start > 0 && p.Start <= mastersCount
			if !ok {
				t.Errorf("%s: step %+v", scenario.Name, p)
			}
		}
	}
	if _, err := parseScenario("x", []byte("colour: red\n")); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("an unknown word: %v", err)
	}
}
