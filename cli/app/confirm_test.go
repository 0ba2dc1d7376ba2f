package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

func TestTransientFindingsGetSecondLook(t *testing.T) {
	t.Parallel()
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	found := func(rules ...string) *inspect.Snapshot {
		l := &inspect.Lock{ID: id}
		for _, r := range rules {
			l.Findings = append(l.Findings, inspect.Finding{Rule: r})
		}
		return inspect.NewSnapshot(time.Time{}, nil, []*inspect.Lock{l})
	}
	for name, c := range map[string]struct {
		looks        []*inspect.Snapshot
		want, looked int
	}{
		"nothing that passes": {[]*inspect.Snapshot{found("no-ttl")}, 1, 1},
		"it lasts":            {[]*inspect.Snapshot{found("thin-margin"), found("thin-margin")}, 1, 2},
		"it was halfway":      {[]*inspect.Snapshot{found("thin-margin"), found()}, 0, 2},
		"another halfway":     {[]*inspect.Snapshot{found("missing-watch"), found("thin-margin")}, 0, 2},
		"found only then":     {[]*inspect.Snapshot{found("thin-margin"), found("no-ttl")}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			looked := 0
			s, err := LookTwice(t.Context(), func(*inspect.Snapshot) (*inspect.Snapshot, error) { looked++; return c.looks[looked-1], nil }, 0)
			if err != nil || looked != c.looked || len(s.Lock(id).Findings) != c.want {
				t.Errorf("%v; read %d times, found %+v", err, looked, s.Lock(id).Findings)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LookTwice(ctx, func(*inspect.Snapshot) (*inspect.Snapshot, error) { return found("thin-margin"), nil }, inspect.SettleFor*3600); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted between two reads: %v", err)
	}
}
