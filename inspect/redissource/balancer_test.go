package redissource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
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
		cfg := config(&servertest.Redis{Addr: servertest.StartBalancer(t, tt.pick)})
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
				must.True(t, !tt.several || !strings.Contains(f.Advice(), "lockscope release"), name, f.Advice())
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
	cfg := config(masters...)
	cfg.Match = []string{"lock:*"}
	for _, fail := range []func(){func() { masters[0].Restart(t) }, func() { masters[1].Stop(t) }} {
		fail()
		for _, f := range diagnosed(t, cfg).Backends[0].Findings {
			must.True(t, f.Rule != "suspect-target", f.Message)
		}
	}
}
