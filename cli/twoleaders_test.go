package cli

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
)

// Curator's leaders do not notice that they were forced out: doctor and ls say so until they are restarted.
func TestAForcedCuratorLeaderLeadsOn(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	peer, root := servertest.StartCurator(t, server.Addr), servertest.UniquePath(t)
	peer.Send(t, "latch", "a", root+"/orders", "host-a")
	peer.Expect(t, "acquired latch a "+root+"/orders host-a")
	peer.Send(t, "latch", "b", root+"/orders", "host-b")
	target := "zk://" + server.Addr + root + "?admin=" + server.Admin
	lock := "zk:" + root + "/orders"
	home := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	in := func(args ...string) outcome { return runIn(t, t.Context(), home, args...) }
	await(t, "both candidates", func(o outcome) bool { return strings.Count(o.stdout, `"sequence"`) == 2 }, "ls", "-o", "json", target)
	leader := parse(t, in("ls", "-o", "json", target).stdout).lock(t, lock).Holders[0].Name

	got := in("release", lock, target, "--owner", leader, "--yes", "-o", "json")
	if got.code != 1 || !strings.Contains(got.stdout, `"reason": "two-leaders"`) || !strings.Contains(got.stderr, "would lead next to host-b") ||
		!strings.Contains(got.stderr, "Restart it instead") || !strings.Contains(got.stderr, "--yes-two-leaders") {
		t.Fatalf("refused: %+v", got)
	}
	if got := in("doctor", target); got.code != 0 {
		t.Errorf("before: %+v", got)
	}
	if got := in("release", lock, target, "--owner", leader, "--yes", "--yes-two-leaders"); got.code != 0 {
		t.Fatalf("allowed: %+v", got)
	}
	peer.Expect(t, "acquired latch b "+root+"/orders host-b")
	if got := in("doctor", target); got.code != 1 || !strings.Contains(got.stdout, "two-leaders") || !strings.Contains(got.stdout, "restart that client") {
		t.Errorf("both lead: %+v", got)
	}
	if got := in("ls", "-o", "wide", target); !strings.Contains(got.stdout, "two-leaders") {
		t.Errorf("both lead: %+v", got)
	}
	peer.Send(t, "close", "a")
	await(t, "its session's end", func(outcome) bool { return in("doctor", target).code == 0 }, "version")
}
