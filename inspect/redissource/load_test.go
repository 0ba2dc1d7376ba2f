package redissource_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// sum counts the commands that a server has executed.
func sum(t *testing.T, m *servertest.Redis) int {
	t.Helper()
	n := 0
	for _, calls := range commands(t, m.Client(t)) {
		n += calls
	}
	return n
}

func TestIdleLocksArePolledWithinBudget(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c, ctx := m.Client(t), context.Background()
	for i := range 1000 {
		must.Succeed(t, c.Set(ctx, fmt.Sprintf("lock:%d", i), "x", 0).Err())
	}
	cfg := viewed(t, m, "-client|tracking")
	cfg.Tick, cfg.Budget.ScanEvery, cfg.Budget.Duty = 0, 0, 0 // the defaults
	s := redissource.New(cfg)
	v := sourcetest.Watch(t, s)
	v.Await("1000 locks", func() bool { return len(v.Locks) == 1000 && v.Backend != nil && v.Backend.FirstPass })
	must.True(t, v.Locks["lock:7"].Polled, "the lock is not marked as polled")
	s.Focus([]inspect.ID{{Backend: "redis", Path: "lock:7"}})
	before, shown, start := sum(t, m), v.Backend.Cost.Requests, time.Now()
	v.Await("five seconds of updates", func() bool { return time.Since(start) >= 5*time.Second })
	took := time.Since(start).Seconds()
	rate := float64(sum(t, m)-before-1) / took
	if rate > 50 || rate < 10 {
		t.Errorf("%.1f commands a second, want 10 to 50", rate)
	}
	v.Await("the requests in the cost", func() bool { return float64(v.Backend.Cost.Requests-shown) >= rate*took*0.9 })
	counted := sum(t, m) - before
	v.Peek(func() {
		cost, server := v.Backend.Cost, v.Backend.Servers[0]
		if said := cost.Requests - shown; float64(said) > float64(counted)*1.3 {
			t.Errorf("reported %d requests, the server counted %d", said, counted)
		}
		if server.Requests != cost.Requests || server.PerSecond <= 0 || cost.Limit != 50 {
			t.Errorf("cost %+v, server %+v", cost, server)
		}
		if age := time.Since(v.Locks["lock:7"].ReadAt); age > 12*time.Second {
			t.Errorf("the focused lock was read %v ago", age)
		}
	})
	must.Succeed(t, c.Del(ctx, "lock:500", "lock:501").Err())
	deleted := time.Now()
	v.Await("deletions out of focus", func() bool {
		return inState(v, "lock:500", inspect.StateFree)() && inState(v, "lock:501", inspect.StateFree)()
	})
	if took := time.Since(deleted); took > 30*time.Second {
		t.Errorf("deletions out of focus were seen after %v", took)
	}
	must.Succeed(t, c.Set(ctx, "lock:7", "y", 0).Err())
	changed := time.Now()
	v.Await("a change in focus", heldBy(v, "lock:7", "y"))
	if took := time.Since(changed); took > 12*time.Second {
		t.Errorf("a change in focus was seen after %v", took)
	}
}

func TestEveryCommandIsCounted(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	cfg := writeAll(t, m)
	before := sum(t, m)
	b := once(t, cfg).Backend
	after := sum(t, m) - 2 // without sum's own HELLO and INFO
	must.Equal(t, uint64(after-before), b.Cost.Requests, "commands counted by the server")
}
