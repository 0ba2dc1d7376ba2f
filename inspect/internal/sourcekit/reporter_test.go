package sourcekit

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

func TestReporterDelaysFiguresButNotNews(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	backend := func(state inspect.BackendState, requests uint64, latency time.Duration) *inspect.Backend {
		return &inspect.Backend{
			State: state, Cost: inspect.Cost{Requests: requests}, Servers: []inspect.Server{{Addr: "a", Latency: latency}},
		}
	}
	var reporter Reporter
	for _, tt := range []struct {
		after    time.Duration
		b        *inspect.Backend
		reported bool
	}{
		{0, backend(inspect.Connected, 0, time.Millisecond), true},
		{100 * time.Millisecond, backend(inspect.Connected, 1, 90*time.Millisecond), false},
		{200 * time.Millisecond, backend(inspect.Down, 1, time.Millisecond), true},
		{300 * time.Millisecond, backend(inspect.Connected, 1, time.Millisecond), true},
		{1500 * time.Millisecond, backend(inspect.Connected, 2, 90*time.Millisecond), true}, // slower by far
		{3000 * time.Millisecond, backend(inspect.Connected, 3, 91*time.Millisecond), false},
		{4000 * time.Millisecond, backend(inspect.Connected, 500, 91*time.Millisecond), true},   // a higher rate
		{14100 * time.Millisecond, backend(inspect.Connected, 1700, 91*time.Millisecond), true}, // the slow beat
	} {
		if got := reporter.Report(start.Add(tt.after), tt.b, false); (got != nil) != tt.reported {
			t.Errorf("after %v reported: %v, want %v", tt.after, got != nil, tt.reported)
		}
	}
	refusing := backend(inspect.Connected, 1700, 91*time.Millisecond)
	refusing.Servers[0].WritesRefused = inspect.RefusedForSave
	if reporter.Report(start.Add(14200*time.Millisecond), refusing, false) == nil {
		t.Error("a server that refuses writes is not reported at once")
	}
	if rate := reporter.Last.Cost.PerSecond; rate < 100 || rate > 150 {
		t.Errorf("rate %v", rate)
	}
}

func TestFocusKeepsNewestForBackend(t *testing.T) {
	f := NewFocus()
	f.Set("zk", []inspect.ID{{Backend: "zk", Path: "/old"}})
	f.Set("zk", []inspect.ID{{Backend: "zk", Path: "/new"}, {Backend: "redis", Path: "key"}})
	if got := <-f; len(got) != 1 || !got["/new"] {
		t.Errorf("focus %v", got)
	}
}
