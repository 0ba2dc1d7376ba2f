package cli

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestLsFilters: ls lists what the screen's filter shows: the end of a token finds its lock among those of
// one library; what matches nothing, and what cannot be read, is said.
func TestLsFilters(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	target := "redis://" + server.Addr
	redisDo(t, server.Addr, "SET", "lock:a", "c2FmZQ-9f3a", "PX", "600000")
	redisDo(t, server.Addr, "SET", "lock:b", "c2FmZQ-77aa", "PX", "600000")
	for _, output := range []string{"table", "wide", "json", "csv"} {
		got := run(t, "ls", target, "--filter", "token=9F3A held", "-o", output)
		if got.code != 0 || !strings.Contains(got.stdout, "redis:lock:a") || strings.Contains(got.stdout, "lock:b") {
			t.Errorf("%s: %+v", output, got)
		}
	}
	if got := run(t, "ls", target, "--filter", "token=9f"); got.code != 0 || !strings.Contains(got.stderr+got.stdout, "none of 2 locks matches") {
		t.Errorf("not its end: %+v", got)
	}
	if got := run(t, "ls", target, "--filter", "colour=red"); got.code != app.ExitUsage || !strings.Contains(got.stderr, "no field") {
		t.Errorf("%+v", got)
	}
}
