package lab

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestDefaultContestPitsQueueAgainstRace(t *testing.T) {
	for _, tt := range []struct {
		name     string
		backends []Backend
		one, two string
	}{
		{"both", []Backend{redisBackend, zkBackend}, "zk: mutex", "redis: mutex on one master"},
		{"Redis alone", []Backend{redisBackend}, "redis: mutex on one master", "redis: redlock"},
		{"ZooKeeper alone", []Backend{zkBackend}, "zk: mutex", ""},
		{"two ZooKeepers", []Backend{zkBackend, {Name: "zk2", ZooKeeper: true, Targets: []string{"mutex"}}}, "zk: mutex", "zk2: mutex"},
	} {
		all, left, right := targetsOf(tt.backends)
		two := ""
		if right >= 0 {
			two = all[right].String()
		}
		must.Same(t, []string{all[left].String(), two}, []string{tt.one, tt.two}, tt.name)
	}
	none, _, _ := targetsOf(nil)
	must.Equal(t, len(none), 0, "targets without backends")
}

func TestVerdictOfARun(t *testing.T) {
	for _, tt := range []struct {
		report contend.Report
		want   string
	}{
		{contend.Report{}, "not acquired yet"},
		{contend.Report{Grants: 100}, "first come, first served"},
		{contend.Report{Grants: 1000, Inversions: 2}, "nearly first come, first served: 0.2% overtakes"},
		{contend.Report{Grants: 100, Inversions: 37}, "a race: 37% overtakes"},
		{contend.Report{Grants: 100, Inversions: 37, Overlaps: 1}, "broken: two held it at once"},
	} {
		must.Equal(t, verdictOf(&tt.report, true), tt.want)
	}
	must.Equal(t, verdictOf(&contend.Report{Grants: 100}, false), "no overtaking seen; not guaranteed")
	queue, race := &Side{Over: true}, &Side{Over: true, report: contend.Report{Grants: 9}}
	queue.Order, queue.report = RunOptions{Backend: "zk", Target: "mutex", InOrder: true}, race.report
	must.Equal(t, fairer(queue, race), "no overtaking seen on either side; only zk mutex guarantees the order")
	must.Equal(t, fairer(race, queue), fairer(queue, race))
	must.Equal(t, fairer(race, race), "no overtaking seen on either side; neither guarantees the order")
}

func TestFairnessIsMeasuredFirst(t *testing.T) {
	r := contend.Report{Duration: time.Second, Contenders: []contend.Contender{{Grants: 1}, {}}}
	must.Equal(t, spreadWords(&r), "")
	r.Duration = 5 * time.Second
	must.Equal(t, spreadWords(&r), ", evenness 50%")
}

func TestAttemptsAreForgotten(t *testing.T) {
	t.Parallel()
	var events []contend.Event
	for i := range 3 * attemptsKept {
		events = append(events, fixture.Event(contend.Queued, i%7, float64(i)), fixture.Event(contend.Left, i%7, float64(i)+0.5))
	}
	attempts := recordAttempts(nil, events)
	must.Equal(t, len(attempts), attemptsKept, "kept")
	must.Equal(t, len(forgetAttempts(attempts, attempts[len(attempts)-10].ended)), 10, "left")
}

// stub is a context with only a theme.
type stub struct {
	screen.Context
	theme *theme.Theme
}

func (s stub) Theme() *theme.Theme { return s.theme }

func overtaking(contender int, second float64) contend.Event {
	e := fixture.Event(contend.Granted, contender, second)
	e.Overtook = true
	return e
}

// drawnAttempts are the rows of a window of ten seconds from noon, with one cell per second.
func drawnAttempts(t *testing.T, attempts []attempt, n int) []string {
	t.Helper()
	view := lanes.View{Context: stub{theme: theme.New(theme.Options{ASCII: true, NoColor: true})}}
	var rows []string
	for _, row := range drawAttempts(attempts, n, lanes.Window{From: fixture.Noon, Step: time.Second, Cells: 10}, fixture.Noon.Add(-time.Hour), fixture.In(10*time.Second)) {
		rows = append(rows, view.Cells(row).Text())
	}
	return rows
}

func TestAttemptsAreDrawn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []contend.Event
		want   []string
	}{
		{"in turn", []contend.Event{
			fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Queued, 1, 1), fixture.Event(contend.Granted, 0, 2), fixture.Event(contend.Released, 0, 4),
			fixture.Event(contend.Granted, 1, 4), fixture.Event(contend.Released, 1, 6), fixture.Event(contend.Queued, 0, 8),
		}, []string{"--##    --", " ---##    "}},
		{"overtaken", []contend.Event{
			fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Queued, 1, 2), overtaking(1, 4), fixture.Event(contend.Released, 1, 6), fixture.Event(contend.Granted, 0, 7),
		}, []string{"----!--###", "  --##    "}},
		{"an order of calls that the servers did not see", []contend.Event{
			fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Queued, 1, 1), fixture.Event(contend.Granted, 1, 2), fixture.Event(contend.Released, 1, 4), fixture.Event(contend.Granted, 0, 4),
		}, []string{"----######", " -##      "}},
		{"failed", []contend.Event{fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Failed, 0, 3)}, []string{"---x      "}},
		{"waited to the end of the run", []contend.Event{fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Left, 0, 3)}, []string{"----------"}},
		{"lost", []contend.Event{fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Granted, 0, 1), fixture.Event(contend.Lost, 0, 3), fixture.Event(contend.Failed, 0, 4)}, []string{"-##       "}},
		{"a release that was dropped", []contend.Event{fixture.Event(contend.Queued, 0, 0), fixture.Event(contend.Granted, 0, 1), fixture.Event(contend.Queued, 0, 5)}, []string{"-####-----"}},
	} {
		rows := drawnAttempts(t, recordAttempts(nil, tt.events), len(tt.want))
		for i, want := range tt.want {
			must.Equal(t, rows[i], want, tt.name, "lane", i)
		}
	}
}
