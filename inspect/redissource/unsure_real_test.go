package redissource_test

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// How a key ended is unknown on a master with limited memory, which may have evicted it.
func TestEndOnEvictingMasterIsUncertain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules  string
		before string
		end    string
		sure   bool
	}{
		"evicted":                 {end: "CONFIG SET maxmemory 1"},
		"deleted":                 {end: "DEL lock:a"},
		"deleted, polled":         {rules: "-client", end: "DEL lock:a"},
		"deleted, without expiry": {before: "SET lock:a y", end: "DEL lock:a", sure: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := servertest.StartRedis(t, "--maxmemory-policy", "volatile-ttl", "--maxmemory", "100mb")
			set(t, m, "lock:a", "x", time.Hour)
			cfg := pushConfig(m)
			cfg.Masters = viewed(t, m, tt.rules).Masters
			cfg.Tick = 20 * time.Millisecond // for the case that is polled
			v := watch(t, cfg)
			v.Await("the memory limit", func() bool {
				return v.Backend != nil && len(v.Backend.Servers) == 1 && v.Backend.Servers[0].Evicts() &&
					(v.Backend.Mode == inspect.ModePush) == (tt.rules == "")
			})
			v.Await("held", holder(v, "lock:a", "x"))
			if tt.before != "" {
				run(t, m.Client(t), tt.before)
				v.Await("held again", holder(v, "lock:a", "y"))
			}
			run(t, m.Client(t), tt.end)
			v.Await("gone", state(v, "lock:a", inspect.StateFree))
			v.Peek(func() { must.Equal(t, v.Locks["lock:a"].Masters[0].Unsure, !tt.sure, "unsure") })
		})
	}
}
