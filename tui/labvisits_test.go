package tui

import (
	"testing"
	"time"

	"lockscope/lockops/contend"
)

func overtaking(contender int, second float64) contend.Event {
	e := event(contend.Granted, contender, second)
	e.Overtook = true
	return e
}

// drawnVisits are the rows of a window of ten seconds from noon on, a cell a second.
func drawnVisits(t *testing.T, visits []visit, n int) []string {
	t.Helper()
	m := New(t.Context(), plain(Options{Theme: asciiTheme}))
	view := laneView{Context: m.world}
	var rows []string
	for _, row := range drawVisits(visits, n, window{noon, time.Second, 10}, noon.Add(-time.Hour), in(10*time.Second)) {
		rows = append(rows, view.cells(row).text())
	}
	return rows
}

func TestVisitsAreDrawn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []contend.Event
		want   []string
	}{
		{"in turn", []contend.Event{
			event(contend.Queued, 0, 0), event(contend.Queued, 1, 1), event(contend.Granted, 0, 2), event(contend.Released, 0, 4),
			event(contend.Granted, 1, 4), event(contend.Released, 1, 6), event(contend.Queued, 0, 8),
		}, []string{"--##    --", " ---##    "}},
		{"overtaken", []contend.Event{
			event(contend.Queued, 0, 0), event(contend.Queued, 1, 2), overtaking(1, 4), event(contend.Released, 1, 6), event(contend.Granted, 0, 7),
		}, []string{"----!--###", "  --##    "}},
		{"an order of calls that the servers did not see", []contend.Event{
			event(contend.Queued, 0, 0), event(contend.Queued, 1, 1), event(contend.Granted, 1, 2), event(contend.Released, 1, 4), event(contend.Granted, 0, 4),
		}, []string{"----######", " -##      "}},
		{"gave up", []contend.Event{event(contend.Queued, 0, 0), event(contend.Left, 0, 3)}, []string{"---x      "}},
		{"lost", []contend.Event{event(contend.Queued, 0, 0), event(contend.Granted, 0, 1), event(contend.Lost, 0, 3), event(contend.Failed, 0, 4)}, []string{"-##       "}},
		{"a release that was dropped", []contend.Event{event(contend.Queued, 0, 0), event(contend.Granted, 0, 1), event(contend.Queued, 0, 5)}, []string{"-####-----"}},
	} {
		rows := drawnVisits(t, noteVisits(nil, tt.events), len(tt.want))
		for i, want := range tt.want {
			if rows[i] != want {
				t.Errorf("%s: lane %d is %q, want %q", tt.name, i, rows[i], want)
			}
		}
	}
}
