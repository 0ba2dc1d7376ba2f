package lab

import (
	"fmt"
	"testing"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

func TestEventsSinceAreTheFirstAndTheNewest(t *testing.T) {
	var log screen.EventLog
	for range 20 {
		log.Add([]inspect.Event{{Kind: inspect.EventGone, Lock: fixture.Orders().ID}, {Kind: inspect.EventGone, Lock: fixture.Thin().ID}})
	}
	got := fmt.Sprint(eventsSince(&log, 10, fixture.Orders().ID, 3))
	if got != "[10 12 38]" {
		t.Error(got)
	}
}
