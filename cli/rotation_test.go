package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// rotating is a profile p for one target, with its password in a file.
func rotating(t *testing.T, target string) (config string, give func(password string)) {
	t.Helper()
	dir := t.TempDir()
	config, file := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "password")
	give = func(password string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("profiles: {p: {targets: [{url: %q, username: ops, password_file: %s}]}}", target, file)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	give(marked + "old")
	return config, give
}

func TestARotatedPasswordNeedsNoRestart(t *testing.T) {
	t.Parallel()
	servertest.Slow(t) // refused passwords are read again after ten seconds
	server := servertest.StartRedis(t)
	redisDo(t, server.Addr, "ACL", "SETUSER", "ops", "on", ">"+marked+"old", "+@all", "~*", "&*")
	config, give := rotating(t, "redis://"+server.Addr)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	connected := func() bool {
		list, err := admin.ClientList(t.Context()).Result()
		return err == nil && strings.Contains(list, "user=ops")
	}
	scrape := exporting(t, t.TempDir(), "--config", config, "-p", "p")
	must.Become(t, "it is logged in", connected)
	give(marked + "new")
	redisDo(t, server.Addr, "ACL", "SETUSER", "ops", "resetpass", ">"+marked+"new")
	redisDo(t, server.Addr, "CLIENT", "KILL", "USER", "ops")
	must.Become(t, "it is logged in with the new password", connected)
	must.Become(t, "the view is whole again", func() bool {
		_, text := scrape("/metrics")
		return strings.Contains(text, `lockscope_backend_state{backend="redis",service="redis",state="connected"} 1`)
	})
}

// Nothing of this has a terminal, as in a service.
func TestHangupsReadThePasswordsAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGHUP")
	}
	t.Parallel()
	config, give := rotating(t, "redis://127.0.0.1:1")
	for _, args := range [][]string{{"export", "--listen", "127.0.0.1:0"}, {"watch"}} {
		give(marked + "old")
		cmd, lines := started(t, append(args, "--config", config, "-p", "p")...)
		awaitLine(t, lines, map[string]string{"export": "serving", "watch": "watching"}[args[0]])
		for _, tt := range []struct{ password, says string }{{"old", "the same passwords"}, {"new", "new passwords"}} {
			give(marked + tt.password)
			cmd.Process.Signal(syscall.SIGHUP)
			awaitLine(t, lines, tt.says)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s: exit code %d, want 0", args[0], code)
		}
	}
}
