package redissource

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// A slow clock reading stays inexact, even if the server answers other requests quickly.
func TestSlowClockReadingStaysInexact(t *testing.T) {
	p := &masterState{}
	p.setStatus(node.Status{Server: inspect.Server{ClockOffset: -1400 * time.Millisecond, ClockKnown: true, ClockWithin: 1400 * time.Millisecond}})
	p.answered(time.Millisecond)
	if s := p.server; !s.ClockKnown || s.ClockWithin != 1400*time.Millisecond || s.Latency != time.Millisecond {
		t.Errorf("%+v", s)
	}
}

// Cost.Quickest is the latency of a slowed master, else of the slowest one.
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
		w.masters[0].pace.Add(20 * time.Millisecond) // four times as slow as at the start
	}
	w.masters[1].pace.Quickest = 40 * time.Millisecond
	if c := w.describe().Cost; !c.Slowed || c.Quickest != 20*time.Millisecond || c.StartQuickest != 5*time.Millisecond {
		t.Errorf("slowed: %v, %v, at the start %v", c.Slowed, c.Quickest, c.StartQuickest)
	}
}
