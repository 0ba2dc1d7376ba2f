package describe

import (
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
)

func TestEventsOfBackendsInWords(t *testing.T) {
	from := time.Date(2026, 11, 21, 3, 0, 1, 0, time.Local)
	if got := Blind(inspect.Interval{From: from, To: from.Add(33 * time.Second)}); got != "nothing was seen from 03:00:01 to 03:00:34 (33s)" {
		t.Errorf("%q", got)
	}
	for what, want := range map[inspect.ChangeKind]string{
		inspect.ChangedLeader: "b leads now, before it a\\u{1b}",
		inspect.ChangedMaster: "b is the master now, before it a\\u{1b}",
		inspect.Restarted:     "b started anew",
	} {
		if got := Change(&inspect.Change{What: what, From: "a\x1b", To: "b"}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", what, got)
		}
	}
}
