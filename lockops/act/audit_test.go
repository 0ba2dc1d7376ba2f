package act

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// Links are not followed, and a truncated line does not corrupt the next one.
func TestAuditSurvivesLinksAndCutLines(t *testing.T) {
	dir := t.TempDir()
	for name, link := range map[string]func(string, string) error{"symbolic link": os.Symlink, "hard link": os.Link} {
		path, victim := filepath.Join(dir, name), filepath.Join(dir, "victim of a "+name)
		must.Succeed(t, os.WriteFile(victim, []byte("theirs\n"), 0o644))
		must.Succeed(t, link(victim, path))
		if a, err := OpenAudit(time.Now, path, "test", ""); err == nil {
			t.Errorf("a %s was opened", name)
			a.Close()
		}
		if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("the target of a %s has mode %v, %v", name, info.Mode(), err)
		}
	}
	path := filepath.Join(dir, "new", "audit.jsonl")
	a := must.Have(OpenAudit(time.Now, path, "test", ""))(t)
	defer a.Close()
	must.Succeed(t, a.write(line{Lock: "zk:/first"}))
	f := must.Have(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	f.WriteString(`{"lock":"zk:/cut by a full di`)
	f.Close()
	must.Succeed(t, a.write(line{Lock: "zk:/second"}))
	text := must.Have(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "zk:/first") || !strings.HasPrefix(lines[2], "{") || !strings.Contains(lines[2], "zk:/second") {
		t.Errorf("audit file:\n%s", text)
	}
}

// Each line names the backend and its chroot or database.
func TestAuditLinesNameTheBackend(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3, ReadTimeout: time.Minute})
	defer admin.Close()
	admin.Set(t.Context(), "lock:a", "v", 0)
	releaser := onMaster(t, admin, server.Addr)
	releaser.target.Name, releaser.target.DB = "cache", 3
	must.Have(perform(t, releaser, Request{ID: inspect.ID{Backend: "cache", Path: "lock:a"}, Owner: "v"}))(t)
	for _, l := range auditLines(t, releaser.audit.path) {
		if l["backend"] != "cache" || l["db"] != 3.0 || l["role"] != "holding" {
			t.Errorf("line %v", l)
		}
	}
	zookeeper := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := connectZooKeeper(t, zookeeper.Addr)
	create(t, conn, "/apps", "", 0)
	names := zkQueue(t, conn, "/apps/lock", 1)
	below := onEnsemble(t, conn, zookeeper.Addr)
	below.target.Chroot = "/apps"
	releaseFirst(t, below, inspect.ID{Backend: "zk", Path: "/lock"}, inspect.Untrusted(names[0]))
	for _, l := range auditLines(t, below.audit.path) {
		if l["backend"] != "zk" || l["chroot"] != "/apps" {
			t.Errorf("line %v", l)
		}
	}
}

func TestAuditNamesTheSudoUser(t *testing.T) {
	t.Setenv("SUDO_USER", "alice")
	a, path := openAudit(t)
	must.Succeed(t, a.write(line{Lock: "zk:/a"}))
	if trail, err := ReadTrail(path); err != nil || len(trail.Records) != 1 || trail.Records[0].Sudo != "alice" {
		t.Errorf("%+v, %v", trail, err)
	}
}

// A user without a name on the system is recorded by number.
func TestNamelessUserIsRecordedByNumber(t *testing.T) {
	unknown := func() (*user.User, error) { return nil, user.UnknownUserIdError(65532) }
	named := func() (*user.User, error) { return &user.User{Username: "ann"}, nil }
	nameless := func() (*user.User, error) { return &user.User{}, nil }
	for i, tt := range []struct {
		current func() (*user.User, error)
		uid     int
		want    string
	}{{named, 1000, "ann"}, {unknown, 65532, "uid 65532"}, {nameless, 0, "uid 0"}, {unknown, -1, ""}} {
		if got := nameOf(tt.current, tt.uid); got != tt.want {
			t.Errorf("%d: %q, want %q", i, got, tt.want)
		}
	}
}
