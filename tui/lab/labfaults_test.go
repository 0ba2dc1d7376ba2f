package lab

import (
	"fmt"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestEventsSinceKeepsFirstAndNewest(t *testing.T) {
	var log screen.EventLog
	for range 20 {
		log.Add([]inspect.Event{{Kind: inspect.EventGone, Lock: fixture.Orders().ID}, {Kind: inspect.EventGone, Lock: fixture.Thin().ID}})
	}
	got := fmt.Sprint(eventsSince(&log, 10, fixture.Orders().ID, 3))
	must.Equal(t, got, "[10 12 38]")
}
