package act

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

// hooked is a connection on which something else happens right before a request that removes.
type hooked struct {
	ZKConn
	beforeRemoval func()
	afterSync     func()
}

func (h *hooked) Sync(path string) (string, error) {
	name, err := h.ZKConn.Sync(path)
	if h.afterSync != nil {
		h.afterSync()
	}
	return name, err
}

func (h *hooked) Delete(path string, version int32) error {
	h.beforeRemoval()
	return h.ZKConn.Delete(path, version)
}

func (h *hooked) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	h.beforeRemoval()
	return h.ZKConn.Set(path, data, version)
}

func (h *hooked) Multi(ops ...any) ([]zk.MultiResponse, error) {
	h.beforeRemoval()
	return h.ZKConn.Multi(ops...)
}

// eachConfirmed makes a ZooKeeper queue of three, previews the release of one of them, and hands over.
func eachConfirmed(t *testing.T, index int, f func(t *testing.T, q confirmedRelease)) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		q := confirmedRelease{conn: connectZooKeeper(t, server.Addr), dir: servertest.UniquePath(t)}
		q.names = zkQueue(t, q.conn, q.dir, 3)
		q.hooked = &hooked{ZKConn: q.conn, beforeRemoval: func() {}}
		q.audit, q.path = openAudit(t)
		q.releaser = NewZooKeeper(q.hooked, Target{Name: "zk", Servers: []string{server.Addr}}, q.audit)
		t.Cleanup(q.releaser.Close)
		request := Request{ID: inspect.ID{Backend: "zk", Path: q.dir}, Owner: inspect.Untrusted(q.names[index]), Waiter: index > 0}
		var err error
		if q.preview, err = q.releaser.Preview(t.Context(), request); err != nil || q.preview.Refused != "" {
			t.Fatalf("preview %+v, %v", q.preview, err)
		}
		f(t, q)
	})
}

type confirmedRelease struct {
	conn     *zk.Conn
	hooked   *hooked
	dir      string
	names    []string
	audit    *Audit
	path     string
	releaser *ZooKeeper
	preview  Preview
}

func (q *confirmedRelease) remove(t *testing.T, index int) {
	t.Helper()
	if err := q.conn.Delete(q.dir+"/"+q.names[index], -1); err != nil {
		t.Fatal(err)
	}
}

