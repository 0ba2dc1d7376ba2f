package metrics

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// A muted finding is counted separately, and its lock gets no series: it raises no alert.
func TestAMutedFindingIsCountedApart(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	for _, muted := range []*inspect.Muted{nil, {Until: now.Add(time.Hour)}} {
		l := &inspect.Lock{ID: id, State: inspect.StateHeld, Findings: []inspect.Finding{{Rule: "no-ttl", Severity: inspect.Warning, Muted: muted}}}
		b := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected, FirstPass: true}
		c := New(func() time.Time { return now }, 10)
		c.Observe(inspect.NewSnapshot(now, []*inspect.Backend{b}, []*inspect.Lock{l}))
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		families := must.Have(registry.Gather())(t)
		label, series := "", 0
		for _, f := range families {
			switch f.GetName() {
			case "lockscope_findings":
				for _, l := range f.Metric[0].Label {
					if l.GetName() == "muted" {
						label = l.GetValue()
					}
				}
			case "lockscope_lock_finding":
				series = len(f.Metric)
			}
		}
		if want := muted == nil; label != map[bool]string{true: "false", false: "true"}[want] || (series == 1) != want {
			t.Errorf("muted %v: label %q, %d series", muted != nil, label, series)
		}
	}
}

// One backend is down and the other was not reached yet: not everything was read.
func TestNotReadyWhileABackendIsMissing(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	gone := &inspect.Backend{Name: "gone", State: inspect.Down}
	c := New(func() time.Time { return now }, 10)
	for _, step := range []struct {
		backends []*inspect.Backend
		ready    bool
	}{
		{nil, false},
		{[]*inspect.Backend{gone}, false},
		{[]*inspect.Backend{{Name: "redis", State: inspect.Connected}, gone}, false},
		{[]*inspect.Backend{{Name: "redis", State: inspect.Connected, FirstPass: true}, gone}, true},
	} {
		c.Observe(inspect.NewSnapshot(now, step.backends, nil))
		if got := c.Ready(2); got != step.ready {
			t.Errorf("%d backends: %v", len(step.backends), got)
		}
	}
}

// sampled are the values of a metric of one backend, by the value of a label.
func sampled(t *testing.T, b *inspect.Backend, metric, label string) map[string]float64 {
	t.Helper()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := New(func() time.Time { return now }, 10)
	c.Observe(inspect.NewSnapshot(now, []*inspect.Backend{b}, nil))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families := must.Have(registry.Gather())(t)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if f.GetName() == metric && l.GetName() == label {
					values[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
	}
	return values
}

// A server that answers is up, one that does not is down, and of one that does not let us in neither is known.
func TestServersAreUpOrDown(t *testing.T) {
	b := &inspect.Backend{Name: "redis", State: inspect.Degraded, FirstPass: true, Servers: []inspect.Server{
		{Addr: "up", State: inspect.ServerUp},
		{Addr: "down", State: inspect.ServerDown},
		{Addr: "refuses us", State: inspect.ServerDown, Fault: inspect.FaultOurs},
		{Addr: "without a quorum", State: inspect.ServerDown, Fault: inspect.FaultNoQuorum},
		{Addr: "not asked", State: inspect.ServerUnknown},
	}}
	want := map[string]float64{"up": 1, "down": 0, "without a quorum": 0}
	if got := sampled(t, b, "lockscope_server_up", "server"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A backend that is down has its own findings, such as that it has no quorum, and no figures of locks.
func TestADownBackendHasItsOwnFindings(t *testing.T) {
	b := &inspect.Backend{Name: "zk", State: inspect.Down, Findings: []inspect.Finding{{Rule: "no-quorum", Severity: inspect.Critical}}}
	if got := sampled(t, b, "lockscope_findings", "rule"); got["no-quorum"] != 1 {
		t.Errorf("findings: %v", got)
	}
	if got := sampled(t, b, "lockscope_holds_undated", "backend"); len(got) > 0 {
		t.Errorf("holds: %v", got)
	}
}
