package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A missing argument is named, not its value.
func TestMissingWordsAreNamed(t *testing.T) {
	t.Parallel()
	const target = "redis://127.0.0.1:1"
	for want, args := range map[string][]string{
		"--set is required":                              {"ttl", "redis:x", target, "--owner", "a"},
		"--max is required: how many directories":        {"sweep", "zk:/locks", "zk://127.0.0.1:1"},
		"--max is required: how many locks":              {"release", "--match", "redis:*", target},
		"name the client first: BACKEND:HOST:PORT":       {"kill-client", target},
		"release needs a LOCK first, such as zk:/locks/": {"release", target, "--owner", "a"},
	} {
		if got := run(t, args...); got.code != app.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// A bundle of a lock that is not there says so at once.
func TestABundleOfNothingDoesNotWait(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	began := time.Now()
	got := run(t, "bundle", "redis:lock:none", "redis://"+server.Addr+"?match=lock:*", "--for", "10m", "--to", filepath.Join(t.TempDir(), "b"))
	if got.code != app.ExitNo || !strings.Contains(got.stderr, "no such lock") {
		t.Errorf("after %v: %+v", time.Since(began), got)
	}
}
