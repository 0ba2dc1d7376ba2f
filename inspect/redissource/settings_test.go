package redissource

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestBudgetDefaults(t *testing.T) {
	const rest = "2s 250 50 35 20 5000 500000} 250ms 1s"
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"watching":             {want: "{false 0.05 0 " + rest},
		"one pass":             {cfg: Config{Once: true}, want: "{false 0.25 1000 " + rest},
		"without pauses":       {cfg: Config{Budget: Budget{Unlimited: true}}, want: "{true 0.05 1000 " + rest},
		"configured":           {cfg: Config{Budget: Budget{ScanCount: 7, Duty: 1}}, want: "{false 1 7 " + rest},
		"configured, one pass": {cfg: Config{Once: true, Budget: Budget{ScanCount: 7}}, want: "{false 0.25 7 " + rest},
		"above the maximum":    {cfg: Config{Budget: Budget{ScanCount: 5000, Duty: 1.5}}, want: "{false 0.05 1000 " + rest},
		"all configured": {
			cfg:  Config{Tick: 9, Timeout: 10, Budget: Budget{true, 0.5, 1, 2, 3, 4, 5, 6, 7, 8}},
			want: "{true 0.5 1 2ns 3 4 5 6 7 8} 9ns 10ns",
		},
	} {
		cfg := tt.cfg.withDefaults()
		must.Equal(t, fmt.Sprint(cfg.Budget, cfg.Tick, cfg.Timeout), tt.want, name)
		must.Equal(t, cfg.scanLimits().Count, cfg.Budget.ScanCount, name, "keys of one SCAN")
	}
	cfg := New(Config{Only: "lock:a", Once: true}).settings()
	must.Equal(t, fmt.Sprint(cfg.Timeout, cfg.Named, cfg.Patient), "1slock:atrue", "settings of requests")
	must.True(t, time.Since(cfg.Now()).Abs() < time.Minute, "the clock is wrong")
	limits := New(Config{}).cfg.scanLimits()
	must.Equal(t, fmt.Sprint(limits), "{false 0.05 0 500000}", "limits of SCAN")
}

func TestMastersAreNamed(t *testing.T) {
	cfg := Config{Addrs: []string{"first"}, Masters: []*redis.UniversalOptions{
		{Addrs: []string{"a:1"}}, {Addrs: []string{"b:1", "c:1"}, MasterName: "orders"}, {Addrs: []string{"d:1"}}, {},
	}}
	var names []string
	for _, m := range New(cfg).masters() {
		names = append(names, m.Address())
	}
	must.Same(t, names, []string{"first", "orders", "d:1", "127.0.0.1:6379"}, "names")
}

func TestTopologyFollowsClusterSlots(t *testing.T) {
	nodes := func(addrs ...string) (list []redis.ClusterNode) {
		for _, addr := range addrs {
			list = append(list, redis.ClusterNode{Addr: addr})
		}
		return list
	}
	said := []redis.ClusterSlot{
		{Start: 0, End: 99, Nodes: nodes("b:1", "r:2")},
		{Start: 100, End: 199},
		{Start: 201, End: 20_000, Nodes: nodes(":7", "r:1", "r:2")},
	}
	top := newTopology(said, "10.0.0.1:6379")
	must.Same(t, top.masters, []string{"10.0.0.1:7", "b:1"}, "masters")
	must.Same(t, top.replicas, []string{"r:1", "r:2"}, "replicas")
	for slot, owner := range map[int]int16{0: 1, 99: 1, 100: -1, 200: -1, 201: 0, 6035: 0, 16_383: 0} {
		must.Equal(t, top.owner[slot], owner, "owner of slot", slot)
	}
	must.Equal(t, top.ownerOf("lock:a"), 0, "owner of a key")
	unserved := testTable(1)
	unserved.topology = newTopology(nil, "")
	unserved.add("lock:a", noon)
	must.Equal(t, unserved.entries["lock:a"].votes[0].Error, "no node of the cluster serves slot 6035")
	other := *top
	other.owner[0] = 0
	must.True(t, top.sameNodes(&other), "a moved slot is not a new node")
	other.replicas = nil
	must.True(t, !top.sameNodes(&other), "a lost replica is not noticed")
	other = *top
	other.masters = top.masters[1:]
	must.True(t, !top.sameNodes(&other), "a lost master is not noticed")
}

// Cost.Quickest is the latency of a slowed master, else of the slowest one. A slow master is polled
// and read half as often.
func TestQuickestRequestsAreReported(t *testing.T) {
	s := New(testConfig(2))
	r := s.newRun(t.Context(), func(inspect.Update) {}, s.masters())
	for i, p := range r.masters {
		p.pace = sourcekit.Pace{}
		for range 80 {
			p.pace.Add(time.Duration(5+i) * time.Millisecond)
		}
	}
	if c := r.describe().Cost; c.Slowed || c.Quickest != 6*time.Millisecond || c.StartQuickest != 6*time.Millisecond {
		t.Errorf("%v, at the start %v", c.Quickest, c.StartQuickest)
	}
	slow := r.masters[0]
	must.Equal(t, fmt.Sprint(r.limitOf(slow), r.pollsOf(slow)), "{20ms 500} {28.571428ms 35}", "limits")
	for range 80 {
		slow.pace.Add(20 * time.Millisecond) // four times as slow as at the start
	}
	must.Equal(t, fmt.Sprint(r.limitOf(slow), r.pollsOf(slow)), "{40ms 250} {57.142856ms 18}", "limits while slow")
	r.masters[1].pace.Quickest = 40 * time.Millisecond
	if c := r.describe().Cost; !c.Slowed || c.Quickest != 20*time.Millisecond || c.StartQuickest != 5*time.Millisecond {
		t.Errorf("slowed: %v, %v, at the start %v", c.Slowed, c.Quickest, c.StartQuickest)
	}
}

// A source asks which of many keys are missing.
func TestMissingKeysAreFound(t *testing.T) {
	server := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, server.Mini.Set("lock:a", "x"))
	cfg := testConfig(1)
	cfg.Masters[0].Addrs[0] = server.Addr
	s := New(cfg)
	r := s.newRun(t.Context(), func(inspect.Update) {}, s.masters())
	defer r.masters[0].Close()
	gone, err := r.gone(r.masters[0], []string{"lock:a", "lock:b"})
	must.Same(t, gone, []string{"lock:b"}, "missing")
	must.Succeed(t, err)
}
