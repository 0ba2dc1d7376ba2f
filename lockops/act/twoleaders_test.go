package act

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// A leader that never checks its node again keeps leading after a release. Releasing it takes a
// flag that accepts two leaders.
func TestUnnoticedReleasesAreRefused(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn, root := connectZooKeeper(t, server.Addr), servertest.UniquePath(t)
	create(t, conn, root, "", 0)
	const curator, kazoo = "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-", "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__"
	for name, tt := range map[string]struct {
		prefix  string
		elects  bool // by the configuration
		refused bool
	}{
		"latch":            {prefix: curator + "latch-", refused: true},
		"leader":           {prefix: curator + "lock-", refused: true}, // a LeaderSelector
		"kazoo-election":   {prefix: kazoo, refused: true},
		"jobs":             {prefix: curator + "lock-"},
		"configured":       {prefix: curator + "lock-", elects: true, refused: true},
		"ready":            {prefix: "n_", refused: true},
		"accumulo-manager": {prefix: "zlock#0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718#"}, // watches its own node
	} {
		dir := root + "/" + name
		var names []string
		create(t, conn, dir, "", 0)
		for range 2 {
			names = append(names, filepath.Base(create(t, conn, dir+"/"+tt.prefix, "", sequential)))
		}
		releaser, request := onEnsemble(t, conn, server.Addr), ofNode(dir, names[0])
		request.Elects = tt.elects
		p, err := releaser.Preview(t.Context(), request)
		if err != nil || (p.Refused == TwoLeaders) != tt.refused || p.TwoLeaders != tt.refused {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		if tt.refused && (!strings.Contains(p.Detail, "Restart it instead") || !strings.Contains(p.Warnings[0], "never checks")) {
			t.Errorf("%s: %q", name, p.Detail)
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Released == tt.refused {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if !tt.refused {
			continue
		}
		waiter := request
		waiter.Owner, waiter.Waiter = inspect.Untrusted(names[1]), true
		if p, err := releaser.Preview(t.Context(), waiter); err != nil || p.Refused != "" || p.TwoLeaders {
			t.Errorf("%s: a candidate that does not lead: %+v, %v", name, p, err)
		}
		request.TwoLeaders = true
		if p, err = releaser.Preview(t.Context(), request); err != nil || p.Refused != "" || !p.TwoLeaders {
			t.Fatalf("%s, allowed: %+v, %v", name, p, err)
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || !result.Released {
			t.Errorf("%s, allowed: %+v, %v", name, result, err)
		}
		led := Led(releaser.audit.path)
		if len(led) != 1 || led[0].Lock != request.ID || led[0].Name.Raw() != names[0] || led[0].Session != conn.SessionID() || led[0].At.IsZero() {
			t.Errorf("%s: the audit file has %+v", name, led)
		}
	}
}
