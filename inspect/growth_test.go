package inspect

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A lock may disappear while its watch table is read.
func TestVanishedLockDropsItsWatchTable(t *testing.T) {
	a := applying(t)
	there := queueOf(t, "11 12")
	a.send(0, Update{Put: []*Lock{there}, Backend: zkUp})
	p := a.byName["zk"]
	for i := range 100 {
		gone := queueAt(t, fmt.Sprint("/l", i), "11 12")
		a.send(i, Update{Put: []*Lock{gone}})
		a.send(i, Update{Gone: []ID{gone.ID}})
		a.send(i, Update{Watches: &WatchTable{Backend: "zk", Covers: []ID{gone.ID, there.ID}}})
	}
	must.True(t, len(p.covered) == 1 && p.covered[there.ID] != nil, len(p.covered), "tables left")
	a.send(200, Update{Gone: []ID{there.ID}})
	must.Equal(t, len(p.covered), 0, "tables left without a lock")
}

// The end of a holder that we forced out may never be seen, so its entry expires.
func TestForcedReleasesAreForgotten(t *testing.T) {
	a := applying(t)
	for i := range 1000 {
		a.at = now.Add(time.Duration(i) * time.Second)
		a.Forced(ID{"zk", fmt.Sprint("/locks/", i)}, "lock-0000000001")
		a.Expired("zk", int64(i))
	}
	must.True(t, len(a.forced) <= 11 && len(a.ended) <= 11, len(a.forced), "holders and", len(a.ended), "sessions")
}

// Locks that come and go under new names leave little more than their name, which counts towards
// the budget.
func TestBudgetIncludesPastNames(t *testing.T) {
	const budget = 1 << 20
	name := strings.Repeat("x", 2000)
	p := NewPast(0, time.Second, budget)
	start := heap()
	for i := range 20_000 {
		one := &Lock{ID: ID{"zk", fmt.Sprint("/locks/", name, i)}}
		p.Add(NewSnapshot(now.Add(time.Duration(i)*2*time.Second), nil, []*Lock{one}))
	}
	taken := int(heap() - start)
	must.True(t, taken <= 4*budget, taken, "bytes used")
	must.True(t, len(p.locks) >= 100, "only", len(p.locks), "locks are kept")
	expectBytes(t, p, budget)
	runtime.KeepAlive(p)
}

// Servers keep appearing under new addresses. Only some of the former ones are remembered.
func TestGoneServersAreEventuallyForgotten(t *testing.T) {
	var k cluster
	for i := range 10_000 {
		k.changed(redisAt(fmt.Sprintf("10.0.%d.%d:6379", i/250, i%250), "one"), now)
	}
	must.True(t, len(k.runs) <= 1001, len(k.runs), "remembered")
	last := redisAt("10.0.39.249:6379", "two")
	last.Servers[0].StartedAt = now
	events := k.changed(last, now)
	must.Equal(t, len(events), 1, "events")
	must.Equal(t, events[0].Change.What, Restarted)
}

func redisAt(addr, id string) *Backend {
	return &Backend{Name: "redis", Kind: Redis, State: Connected, Servers: []Server{{Addr: addr, RunID: id}}}
}
