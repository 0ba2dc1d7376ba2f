package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// An age by a clock that was not compared with ours raises no alert.
func TestAgesByAnUnknownClockAreNone(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	entered := now.Add(-time.Hour)
	b := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true, Clock: inspect.LeaderClock{From: 1}}
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/l"}, State: inspect.StateContended,
		Holders: []inspect.Contender{{Name: "h", Since: entered, HeldSince: entered, Czxid: 2}},
		Waiters: []inspect.Contender{{Name: "w", Since: entered, Czxid: 3}},
	}
	c := New(func() time.Time { return now }, 1)
	c.Observe(inspect.NewSnapshot(now, []*inspect.Backend{b}, []*inspect.Lock{l}))
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families := must.Have(r.Gather())(t)
	undated := 0.0
	for _, f := range families {
		switch f.GetName() {
		case "lockscope_oldest_hold_seconds", "lockscope_longest_wait_seconds":
			t.Errorf("%v", f)
		case "lockscope_holds_undated":
			undated = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if undated != 1 {
		t.Errorf("%v undated holds", undated)
	}
}
