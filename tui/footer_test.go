package tui

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// If only a few keys fit, the footer shows the most useful: findings, events, the ticket and help.
func TestFooterShowsMostUsefulKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		screen        screen.Name
		width, height int
		want          []string
	}{
		{screen.Locks, 80, 24, []string{"enter chain", "/ filter", "Y ticket", "t timeline", "f findings", "? help", "q quit"}},
		{screen.Chain, 80, 24, []string{"esc back", "enter client", "y copy", "Y ticket", "@ rewind", "t timeline", "? help"}},
		{screen.Timeline, 80, 24, []string{"esc back", "Y ticket", "? help"}},
		{screen.Findings, 80, 24, []string{"enter chain", "/ filter", "y copy", "Y ticket", "esc back", "? help"}},
		{screen.Events, 80, 24, []string{"/ filter", "esc back", "w 2m/10m/all", "p group", "? help"}},
		{screen.Locks, 40, 12, []string{"enter chain", "/ filter", "? help", "q quit"}},
		{screen.Locks, 120, 36, []string{"f findings", "e events", "c clients", "b backends", "L lab", "[ past", "? help", "q quit"}},
		{screen.Chain, 120, 36, []string{"@ rewind", "f findings", "e events", "c clients", "L lab"}},
		{screen.Locks, 200, 50, []string{"[ past", "@ rewind", "D changes"}},
	} {
		m := model(t, Options{}, test.width, test.height, fixture.Everything())
		if test.screen != screen.Locks {
			goTo(m, test.screen, screen.Subject{Lock: fixture.Orders().ID})
		}
		wantIn(t, foot(m), test.want...)
		must.True(t, strings.HasSuffix(foot(m), "? help  q quit"), test.screen, "at", test.width, foot(m))
	}
}
