package tui

import (
	"testing"
	"time"

	"lockscope/lockops/contend"
)

func event(kind contend.EventKind, contender int, second float64) contend.Event {
	return contend.Event{Kind: kind, Contender: contender, At: noon.Add(time.Duration(second * float64(time.Second)))}
}

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

func TestVisitsAreForgotten(t *testing.T) {
	t.Parallel()
	var events []contend.Event
	for i := range 3 * visitsKept {
		events = append(events, event(contend.Queued, i%7, float64(i)), event(contend.Left, i%7, float64(i)+0.5))
	}
	visits := noteVisits(nil, events)
	if len(visits) != visitsKept {
		t.Errorf("%d are kept, want %d", len(visits), visitsKept)
	}
	if left := forgetVisits(visits, visits[len(visits)-10].ended); len(left) != 10 {
		t.Errorf("%d are left, want 10", len(left))
	}
}

func TestVerdictOfARun(t *testing.T) {
	for _, tt := range []struct {
		report contend.Report
		want   string
	}{
		{contend.Report{}, "nothing granted so far"},
		{contend.Report{Grants: 100}, "first come, first served"},
		{contend.Report{Grants: 1000, Inversions: 2}, "nearly first come, first served: 0.2 % overtook"},
		{contend.Report{Grants: 100, Inversions: 37}, "a race: 37 % overtook"},
		{contend.Report{Grants: 100, Inversions: 37, Overlaps: 1}, "no lock at all: two held it at once"},
	} {
		if got := verdictOf(&tt.report); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestTheUsualContestIsAQueueAgainstARace(t *testing.T) {
	for _, tt := range []struct {
		name     string
		backends []LabBackend
		one, two string
	}{
		{"both", []LabBackend{redisBackend, zkBackend}, "zk: mutex", "redis: mutex on one master"},
		{"Redis alone", []LabBackend{redisBackend}, "redis: mutex on one master", "redis: redlock"},
		{"ZooKeeper alone", []LabBackend{zkBackend}, "zk: mutex", ""},
		{"two ZooKeepers", []LabBackend{zkBackend, {Name: "zk2", ZooKeeper: true, Arenas: []string{"mutex"}}}, "zk: mutex", "zk2: mutex"},
	} {
		all, left, right := arenasOf(tt.backends)
		two := ""
		if right >= 0 {
			two = all[right].String()
		}
		if all[left].String() != tt.one || two != tt.two {
			t.Errorf("%s: %q against %q", tt.name, all[left], two)
		}
	}
	if all, _, _ := arenasOf(nil); len(all) != 0 {
		t.Error(all)
	}
}
