//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

// A pipe or a directory in the place of a file of ours is an error at once: the pipe would never get a writer.
func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := map[string]string{"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
	dir := filepath.Join(home, "lockscope")
	for what, write := range map[string]func(string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		must.Succeed(t, os.MkdirAll(dir, 0o700))
		for _, name := range []string{"config.yaml", "mutes.json", "audit.jsonl"} {
			must.Succeed(t, write(filepath.Join(dir, name)))
		}
		for args, code := range map[string]int{"config check": app.ExitUsage, "ls -p prod": app.ExitUsage, "mute": app.ExitUnreachable, "audit": app.ExitUnreachable} {
			if got := runIn(t, t.Context(), env, strings.Fields(args)...); got.code != code || !strings.Contains(got.stderr, "is no regular file") {
				t.Errorf("%s, %s: %+v", what, args, got)
			}
		}
		must.Succeed(t, os.RemoveAll(dir))
	}
}
