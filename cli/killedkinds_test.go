//go:build unix

package cli

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"lockscope/internal/servertest"
)

// Of those that hold and wait for ZooKeeper's other kinds, and are killed, no znode and no watch is left after the session's timeout.
func TestTheKilledLeaveNothingInZooKeeper(t *testing.T) {
	t.Parallel()
	server, master := servertest.StartZooKeeper(t), servertest.StartRedis(t)
	target := "zk://" + server.Addr
	var running []*exec.Cmd
	for _, kind := range []string{"read", "write", "semaphore=1"} {
		path := "zk:/" + strings.TrimSuffix(kind, "=1")
		for _, says := range []string{"holding", "waiting"} {
			second := kind
			if kind == "read" && says == "waiting" {
				second = "write" // two readers hold together
			}
			cmd, lines := started(t, "acquire", path, target, "--kind", second)
			awaitLine(t, lines, says)
			running = append(running, cmd)
		}
	}
	if b := burdenOf(t, server, master); b.nodes < 6 || b.watches < 3 {
		t.Errorf("%+v", b)
	}
	for _, cmd := range running {
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	awaitBurden(t, server, master, "nothing", func(b burden) bool { return b == burden{} })
}
