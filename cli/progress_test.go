package cli

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A silent server makes a read slow. Its progress is shown on a terminal only.
func TestProgressShowsOnlyOnTerminals(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	silent := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	fast := servertest.StartEmbeddedRedis(t)
	fast.Mini.Set("lock:a", "x")
	args := []string{"ls", "-o", "json", "--timeout", "2500ms", fmt.Sprintf("zk://%s", silent.Addr()), "redis://" + fast.Addr}
	r := inTerminal(t, 60, 100, args...)
	r.awaitText("so far (")
	got := run(t, args...)
	must.Equal(t, r.exit(), 3, "exit code")
	if s := r.text(); strings.Contains(s, "so far") || !strings.Contains(s, "lock:a") {
		t.Errorf("left on the screen:\n%s", s)
	}
	if strings.Contains(got.stderr, "so far") || strings.Contains(got.stderr, "\r") {
		t.Errorf("without a terminal: %q", got.stderr)
	}
}
