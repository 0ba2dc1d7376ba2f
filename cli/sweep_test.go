package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// TestSweepIsACommand: it shows what it would delete, and deletes it on request, but nothing if it finds more
// than --max.
func TestSweepIsACommand(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	server.Embedded.SetClock(-48 * time.Hour)
	conn := servertest.ConnectZooKeeper(t, server.Addr, 20*time.Second)
	root := servertest.UniquePath(t)
	for _, node := range []string{"", "/a", "/b", "/a/x", "/b/x", "-", "-/x"} {
		must.Have(conn.Create(root+node, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	}
	for _, node := range []string{"/a/x", "/b/x"} {
		must.Succeed(t, conn.Delete(root+node, -1))
	}
	must.Have(conn.Create(root+"/later", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	state := t.TempDir()
	var j act.SweepJSON
	do := func(code int, args ...string) string {
		t.Helper()
		var stdout, stderr output
		got := Main(t.Context(), append([]string{"sweep", "zk:" + root, "zk://" + server.Addr, "-o", "json"}, args...), app.Environment{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
			Getenv: func(name string) string {
				return map[string]string{"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state}[name]
			},
		})
		j = act.SweepJSON{}
		if err := json.Unmarshal([]byte(stdout.String()), &j); got != code || err != nil {
			t.Fatalf("%v: exit %d, want %d: %v\n%s%s", args, got, code, err, stdout.String(), stderr.String())
		}
		return stderr.String()
	}
	if do(0, "--max", "10", "--dry-run"); j.Found != 0 || j.Recent != 2 { // our clock is two days ahead of the server's
		t.Errorf("%+v", j)
	}
	server.Embedded.SetClock(0) // two days later
	if says := do(0, "--max", "10", "--dry-run"); j.Found != 2 || !j.DryRun || j.Swept != 0 || !strings.Contains(says, root+"/a  made 2d") || !strings.Contains(says, "2 directories of at most 10") {
		t.Errorf("%+v: %s", j, says)
	}
	if do(1, "--max", "1", "--yes"); j.Reason != act.TooMany || j.Swept != 0 {
		t.Errorf("%+v", j)
	}
	if do(1, "--max", "10"); j.Reason != "declined" || j.Swept != 0 {
		t.Errorf("%+v", j)
	}
	if do(0, "--max", "10", "--yes"); j.Swept != 2 || len(j.Items) != 2 || !j.Items[1].Swept {
		t.Errorf("%+v", j)
	}
	for node, stays := range map[string]bool{"": true, "/a": false, "/b": false, "/later": true} {
		if there, _, err := conn.Exists(root + node); err != nil || there != stays {
			t.Errorf("%s: there %v, %v", node, there, err)
		}
	}
	if do(0, "--max", "10", "--yes"); j.Found != 0 {
		t.Errorf("%+v", j)
	}
}

func TestSweepRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	for _, bad := range [][]string{{"--max", "0"}, {"--max", "1001"}, {"--max", "9", "--idle", "1s"}} {
		if got := run(t, append([]string{"sweep", "zk:/x", "zk://" + server.Addr}, bad...)...); got.code != app.ExitUsage {
			t.Errorf("%v: %+v", bad, got)
		}
	}
	if got := run(t, "sweep", "redis:x", "redis://127.0.0.1:1", "--max", "9"); got.code != app.ExitUsage || !strings.Contains(got.stderr, "minority-leftover") {
		t.Errorf("%+v", got)
	}
}
