package app

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/sandbox"
)

// The budget gentle has lower limits than the default while watching, and others for one pass.
func TestGentleBudgetHasLowerLimits(t *testing.T) {
	t.Parallel()
	box := must.Have(sandbox.Start("fair", 1))(t)
	defer box.Close()
	targets := must.Have(connect.ParseTargets(box.Targets()))(t)
	usual, gentle := costs(t, targets, "default"), costs(t, targets, "gentle")
	must.Equal(t, len(usual), 2, "backends: ZooKeeper and Redis")
	for name, u := range usual {
		g := gentle[name]
		limits := map[string][2]float64{
			"requests": {u.Limit, g.Limit}, "items": {u.ItemLimit, g.ItemLimit}, "bytes": {u.ByteLimit, g.ByteLimit},
			"share of the time": {u.Duty, g.Duty},
		}
		for what, l := range limits {
			usual, gentle := l[0], l[1]
			unlimited := usual == 0 && gentle == 0 // a backend of this kind has no such limit
			must.True(t, unlimited || gentle < usual, name, what, usual, "gentle", gentle)
		}
		must.True(t, u.Limit != 0, name, "has no limit:", u)
	}
	for _, once := range []bool{false, true} {
		a, g := App{Options: Options{Budget: "default"}}, App{Options: Options{Budget: "gentle"}}
		if a.zkBudget(once) == g.zkBudget(once) || a.redisBudget(once) == g.redisBudget(once) {
			t.Errorf("once=%v: gentle changes nothing", once)
		}
	}
}

// costs watches the targets until the first pass is complete and returns each backend's cost.
func costs(t *testing.T, targets []connect.Target, budget string) map[string]inspect.Cost {
	t.Helper()
	a := &App{
		Environment: Environment{Now: time.Now, Getenv: func(string) string { return t.TempDir() }},
		Options:     Options{Timeout: 10 * time.Second, StuckAfter: time.Minute, Budget: budget},
	}
	observer := must.Have(a.Observer(Setup{Targets: targets, Named: true}, false, ""))(t)
	feed := observer.Subscribe()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() { done <- observer.Run(ctx) }()
	defer func() {
		stop()
		<-done
	}()
	for {
		s, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("%s: the first pass never ended: %v", budget, err)
		}
		found := map[string]inspect.Cost{}
		for _, b := range s.Backends {
			if b.FirstPass && b.State == inspect.Connected {
				found[b.Name] = b.Cost
			}
		}
		if len(found) == len(targets) {
			return found
		}
	}
}
