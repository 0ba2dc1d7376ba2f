package widget

import (
	"testing"
	"time"
)

// A column keeps its width while a long name comes and goes, and shrinks once it stays away.
func TestWidestShrinksAfterAWhile(t *testing.T) {
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var w Widest
	for _, step := range []struct {
		after      time.Duration
		need, want int
	}{
		{0, 20, 20},
		{time.Second, 40, 40},
		{2 * time.Second, 20, 40},
		{20 * time.Second, 40, 40},
		{45 * time.Second, 20, 40},
		{50 * time.Second, 20, 20},
		{51 * time.Second, 30, 30},
		{-time.Hour, 10, 10},
	} {
		if got := w.Keep(step.need, start.Add(step.after)); got != step.want {
			t.Errorf("need %d after %v: %d cells, want %d", step.need, step.after, got, step.want)
		}
	}
}

// The number of lines shrinks to the recent maximum.
func TestLinesShrinkToTheLongestSince(t *testing.T) {
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var w Widest
	for _, step := range []struct {
		after      time.Duration
		need, want int
	}{{0, 5, 5}, {2 * time.Second, 1, 5}, {6 * time.Second, 4, 5}, {11 * time.Second, 2, 4}, {22 * time.Second, 2, 2}} {
		if got := len(w.Fill(make([]Line, step.need), 10, start.Add(step.after))); got != step.want {
			t.Errorf("need %d after %v: %d lines, want %d", step.need, step.after, got, step.want)
		}
	}
}
