package look

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// looks observes the snapshots in order and returns the open findings, as SUBJECT FINDING SEVERITY.
func looks(t *testing.T, n *notifying, s ...*inspect.Snapshot) []string {
	t.Helper()
	for _, one := range s {
		n.observe(one)
	}
	var open []string
	for key, r := range n.open {
		words := strings.Fields(strings.ReplaceAll(key, "\x00", " "))
		open = append(open, strings.Join(append(words, string(r.event.Finding.Severity)), " "))
	}
	return open
}

func TestMutedAndMinorFindingsStayQuiet(t *testing.T) {
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	snapshot := func(list ...inspect.Finding) *inspect.Snapshot {
		s := inspect.NewSnapshot(time.Unix(1_700_000_000, 0), []*inspect.Backend{{Name: "redis"}}, []*inspect.Lock{{ID: id, Findings: list}})
		s.Changed = []inspect.ID{id}
		return s
	}
	n := &notifying{App: &app.App{}, least: inspect.Warning.Rank(), open: make(map[string]reported)}
	muted := inspect.Finding{Rule: "no-ttl", Severity: inspect.Warning, Muted: &inspect.Muted{}}
	must.Same(t, looks(t, n, snapshot(inspect.Finding{Rule: "blind", Severity: inspect.Info}, muted)), nil, "reported")
	muted.Muted = nil // unmuted, with no event
	must.Same(t, looks(t, n, snapshot(muted)), []string{"redis:lock:a no-ttl warning"}, "reported")
	empty := snapshot()
	looks(t, n, empty)
	must.Equal(t, len(n.open), 1, "open findings before the cleared event", n.open)
	empty.Dropped = 1 // the cleared event may be among the dropped ones
	must.Same(t, looks(t, n, empty), nil, "still open")
}

func TestBackendStateDeterminesLevel(t *testing.T) {
	for state, level := range map[inspect.BackendState]int{inspect.Connected: 0, inspect.Degraded: 1, inspect.Down: 2} {
		must.Equal(t, backendLevel(&inspect.Backend{State: state}), level, state, "level")
	}
}
