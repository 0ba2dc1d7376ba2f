package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A proxy hides some of the servers. The output is printed, and the exit code says that it is
// partial. doctor's findings take precedence.
func TestProxiedViewIsPartial(t *testing.T) {
	t.Parallel()
	var addrs []string
	for _, owner := range []string{"web-1", "web-2"} {
		m := servertest.StartRedis(t) // embedded servers have no run_id
		must.Succeed(t, m.Client(t).Set(t.Context(), "lock:orders", owner, time.Hour).Err())
		addrs = append(addrs, m.Addr)
	}
	turns := func(n int) string { return addrs[n%2] }
	one := func(int) string { return addrs[0] }
	for name, tt := range map[string]struct {
		addr                 string
		looks, doctor, quiet int // exit codes of ls and show, doctor, and doctor --fail-on critical
		says                 string
	}{
		"a balancer of two servers": {servertest.StartBalancer(t, turns), 3, 1, 3, "several servers answer at this address"},
		"a balancer of one server":  {servertest.StartBalancer(t, one), 0, 0, 0, ""},
		"twemproxy":                 {servertest.StartTwemproxy(t, addrs[0]), 3, 3, 3, "proxy"},
	} {
		for command, code := range map[string]int{
			"ls": tt.looks, "show redis:lock:orders": tt.looks, "doctor": tt.doctor, "doctor --fail-on critical": tt.quiet,
		} {
			got := run(t, append(strings.Fields(command), "redis://"+tt.addr)...)
			if got.code != code || !strings.Contains(got.stdout+got.stderr, tt.says) {
				t.Errorf("%s: %s: exit %d, want %d: %s%s", name, command, got.code, code, got.stdout, got.stderr)
			}
		}
	}
}
