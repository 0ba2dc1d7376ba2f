package cli

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
)

func TestDoctorOnServers(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		peer := servertest.StartKazoo(t, server.Addr, root+"/orders", "worker")
		peer.Expect(t, "acquired")
		target := "zk://" + server.Addr + root + "?admin=" + server.Admin
		if got := run(t, "doctor", target); got.code != 0 || !strings.HasPrefix(got.stdout, "no problems found in 1 lock") {
			t.Errorf("a healthy lock: %+v", got)
		}
		got := run(t, "doctor", target, "-o", "json")
		if l := parse(t, got.stdout).lock(t, "zk:"+root+"/orders"); got.code != 0 || l.State != "held" {
			t.Errorf("json: %+v", got)
		}
	})
	if got := run(t, "doctor", "zk://127.0.0.1:1", "--timeout", "1s"); got.code != 3 || !strings.HasPrefix(got.stdout, "nothing could be seen\n") {
		t.Errorf("no server: %+v", got)
	}
	if got := run(t, "doctor", "zk://127.0.0.1:1", "--fail-on", "bad"); got.code != 2 {
		t.Errorf("an unknown severity: %+v", got)
	}
}
