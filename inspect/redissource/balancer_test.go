package redissource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestSeveralServersBehindOneAddress(t *testing.T) {
	t.Parallel()
	a, b := servertest.StartRedis(t), servertest.StartRedis(t)
	set(t, a, "lock:orders", "web-1", 0)
	set(t, b, "lock:orders", "web-2", 0)
	for name, tt := range map[string]struct {
		pick    func(n int) string
		several bool
	}{
		"alternating":      {func(n int) string { return []string{a.Addr, b.Addr}[n%2] }, true},
		"two each":         {func(n int) string { return []string{a.Addr, b.Addr}[n/2%2] }, true},
		"a failover":       {func(n int) string { return []string{a.Addr, b.Addr}[min(n, 1)] }, false},
		"a later failover": {func(n int) string { return []string{a.Addr, b.Addr}[min(n/4, 1)] }, false},
		"only one server":  {func(int) string { return a.Addr }, false},
	} {
		cfg := config([]*servertest.Redis{{Addr: servertest.StartBalancer(t, tt.pick)}})
		s := diagnosed(t, cfg)
		backend := s.Backends[0]
		found := ""
		for _, f := range backend.Findings {
			found += f.Rule + ": " + f.Message + "\n"
		}
		must.Equal(t, backend.State == inspect.Degraded, tt.several, name, backend.State, backend.Error)
		const says = "suspect-target: several servers answer at this address"
		if strings.Contains(found, says) != tt.several || strings.Contains(backend.Error, "several servers") != tt.several {
			t.Errorf("%s: error %q, findings %q", name, backend.Error, found)
		}
		for l := range s.Locks() {
			for _, f := range l.Findings {
				if strings.Contains(f.Advice(), "lockscope release") && tt.several {
					t.Errorf("%s: advises %s", name, f.Advice())
				}
			}
		}
	}
}

// A restarted server has a new run id. Only ids that alternate mean several servers.
func TestARestartIsNotAnotherServer(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	v, _ := watch(t, config([]*servertest.Redis{m}))
	v.Await("connected", func() bool { return v.Backend != nil && v.Backend.State == inspect.Connected })
	var before string
	peek(v, func() { before = v.Backend.Servers[0].RunID })
	m.Restart(t)
	v.Await("the restarted server", func() bool {
		s := v.Backend.Servers[0]
		return s.RunID != before && s.RunID != "" && v.Backend.State == inspect.Connected
	})
	peek(v, func() {
		if v.Backend.Servers[0].Several {
			t.Error("one restarted server is reported as several")
		}
	})
}

// No action is advised on independent servers that were configured as one Redlock.
func TestServersThatAreNotRedlock(t *testing.T) {
	t.Parallel()
	masters := servertest.StartEmbeddedMasters(t, 3)
	for i := range 9 {
		set(t, masters[i%3], fmt.Sprintf("lock:%d", i), "a", time.Hour)
	}
	for _, m := range masters[:2] {
		set(t, m, "lock:both", "a", time.Hour)
	}
	cfg := config(masters)
	cfg.Match = []string{"lock:*"}
	s := diagnosed(t, cfg)
	if f := s.Backends[0].Findings; len(f) != 1 || f[0].Rule != "suspect-target" {
		t.Errorf("findings of the backend: %+v", f)
	}
	for l := range s.Locks() {
		for _, f := range l.Findings {
			if f.Rule == "minority-leftover" || strings.Contains(f.Advice(), "lockscope release") {
				t.Errorf("%s: %s, %s", l.ID, f.Rule, f.Advice())
			}
		}
	}
}

func TestRedlockMissingMasterIsNotSuspect(t *testing.T) {
	t.Parallel()
	masters := servertest.StartEmbeddedMasters(t, 3)
	for i := range 9 {
		for _, m := range masters {
			set(t, m, fmt.Sprintf("lock:%d", i), "a", time.Hour)
		}
	}
	cfg := config(masters)
	suspect := func(cfg redissource.Config) bool {
		cfg.Match = []string{"lock:*"}
		for _, f := range diagnosed(t, cfg).Backends[0].Findings {
			if f.Rule == "suspect-target" {
				return true
			}
		}
		return false
	}
	masters[0].Restart(t)
	must.True(t, !suspect(cfg), "suspect after one master restarted")
	masters[1].Stop(t)
	must.True(t, !suspect(cfg), "suspect with one master restarted and another down")
}
