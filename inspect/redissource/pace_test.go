package redissource

import (
	"testing"
	"time"
)

func TestPaceNoticesASlowServerAndItsRecovery(t *testing.T) {
	var p pace
	add := func(n int, took time.Duration) {
		for range n {
			p.add(took, 1)
		}
	}
	add(64, 2*time.Millisecond)
	add(640, 5*time.Millisecond)
	if p.slow {
		t.Error("slow at less than three times its start")
	}
	add(16, 7*time.Millisecond)
	if !p.slow {
		t.Error("not slow at more than three times its start")
	}
	add(80, 2*time.Millisecond)
	if p.slow {
		t.Error("still slow")
	}
	p.add(2*time.Millisecond+1000*perKey, 1000) // a large batch
	add(15, 2*time.Millisecond)
	if p.slow {
		t.Error("a large batch is no slow server")
	}
}
