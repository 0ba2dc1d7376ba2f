package act

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A missing right is named. A node with unreadable data is still released.
func TestMissingZooKeeperRightIsNamed(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		owner, other := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		must.Succeed(t, owner.AddAuth("digest", []byte("app:secret")))
		dir := servertest.UniquePath(t)
		readOnly := append(zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermRead)...)
		must.Have(owner.Create(dir, nil, 0, readOnly))(t)
		node := must.Have(owner.Create(dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__", nil, zk.FlagEphemeral|zk.FlagSequence, zk.AuthACL(zk.PermAll)))(t)
		releaser := onEnsemble(t, other, server.Addr)
		if result, err := perform(t, releaser, ofNode(dir, filepath.Base(node))); err == nil || result.Released || !strings.Contains(err.Error(), "grant DELETE on "+dir) {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// aclUser adds a user to a server and returns a client of that user.
func aclUser(t *testing.T, server *servertest.Redis, name string, rights ...any) redis.UniversalClient {
	t.Helper()
	args := append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret"}, rights...)
	must.Succeed(t, server.Client(t).Do(t.Context(), args...).Err())
	c := redis.NewClient(&redis.Options{Addr: server.Addr, Username: name, Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// A denied wake-up does not fail the release, in the result or in the audit file.
func TestReleaseSurvivesDeniedWakeUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin, _ := redisMastersOf(t, []*servertest.Redis{server})
	for _, tt := range []struct{ name, write, owner string }{
		{"string", "SET lock:string lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a", "lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a"},
		{"python-redis-lock", "SET lock:python-redis-lock YWFhYWFhYWFhYWFhYWFhYWFh PX 60000", "YWFhYWFhYWFhYWFhYWFhYWFh"},
		{"redisson", "HSET lock:redisson " + ownerA + " 1", ownerA},
		{"reader", "HSET lock:reader mode read " + ownerA + " 1", ownerA},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The user may neither publish nor push to the list that wakes waiters.
			c := aclUser(t, server, "mute", "~lock:"+tt.name+"*", "~{lock*", "~redisson*", "resetchannels", "+@all", "-@admin")
			command(t, admin[0], tt.write)
			releaser := onMaster(t, c, server.Addr)
			result, err := perform(t, releaser, ofKey("lock:"+tt.name, tt.owner))
			if err != nil || !result.Released || !result.Masters[0].Deleted {
				t.Errorf("result %+v, %v", result, err)
			}
			must.Equal(t, admin[0].Exists(t.Context(), "lock:"+tt.name).Val(), 0, "keys left")
			if lines := auditLines(t, releaser.audit.path); len(lines) != 2 || lines[1]["released"] != true || lines[1]["error"] != nil {
				t.Errorf("audit %v", lines)
			}
		})
	}
}

// A plain string is released with the fewest possible rights, and each missing one is named.
func TestReleaseNamesMissingRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin, addrs := redisMastersOf(t, []*servertest.Redis{server})
	least := []string{"+evalsha", "+eval", "+get", "+del", "+getrange"}
	release := func(t *testing.T, rights ...any) (Result, error) {
		t.Helper()
		must.Succeed(t, admin[0].Set(t.Context(), "lock:a", "v", time.Minute).Err())
		admin[0].ScriptFlush(t.Context())
		releaser := onMasters(t, []redis.UniversalClient{aclUser(t, server, "ops", rights...)}, addrs)
		p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v"})
		if err != nil {
			return Result{}, err
		}
		return releaser.Execute(t.Context(), p, "typed")
	}
	all := []any{"~lock:*"}
	for _, right := range least {
		all = append(all, right)
	}
	if result, err := release(t, all...); err != nil || !result.Released {
		t.Errorf("with the least rights: %+v, %v", result, err)
	}
	for i, right := range least {
		some := []any{"~lock:*"}
		for j, other := range least {
			if j != i {
				some = append(some, other)
			}
		}
		result, err := release(t, some...)
		said := result.Detail // a missing right to run scripts is in the preview
		if err != nil {
			said = err.Error()
		}
		if result.Released || !strings.Contains(said, "grant "+right) {
			t.Errorf("without %s: %+v, %v", right, result, err)
		}
	}
	if _, err := release(t, "~other:*", "+@all"); err == nil || !strings.Contains(err.Error(), "grant ~lock:a") {
		t.Errorf("without the key: %v", err)
	}
}
