package app

import (
	"context"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
)

// LookTwice reads the targets, and again a moment later if a finding may be only half of a change.
// The second look decides.
func LookTwice(
	ctx context.Context, look func(before *inspect.Snapshot) (*inspect.Snapshot, error), wait time.Duration,
) (*inspect.Snapshot, error) {
	first, err := look(nil)
	if err != nil || !mayPass(first) {
		return first, err
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	second, err := look(first)
	if err != nil {
		return nil, err
	}
	return second.Lasting(first, finding.Passing), nil
}

// mayPass reports whether a finding may be gone a moment later.
func mayPass(s *inspect.Snapshot) bool {
	if len(s.Cycles()) > 0 {
		return true
	}
	for l := range s.Locks() {
		if slices.ContainsFunc(l.Findings, func(f inspect.Finding) bool { return finding.Passing(f.Rule) }) {
			return true
		}
	}
	return false
}
