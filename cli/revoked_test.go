package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
)

// lockStates matches the samples of locks in each state that are any.
var lockStates = regexp.MustCompile(`lockscope_locks\{[^}]*state="(\w+)"\} [1-9]`)

// ZooKeeper does not tell an open session of a list without it: an exporter goes on by its watches until it reads anew, and then the lock is
// unknown, neither held as before nor free.
func TestAnExporterFindsThatItsRightsWereTaken(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	server := servertest.StartZooKeeper(t)
	app, _, err := zk.Connect([]string{server.Addr}, 30*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if err := app.AddAuth("digest", []byte("app:s")); err != nil {
		t.Fatal(err)
	}
	own := zk.DigestACL(zk.PermAll, "app", "s")
	list := slices.Concat(own, zk.DigestACL(zk.PermRead, "viewer", "s"))
	paths := []string{"/secure", "/secure/a", "/secure/a/_c_6eb1b0d2-1f1b-4a0c-9b50-0d3a3d6f2a10-lock-0000000000"}
	for _, path := range paths {
		if _, err := app.Create(path, nil, 0, list); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_ZK_AUTH": "digest:viewer:s"}
	scrape := exportingIn(t, env, "zk://"+server.Addr+"/secure")
	states := func() (all []string) {
		_, text := scrape("/metrics")
		for _, m := range lockStates.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	eventually(t, "the lock is held", func() bool { return slices.Equal(states(), []string{"held"}) })
	eventually(t, "its first reads are over", func() bool {
		_, text := scrape("/metrics")
		return strings.Contains(text, `lockscope_backend_ready{backend="zk"} 1`)
	})
	taken := time.Now()
	for _, path := range slices.Backward(paths) {
		if _, err := app.SetACL(path, own, -1); err != nil {
			t.Fatal(err)
		}
	}
	for now := ""; now != "unknown"; time.Sleep(250 * time.Millisecond) {
		now = strings.Join(states(), " ")
		if since := time.Since(taken); now != "unknown" && now != "held" || since > 5*time.Minute {
			t.Fatalf("after %v: %q", since, now)
		}
	}
	t.Logf("found after %v", time.Since(taken).Round(time.Second))
}