func (q *confirmedRelease) there(t *testing.T, index int) bool {
	t.Helper()
	ok, _, err := q.conn.Exists(q.dir + "/" + q.names[index])
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// A contender that was confirmed as a waiter and holds the lock by now is not removed.
func TestWaiterThatHoldsByNowIsNotRemoved(t *testing.T) {
	eachConfirmed(t, 1, func(t *testing.T, q confirmedRelease) {
		q.remove(t, 0)
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		if err != nil || result.Released || result.Reason != Changed || !strings.Contains(result.Detail, "does now") || !q.there(t, 1) {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// The same when it comes to hold it between our last look and the delete: they are one step.
func TestWaiterThatComesToHoldAfterTheLookIsNotRemoved(t *testing.T) {
	eachConfirmed(t, 1, func(t *testing.T, q confirmedRelease) {
		q.hooked.beforeRemoval = func() { q.remove(t, 0) }
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		if err != nil || result.Released || result.Reason != Changed || result.Detail == "" || !q.there(t, 1) {
			t.Errorf("result %+v, %v", result, err)
		}
		if len(result.HoldersAfter) != 1 || result.HoldersAfter[0].Name.Raw() != q.names[1] {
			t.Errorf("holders after: %+v", result.HoldersAfter)
		}
	})
}

// A waiter that still waits is removed, and its node alone.
func TestWaiterIsRemovedWhileItWaits(t *testing.T) {
	eachConfirmed(t, 1, func(t *testing.T, q confirmedRelease) {
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		if err != nil || !result.Released || q.there(t, 1) || !q.there(t, 0) || !q.there(t, 2) {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// When the caller's time ends before the delete is sent, it is never sent.
func TestNothingIsSentOnceTheCallerIsGone(t *testing.T) {
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		ctx, cancel := context.WithCancel(t.Context())
		q.hooked.afterSync = cancel
		removed := false
		q.hooked.beforeRemoval = func() { removed = true }
		result, err := q.releaser.Execute(ctx, q.preview, "typed")
		if !errors.Is(err, context.Canceled) || result.Released || result.Unknown {
			t.Errorf("result %+v, %v", result, err)
		}
		q.releaser.Close()
		if removed || !q.there(t, 0) {
			t.Error("it was deleted after its operator had gone")
		}
	})
}

// When it ends while the delete is on its way, the outcome is unknown; Late delivers it, and the audit file has it, when it is known.
func TestLateDeleteIsToldAndAudited(t *testing.T) {
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		q.hooked.beforeRemoval = func() { cancel(); <-gone }
		result, err := q.releaser.Execute(ctx, q.preview, "typed")
		if !errors.Is(err, context.Canceled) || result.Released || !result.Unknown || result.Late == nil {
			t.Fatalf("result %+v, %v", result, err)
		}
		close(gone)
		late, err := result.Settled(t.Context(), err)
		if err != nil || !late.Released || late.Unknown || q.there(t, 0) {
			t.Errorf("late: %+v, %v", late, err)
		}
		q.releaser.Close()
		lines := auditLines(t, q.path)
		if len(lines) != 3 || lines[1]["phase"] != "result" || lines[1]["unknown"] != true || lines[1]["released"] != false ||
			lines[2]["phase"] != "late" || lines[2]["released"] != true {
			t.Errorf("audit %v", lines)
		}
	})
}

// A lost answer is not an outcome: the servers are asked again.
func TestLostAnswerOfADelete(t *testing.T) {
	for _, done := range []bool{true, false} {
		eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
			q.releaser.conn = &unanswering{ZKConn: q.conn, done: done}
			result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
			if result.Released != done || result.Unknown != !done || (err == nil) != done || q.there(t, 0) == done {
				t.Errorf("done %v: result %+v, %v", done, result, err)
			}
		})
	}
}

// unanswering loses the answers of deletes, which are executed if done.
type unanswering struct {
	ZKConn
	done bool
}

func (u *unanswering) Delete(path string, version int32) error {
	if u.done {
		if err := u.ZKConn.Delete(path, version); err != nil {
			return err
		}
	}
	return zk.ErrConnectionClosed
}

// A right that is missing is named, and a node whose data may not be read is released all the same.
func TestMissingZooKeeperRightIsNamed(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		owner, other := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		if err := owner.AddAuth("digest", []byte("app:secret")); err != nil {
			t.Fatal(err)
		}
		dir := servertest.UniquePath(t)
		readOnly := append(zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermRead)...)
		if _, err := owner.Create(dir, nil, 0, readOnly); err != nil {
			t.Fatal(err)
		}
		node, err := owner.Create(dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__", nil, zk.FlagEphemeral|zk.FlagSequence, zk.AuthACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(other, Target{}, audit)
		defer releaser.Close()
		request := Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(filepath.Base(node))}
		p, err := releaser.Preview(t.Context(), request)
		if err != nil || p.Refused != "" {
			t.Fatalf("preview %+v, %v", p, err)
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err == nil || result.Released || !strings.Contains(err.Error(), "grant DELETE on "+dir) {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// aclUser adds a user to a server and connects as it.
func aclUser(t *testing.T, server *servertest.Redis, name string, rights ...any) redis.UniversalClient {
	t.Helper()
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	defer admin.Close()
	args := append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret"}, rights...)
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: server.Addr, Username: name, Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	return c
}

// A wake-up that is denied makes no release look failed, neither to the operator nor in the audit file.
func TestDeniedWakeUpIsNoFailedRelease(t *testing.T) {
	server := servertest.StartRedis(t)
	admin, addrs := redisMastersOf(t, []*servertest.Redis{server})
	for _, tt := range []struct{ name, write, owner string }{
		{"string", "SET lock:string lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a", "lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a"},
		{"python-redis-lock", "SET lock:python-redis-lock YWFhYWFhYWFhYWFhYWFhYWFh PX 60000", "YWFhYWFhYWFhYWFhYWFhYWFh"},
		{"redisson", "HSET lock:redisson " + ownerA + " 1", ownerA},
		{"reader", "HSET lock:reader mode read " + ownerA + " 1", ownerA},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Neither publishing nor the list that wakes is allowed.
			c := aclUser(t, server, "mute", "~lock:"+tt.name+"*", "~{lock*", "~redisson*", "resetchannels", "+@all", "-@admin")
			var args []any
			for _, word := range strings.Fields(tt.write) {
				args = append(args, word)
			}
			if err := admin[0].Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			audit, path := openAudit(t)
			releaser := NewRedis([]redis.UniversalClient{c}, Target{Servers: addrs}, 5*time.Second, audit)
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:" + tt.name}, Owner: inspect.Untrusted(tt.owner)})
			if err != nil || p.Refused != "" {
				t.Fatalf("preview %+v, %v", p, err)
			}
			result, err := releaser.Execute(t.Context(), p, "typed")
			if err != nil || !result.Released || !result.Masters[0].Deleted {
				t.Errorf("result %+v, %v", result, err)
			}
			if n := admin[0].Exists(t.Context(), "lock:"+tt.name).Val(); n != 0 {
				t.Error("the key is still there")
			}
			if lines := auditLines(t, path); len(lines) != 2 || lines[1]["released"] != true || lines[1]["error"] != nil {
				t.Errorf("audit %v", lines)
			}
		})
	}
}

// A plain string is released with the least rights there are, and a right that is missing is named.
func TestReleaseNeedsFewRightsAndNamesThem(t *testing.T) {
	server := servertest.StartRedis(t)
	admin, addrs := redisMastersOf(t, []*servertest.Redis{server})
	least := []string{"+evalsha", "+eval", "+get", "+del"}
	release := func(t *testing.T, rights ...any) (Result, error) {
		t.Helper()
		if err := admin[0].Set(t.Context(), "lock:a", "v", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		admin[0].ScriptFlush(t.Context())
		audit, _ := openAudit(t)
		releaser := NewRedis([]redis.UniversalClient{aclUser(t, server, "ops", rights...)}, Target{Servers: addrs}, 5*time.Second, audit)
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
		if result, err := release(t, some...); err == nil || result.Released || !strings.Contains(err.Error(), "grant "+right) {
			t.Errorf("without %s: %+v, %v", right, result, err)
		}
	}
	if _, err := release(t, "~other:*", "+@all"); err == nil || !strings.Contains(err.Error(), "grant ~lock:a") {
		t.Errorf("without the key: %v", err)
	}
}

// A value that had no quorum when it was confirmed is not deleted once it has one, nor the reverse.
func TestQuorumIsPartOfWhatIsGuarded(t *testing.T) {
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		put := func(n int) {
			t.Helper()
			for i, c := range clients {
				err := c.Del(t.Context(), key).Err()
				if i < n {
					err = c.Set(t.Context(), key, "v", time.Minute).Err()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		audit, _ := openAudit(t)
		releaser := NewRedis(clients, Target{Servers: addrs}, 5*time.Second, audit)
		request := Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: "v", Waiter: true}
		for _, masters := range []struct{ confirmed, now int }{{1, 2}, {1, 3}, {2, 1}} {
			put(masters.confirmed)
			p, err := releaser.Preview(t.Context(), request)
			if err != nil || p.Refused != "" {
				t.Fatalf("preview %+v, %v", p, err)
			}
			put(masters.now)
			result, err := releaser.Execute(t.Context(), p, "typed")
			if err != nil || result.Released || result.Reason != Changed || result.Detail == "" {
				t.Errorf("%+v: result %+v, %v", masters, result, err)
			}
			for i, c := range clients {
				if n := c.Exists(t.Context(), key).Val(); n == 1 != (i < masters.now) {
					t.Errorf("%+v: the key on master %d was touched", masters, i)
				}
			}
		}
	})
}

// A master that was stopped when the removal was sent does not do it later, after the operator has read that it did not.
func TestStoppedMasterRemovesNothingLater(t *testing.T) {
	server := servertest.StartRedis(t)
	clients, addrs := redisMastersOf(t, []*servertest.Redis{server})
	clients[0].Set(t.Context(), "lock:a", "v", time.Minute)
	audit, _ := openAudit(t)
	const limit = 300 * time.Millisecond
	releaser := NewRedis([]redis.UniversalClient{&stopping{clients[0], func() { server.Pause(t) }}}, Target{Servers: addrs}, limit, audit)
	p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v"})
	if err != nil || p.Refused != "" {
		t.Fatalf("preview %+v, %v", p, err)
	}
	result, err := releaser.Execute(t.Context(), p, "typed")
	if err == nil || result.Released {
		t.Errorf("result %+v, %v", result, err)
	}
	server.Resume(t)
	if err := clients[0].Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if n := clients[0].Exists(t.Context(), "lock:a").Val(); n != 1 {
		t.Error("it was deleted after the operator was told that it was not")
	}
}

// stopping stops its server right before a script is sent.
type stopping struct {
	redis.UniversalClient
	stop func()
}

func (s *stopping) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.stop()
	return s.UniversalClient.Eval(ctx, scriptText("string"), keys, args...)
}

// The next one waits: it is not called a holder before it holds.
func TestNextIsShownAsItIs(t *testing.T) {
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		if q.preview.Next == nil || q.preview.Next.State != inspect.Waiting {
			t.Errorf("next %+v", q.preview.Next)
		}
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		if err != nil || result.Next == nil || result.Next.Name.Raw() != q.names[1] || result.Next.State != inspect.Holding {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// A release of python-redis-lock wakes a waiter, by the list that its library waits on.
func TestReleaseWakesPythonRedisLock(t *testing.T) {
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		name := servertest.UniqueName(t)
		const value = "YWFhYWFhYWFhYWFhYWFhYWFh"
		clients[0].Set(t.Context(), "lock:"+name, value, time.Minute)
		audit, _ := openAudit(t)
		releaser := NewRedis(clients, Target{Servers: addrs}, 5*time.Second, audit)
		p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:" + name}, Owner: value})
		if err != nil || p.Refused != "" {
			t.Fatalf("preview %+v, %v", p, err)
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || !result.Released {
			t.Fatalf("result %+v, %v", result, err)
		}
		got, err := clients[0].BLPop(t.Context(), 5*time.Second, "lock-signal:"+name).Result()
		if err != nil || len(got) != 2 || got[1] != "1" {
			t.Errorf("the waiter's list gave %v, %v", got, err)
		}
	})
}

// A lock of a library whose release is not known is refused with a reason.
func TestUnknownLibraryIsRefused(t *testing.T) {
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Recipe: "another", Kind: inspect.KindMutex,
		Masters: []inspect.Vote{{Up: true, Present: true, Held: &recipe.Record{Recipe: "another"}}},
	}
	if way, ok := removalOf(l, &inspect.Contender{Name: "w", State: inspect.Holding}, "w"); ok || !strings.Contains(unsupported(l), "stop its holder") {
		t.Errorf("removed by %+v; %s", way, unsupported(l))
	}
}

// The audit file is no way to another file, and a cut line does not take the next one with it.
func TestAuditFile(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(string, string) error{"symbolic link": os.Symlink, "hard link": os.Link} {
		path := filepath.Join(dir, name)
		if err := link(victim, path); err != nil {
			t.Fatal(err)
		}
		if a, err := OpenAudit(path, "test", ""); err == nil {
			t.Errorf("a %s was opened", name)
			a.Close()
		}
		if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("the target of a %s has mode %v, %v", name, info.Mode(), err)
		}
	}
	path := filepath.Join(dir, "new", "audit.jsonl")
	a, err := OpenAudit(path, "test", "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.write(line{Lock: "zk:/first"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"lock":"zk:/cut by a full di`)
	f.Close()
	if err := a.write(line{Lock: "zk:/second"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "zk:/first") || !strings.HasPrefix(lines[2], "{") || !strings.Contains(lines[2], "zk:/second") {
		t.Errorf("audit file:\n%s", text)
	}
}

// The lines say where: the backend's name, its chroot or its database.
func TestAuditSaysWhere(t *testing.T) {
	server := servertest.StartRedis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3})
	defer admin.Close()
	admin.Set(t.Context(), "lock:a", "v", 0)
	audit, path := openAudit(t)
	releaser := NewRedis([]redis.UniversalClient{admin}, Target{Name: "cache", Servers: []string{server.Addr}, DB: 3}, 5*time.Second, audit)
	p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "cache", Path: "lock:a"}, Owner: "v"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releaser.Execute(t.Context(), p, "typed"); err != nil {
		t.Fatal(err)
	}
	for _, l := range auditLines(t, path) {
		if l["backend"] != "cache" || l["db"] != 3.0 || l["role"] != "holding" {
			t.Errorf("line %v", l)
		}
	}
	zookeeper := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := connectZooKeeper(t, zookeeper.Addr)
	if _, err := conn.Create("/apps", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	names := zkQueue(t, conn, "/apps/lock", 1)
	other, otherPath := openAudit(t)
	zkReleaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{zookeeper.Addr}, Chroot: "/apps"}, other)
	defer zkReleaser.Close()
	p, err = zkReleaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: "/lock"}, Owner: inspect.Untrusted(names[0])})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := zkReleaser.Execute(t.Context(), p, "typed"); err != nil || !result.Released {
		t.Fatalf("result %+v, %v", result, err)
	}
	for _, l := range auditLines(t, otherPath) {
		if l["backend"] != "zk" || l["chroot"] != "/apps" {
			t.Errorf("line %v", l)
		}
	}
}
