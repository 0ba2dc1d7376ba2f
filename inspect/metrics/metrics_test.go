package metrics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) time.Time { return noon.Add(-time.Duration(seconds) * time.Second) }

// collected returns a collector that has observed these snapshots, the newest last.
func collected(eachLock int, snapshots ...*inspect.Snapshot) *Collector {
	c := New(func() time.Time { return noon }, eachLock)
	for _, s := range snapshots {
		c.Observe(s)
	}
	return c
}

// exposed returns the samples of a collector as Prometheus shows them, without lockscope_ before
// each.
func exposed(t *testing.T, c *Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	var b strings.Builder
	for _, f := range must.Have(registry.Gather())(t) {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			fmt.Fprintf(&b, "%s{%s} ", strings.TrimPrefix(f.GetName(), "lockscope_"), strings.Join(labels, " "))
			h := m.GetHistogram()
			for _, bucket := range h.GetBucket() {
				fmt.Fprintf(&b, "≤%v:%d ", bucket.GetUpperBound(), bucket.GetCumulativeCount())
			}
			if h != nil {
				fmt.Fprintf(&b, "count %d sum ", h.GetSampleCount())
			}
			fmt.Fprintln(&b, m.GetGauge().GetValue()+m.GetCounter().GetValue()+h.GetSampleSum())
		}
	}
	return b.String()
}

// expect compares the samples of a collector with a file. To renew it: go test ./inspect/metrics -update
func expect(t *testing.T, c *Collector, name string) {
	t.Helper()
	got, path := exposed(t, c), filepath.Join("testdata", name)
	if *update {
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := string(must.Have(os.ReadFile(path))(t))
	must.NoDiff(t, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
}

// We do not know whether a server is up if it refuses us or was not asked yet.
func TestBackendsAreExposed(t *testing.T) {
	b := &inspect.Backend{
		Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Degraded, FirstPass: true, Lost: 2,
		Cost: inspect.Cost{Requests: 7, Heartbeats: 3, Bytes: 900, Watches: 4, Slowed: true},
		Servers: []inspect.Server{
			{Addr: "up", State: inspect.ServerUp, Latency: 2 * time.Millisecond, ClockKnown: true, ClockOffset: -time.Second},
			{Addr: "up", State: inspect.ServerDown}, // named twice
			{Addr: "quick", State: inspect.ServerUp},
			{Addr: "unmeasured", State: inspect.ServerUp, Latency: -1},
			{Addr: "down", State: inspect.ServerDown, ClockOffset: time.Second},
			{Addr: "refuses us", State: inspect.ServerDown, Fault: inspect.FaultOurs},
			{Addr: "not asked", State: inspect.ServerUnknown},
		},
		Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders}, {Aspect: inspect.AspectHolders}, {Aspect: inspect.AspectSessions}},
	}
	expect(t, collected(10, inspect.NewSnapshot(noon, []*inspect.Backend{b}, nil)), "backend.txt")
}

