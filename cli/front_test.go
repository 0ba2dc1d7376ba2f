package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// What stands before the servers hides a part of them: the answer is printed, and the exit code says that it is partial.
func TestAPartialViewIsExitThree(t *testing.T) {
	t.Parallel()
	var addrs []string
	for _, owner := range []string{"web-1", "web-2"} {
		m := servertest.StartRedis(t) // an embedded one has no run_id
		if err := m.Client(t).Set(t.Context(), "lock:orders", owner, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, m.Addr)
	}
	turns := func(n int) string { return addrs[n%2] }
	one := func(int) string { return addrs[0] }
	for name, tt := range map[string]struct {
		addr    string
		code    int
		partial int // with --allow-partial
		says    string
	}{
		"a balancer of two servers": {servertest.StartBalancer(t, turns), 3, 1, "several servers answer at this address"},
		"a balancer of one server":  {servertest.StartBalancer(t, one), 0, 0, ""},
		"twemproxy":                 {servertest.StartTwemproxy(t, addrs[0]), 3, 3, "proxy"},
	} {
		for _, command := range []string{"ls", "doctor", "show redis:lock:orders"} {
			words := append(strings.Fields(command), "redis://"+tt.addr)
			got := run(t, words...)
			if got.code != tt.code || tt.code != 0 && !strings.Contains(got.stderr, tt.says) {
				t.Errorf("%s: %s: exit %d, want %d: %s", name, command, got.code, tt.code, got.stderr)
			}
		}
		if got := run(t, "doctor", "--allow-partial", "redis://"+tt.addr); got.code != tt.partial {
			t.Errorf("%s: exit %d with --allow-partial, want %d: %s", name, got.code, tt.partial, got.stderr)
		}
	}
}
