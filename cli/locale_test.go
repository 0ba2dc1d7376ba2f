package cli

import (
	"os/exec"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A terminal that cannot redraw is refused with the alternative.
func TestDumbTerminalSuggestsLinearMode(t *testing.T) {
	t.Parallel()
	path := must.Have(program())(t)
	server := servertest.StartEmbeddedRedis(t)
	cmd := exec.Command("env", "TERM=dumb", path, "redis://"+server.Addr)
	r := startInTerminal(t, 80, 24, cmd)
	r.awaitText("TERM=dumb", "--linear")
	must.Equal(t, r.exit(), app.ExitUsage, "exit code")
}