// Ages whose clock was not compared with ours, waiters that are gone, and muted findings raise no
// alert.
func TestLocksAreExposed(t *testing.T) {
	zk := &inspect.Backend{
		Name: "zk", State: inspect.Connected, FirstPass: true, Clock: inspect.LeaderClock{Known: true, From: 10},
		Findings: []inspect.Finding{{Rule: "no-spare", Severity: inspect.Info}},
	}
	id := func(path string) inspect.ID { return inspect.ID{Backend: "zk", Path: path} }
	stuck := inspect.Finding{Rule: "stuck", Severity: inspect.Warning}
	muted := inspect.Finding{Rule: "stuck", Severity: inspect.Critical, Muted: &inspect.Muted{Until: noon}}
	c := collected(2, inspect.NewSnapshot(noon, []*inspect.Backend{zk}, []*inspect.Lock{
		{
			ID: id("/stuck"), Kind: inspect.KindMutex, State: inspect.StateContended,
			Findings: []inspect.Finding{{Rule: "herd", Severity: inspect.Info}, stuck, stuck, muted},
			Holders:  []inspect.Contender{{HeldSince: ago(60), Czxid: 11}, {HeldSince: ago(50), Czxid: 12}},
			Waiters:  []inspect.Contender{{Since: ago(30), Czxid: 12}, {Since: ago(20), Czxid: 13}, {Since: ago(90), Czxid: 14, Dead: true}},
		},
		{
			ID: id("/undated"), Kind: inspect.KindMutex, State: inspect.StateContended,
			Findings: []inspect.Finding{{Rule: "deadlock", Severity: inspect.Critical}},
			Holders:  []inspect.Contender{{Since: ago(3600), HeldSince: ago(3600), Czxid: 2}},
			Waiters:  []inspect.Contender{{Since: ago(3500), Czxid: 3}},
		},
		{ID: id("/less"), Kind: inspect.KindRW, State: inspect.StateFree, Findings: []inspect.Finding{stuck}},
		{ID: id("/muted"), Kind: inspect.KindRW, State: inspect.StateFree, Findings: []inspect.Finding{muted}},
		{ID: id("/fifth"), Kind: inspect.KindRW, State: inspect.StateFree, WaitersAtLeast: 6},
		{ID: id("/dark"), State: inspect.StateUnknown, Unseen: []inspect.Unseen{{Aspect: inspect.AspectKind}}},
		{ID: id("/blind"), State: inspect.StateHeld, Unseen: []inspect.Unseen{{Aspect: inspect.AspectWaiters}, {Aspect: inspect.AspectWaiters}}},
	}))
	expect(t, c, "locks.txt")
}

// The findings of a backend that is down are known; nothing is known of one that was not read yet.
// A lock with unknown waiters has no sample of them.
func TestUnknownsHaveNoSamples(t *testing.T) {
	backends := []*inspect.Backend{
		{Name: "down", State: inspect.Down, FirstPass: true, Findings: []inspect.Finding{{Rule: "no-quorum", Severity: inspect.Critical}}},
		{Name: "new", State: inspect.Connected},
		{Name: "zk", State: inspect.Connected, FirstPass: true},
	}
	var locks []*inspect.Lock
	for _, b := range backends {
		for path, waiters := range map[string][]inspect.Unseen{"/blind": {{Aspect: inspect.AspectWaiters}}, "/dark": nil} {
			l := &inspect.Lock{ID: inspect.ID{Backend: b.Name, Path: path}, State: inspect.StateHeld, Unseen: waiters}
			if l.Findings = []inspect.Finding{{Rule: "stuck", Severity: inspect.Warning}}; path == "/dark" {
				l.State = inspect.StateUnknown
			}
			locks = append(locks, l)
		}
	}
	expect(t, collected(9, inspect.NewSnapshot(noon, backends, locks)), "unknowns.txt")
	must.Equal(t, exposed(t, collected(9)), "", "before the first snapshot")
}

// The locks with their own series are the worst, then those with the most waiters, then the first
// by name.
func TestTheWorstLocksHaveSeries(t *testing.T) {
	b := &inspect.Backend{Name: "zk", State: inspect.Connected, FirstPass: true}
	lock := func(path string, s inspect.Severity, waiters int) *inspect.Lock {
		return &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: path}, WaitersAtLeast: waiters, Findings: []inspect.Finding{{Rule: "r", Severity: s}}}
	}
	s := inspect.NewSnapshot(noon, []*inspect.Backend{b}, []*inspect.Lock{
		lock("/3", inspect.Warning, 5), lock("/4", inspect.Warning, 1), lock("/5", inspect.Warning, 1),
		lock("/2", inspect.Critical, 0), lock("/1", inspect.Critical, 1), lock("/6", inspect.Info, 9),
	})
	for n := range 7 {
		got := exposed(t, collected(n, s))
		must.Contain(t, got, fmt.Sprintf("lock_series_omitted{} %d\n", max(0, 5-n)), n)
		for i := 1; i <= 6; i++ {
			if has := strings.Contains(got, fmt.Sprintf("lock_waiters{lock=zk:/%d}", i)); has != (i <= min(n, 5)) {
				t.Errorf("with %d series, /%d has one: %v", n, i, has)
			}
		}
	}
}

