package redissource

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"lockscope/inspect/internal/sourcekit"
)

// info is a status of an INFO of some lines.
func info(lines ...string) (st status) {
	st.readInfo("# Section\r\n"+strings.Join(lines, "\r\n")+"\r\n", noon)
	return st
}

func TestReadInfoTakesWhatItKnows(t *testing.T) {
	st := info("run_id:"+strings.Repeat("a1", 20), "uptime_in_seconds:60", "maxmemory:1048576", "maxmemory_policy:allkeys-lru", "role:slave", "aof_enabled:1")
	if st.runID != strings.Repeat("a1", 20) || !st.startedAt.Equal(noon.Add(-time.Minute)) || st.maxMemory != 1<<20 ||
		st.evictionPolicy != "allkeys-lru" || st.role != "replica" || st.persistence != "aof" {
		t.Errorf("%+v", st)
	}
	if st := info("run_id:\x1b[31m", "uptime_in_seconds:-1", "maxmemory:many", "maxmemory_policy:ALL keys", "role:king"); st.runID != "" ||
		!st.startedAt.IsZero() || st.maxMemory != 0 || st.evictionPolicy != "" || st.role != "" || st.persistence != "" {
		t.Errorf("text that is no fact: %+v", st)
	}
	for want, lines := range map[string][]string{
		"":    {"aof_enabled:0", "rdb_last_bgsave_time_sec:-1", "rdb_saves:0"}, // none so far: that says nothing of the next
		"rdb": {"aof_enabled:0", "rdb_last_bgsave_time_sec:0", "rdb_saves:0"},
	} {
		if got := info(lines...).persistence; got != want {
			t.Errorf("%v: %q", lines, got)
		}
	}
}

func TestABrokenConnectionIsCalledThat(t *testing.T) {
	m := &master{addr: "10.0.0.1:6379"}
	err := m.explain(fmt.Errorf("read: %w", io.EOF))
	if err.Error() != "master 10.0.0.1:6379: connection lost" || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// A clock stays as inexact as its reading was slow, however fast the server answers other questions.
func TestAClockIsAsExactAsItsReading(t *testing.T) {
	p := &masterState{}
	p.setStatus(status{offset: -1400 * time.Millisecond, offsetKnown: true, latency: 2800 * time.Millisecond})
	p.answered(time.Millisecond)
	if s := p.server; !s.ClockKnown || s.ClockWithin != 1400*time.Millisecond || s.Latency != time.Millisecond {
		t.Errorf("%+v", s)
	}
}

// INFO has the replicas that are connected, and min_slaves_good_slaves only where min-replicas-to-write is set.
func TestReplicasOfAMaster(t *testing.T) {
	for _, tt := range []struct {
		info     string
		replicas int
		needs    bool
	}{
		{"role:master\r\nconnected_slaves:2\r\n", 2, false},
		{"role:master\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:1\r\n", 2, true},
		{"role:master\r\nconnected_slaves:-1\r\n", 0, false},
		{"role:master\r\nconnected_slaves:many\r\n", 0, false},
	} {
		var st status
		st.readInfo(tt.info, noon)
		if st.replicas != tt.replicas || st.needsReplicas != tt.needs {
			t.Errorf("%q: %d, %v", tt.info, st.replicas, st.needsReplicas)
		}
	}
}

// The backend has the quickest of our last requests to the slowest master.
func TestQuickestRequestsAreReported(t *testing.T) {
	w := newWatchedRun(t)
	for i, p := range w.masters {
		p.pace = sourcekit.Pace{}
		for range 80 {
			p.pace.Add(time.Duration(5+i) * time.Millisecond)
		}
	}
	if c := w.describe().Cost; c.Quickest != 6*time.Millisecond || c.StartQuickest != 6*time.Millisecond {
		t.Errorf("%v, at the start %v", c.Quickest, c.StartQuickest)
	}
	for range 80 {
		w.masters[0].pace.Add(20 * time.Millisecond) // four times that of the start
	}
	w.masters[1].pace.Quickest = 40 * time.Millisecond
	if c := w.describe().Cost; !c.Slowed || c.Quickest != 20*time.Millisecond || c.StartQuickest != 5*time.Millisecond {
		t.Errorf("of one that is slowed: %v, %v, at the start %v", c.Slowed, c.Quickest, c.StartQuickest)
	}
}
