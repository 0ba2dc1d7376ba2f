package tui

import (
	"fmt"
	"testing"

	"lockscope/inspect"
)

func TestEventsSinceAreTheFirstAndTheNewest(t *testing.T) {
	var log eventLog
	for range 20 {
		log.add([]inspect.Event{{Kind: inspect.EventGone, Lock: orders().ID}, {Kind: inspect.EventGone, Lock: thin().ID}})
	}
	got := fmt.Sprint(eventsSince(&log, 10, orders().ID, 3))
	if got != "[10 12 38]" {
		t.Error(got)
	}
}