// Events are counted over all snapshots, and a backend that was read once keeps its count while it is down.
func TestEventsAreCounted(t *testing.T) {
	up := &inspect.Backend{Name: "zk", State: inspect.Connected, FirstPass: true}
	down := &inspect.Backend{Name: "zk", State: inspect.Down}
	away := &inspect.Backend{Name: "away", State: inspect.Down, FirstPass: true}
	unread := &inspect.Backend{Name: "unread", State: inspect.Connected}
	first := inspect.NewSnapshot(noon, []*inspect.Backend{up, away, unread}, nil)
	for _, kind := range []inspect.EventKind{
		inspect.EventAcquired, inspect.EventHandover, inspect.EventReleased, inspect.EventExpired, inspect.EventForced, inspect.EventEnded,
	} {
		first.Events = append(first.Events, inspect.Event{Kind: kind, Lock: inspect.ID{Backend: "zk", Path: "/a"}})
	}
	first.Dropped = 3
	second := inspect.NewSnapshot(noon, []*inspect.Backend{down, away, unread}, nil)
	second.Events, second.Dropped = first.Events[:3], 1
	got := exposed(t, collected(0, first, second))
	for want, has := range map[string]bool{
		"events_dropped_total{} 4\n": true, "grants_total{backend=zk} 4\n": true,
		"holds_ended_total{backend=zk how=released} 2\n": true, "holds_ended_total{backend=zk how=expired} 1\n": true,
		"holds_ended_total{backend=zk how=forced} 1\n": true, "holds_ended_total{backend=zk how=ended} 1\n": true,
		"grants_total{backend=away}": false, "grants_total{backend=unread}": false,
	} {
		if strings.Contains(got, want) != has {
			t.Errorf("%q: %v, in\n%s", want, !has, got)
		}
	}
}

// One backend is down and the other was not reached yet: not everything was read.
func TestNotReadyUntilBackendsAreRead(t *testing.T) {
	gone := &inspect.Backend{Name: "gone", State: inspect.Down}
	c := New(func() time.Time { return noon }, 10)
	must.True(t, !c.Ready(0), "ready before the first snapshot")
	for _, step := range []struct {
		backends []*inspect.Backend
		ready    bool
	}{
		{nil, false},
		{[]*inspect.Backend{gone}, false},
		{[]*inspect.Backend{{Name: "redis", State: inspect.Connected}, gone}, false},
		{[]*inspect.Backend{{Name: "redis", State: inspect.Connected, FirstPass: true}, gone}, true},
	} {
		c.Observe(inspect.NewSnapshot(noon, step.backends, nil))
		must.Equal(t, c.Ready(2), step.ready, len(step.backends), "backends")
	}
}

func TestLongNamesStayApart(t *testing.T) {
	short := strings.Repeat("a", 198) + "é"
	must.Equal(t, label(short), short)
	if got, want := label("a"+short), "a"+short[:198]+"…"; !strings.HasPrefix(got, want) || len(got) != len(want)+16 {
		t.Errorf("%q", got)
	}
	must.True(t, label(short+"1") != label(short+"2"), "two names have one label")
}

func TestEveryMetricIsDocumented(t *testing.T) {
	page := strings.ReplaceAll(string(must.Have(os.ReadFile("../../docs/monitoring.md"))(t)), "`", "")
	for _, d := range descriptions {
		labels := ""
		if len(d.labels) > 0 {
			labels = "; " + strings.Join(d.labels, ", ")
		}
		if line := fmt.Sprintf("- %s (%s%s): %s\n", d.name, d.kind, labels, d.help); !strings.Contains(page, line) {
			t.Errorf("docs/monitoring.md lacks %s", line)
		}
	}
}
