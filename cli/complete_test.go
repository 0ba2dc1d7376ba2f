package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestCompletionOfLocksAndOwners(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		servertest.StartKazoo(t, server.Addr, root+"/orders", "worker-1").Expect(t, "acquired")
		servertest.StartKazoo(t, server.Addr, root+"/billing", "worker;reboot").Expect(t, "acquired")
		target := "zk://" + server.Addr + root
		home := t.TempDir()
		file := filepath.Join(home, "lockscope", "config.yaml")
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Succeed(t, os.WriteFile(file, []byte("default: dev\nprofiles: {dev: {targets: ['"+target+"']}}\n"), 0o600))
		env := map[string]string{"XDG_CONFIG_HOME": home}
		offered := func(args ...string) []string {
			got := runIn(t, t.Context(), env, append([]string{"__complete"}, args...)...)
			var names []string
			for line := range strings.Lines(got.stdout) {
				if name, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(name, ":") {
					names = append(names, name)
				}
			}
			return names
		}
		if got := offered("show", "zk:"+root+"/o"); len(got) != 1 || got[0] != "zk:"+root+"/orders" {
			t.Errorf("locks of the default profile: %q", got)
		}
		if got := offered("release", "-p", "dev", ""); len(got) != 2 {
			t.Errorf("locks of a profile: %q", got)
		}
		owners := offered("release", "zk:"+root+"/orders", target, "--owner", "")
		if len(owners) != 1 || !strings.Contains(owners[0], "__lock__") {
			t.Errorf("owners: %q", owners)
		}
		if got := offered("-p", ""); len(got) != 1 || got[0] != "dev" {
			t.Errorf("profiles: %q", got)
		}
		if got := offered("ls", "-o", ""); len(got) != 4 || got[0] != "table" {
			t.Errorf("forms of output: %q", got)
		}
	})
}

func TestCompletionIsQuietAndShort(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	for _, key := range []string{"lock:a", "lock:$(reboot)", "lock:`x`", "lock:\x1b[2J", "lock: b"} {
		server.Mini.Set(key, "v\tw\x1b[2J")
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	targets := "targets: ['redis://" + server.Addr + "', 'zk://127.0.0.1:1']"
	must.Succeed(t, os.WriteFile(file, []byte("default: dev\nprofiles: {dev: {"+targets+"}}\n"), 0o600))
	got := await(t, "something is offered in time", func(o outcome) bool { return !strings.HasPrefix(o.stdout, ":") }, "__complete", "show", "--config", file, "redis:lo")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "redis:lock:a\t") || strings.Count(lines[0], "\t") != 1 || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("offered %q", lines)
	}
	if strings.Contains(got.stderr, "127.0.0.1") {
		t.Errorf("it talks: %q", got.stderr)
	}
	if got := run(t, "__complete", "show", "--config", file+"x", "zk:"); !strings.HasPrefix(got.stdout, ":") {
		t.Errorf("without a configuration: %+v", got)
	}
}

// TAB completes findings to mute, and muted ones to unmute.
func TestCompletionOfMutes(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, server.Mini.Set("lock:a", "Y2NjY2NjY2NjY2NjY2NjYw=="))
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	must.Succeed(t, os.WriteFile(file, []byte("default: dev\nprofiles: {dev: {targets: ['redis://"+server.Addr+"']}}\n"), 0o600))
	env := map[string]string{"XDG_STATE_HOME": home}
	offered := func(args ...string) (names string) {
		for range 10 { // it gives up after a second, which a busy machine may need for less
			got := runIn(t, t.Context(), env, append([]string{"__complete", "--config", file}, args...)...)
			if names, _, _ = strings.Cut(got.stdout, "\n:"); !strings.HasPrefix(names, ":") {
				break
			}
		}
		return names
	}
	if got := offered("mute", "redis:lo"); !strings.HasPrefix(got, "redis:lock:a\t") {
		t.Errorf("locks to mute: %q", got)
	}
	if got := offered("mute", "redis:lock:a", ""); got != "no-ttl" {
		t.Errorf("what to mute: %q", got)
	}
	if got := runIn(t, t.Context(), env, "mute", "redis:lock:a", "no-ttl", "--for", "1h", "--reason", "known"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := offered("unmute", ""); got != "redis:lock:a" {
		t.Errorf("locks to unmute: %q", got)
	}
	if got := offered("unmute", "redis:lock:a", ""); got != "no-ttl" {
		t.Errorf("what to unmute: %q", got)
	}
}

func TestEveryCommandThatTouchesLocksHasExamples(t *testing.T) {
	a := &app.App{}
	for _, c := range rootCommand(a).Commands() {
		if !strings.Contains(c.Use, "LOCK") && !strings.Contains(c.Use, "TARGET") {
			continue
		}
		if n := strings.Count(c.Example, "lockscope "+c.Name()); n < 2 || c.Short == "" {
			t.Errorf("%s has %d examples", c.Name(), n)
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s completes nothing", c.Name())
		}
	}
}
