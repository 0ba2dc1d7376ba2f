package redissource_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/redisreply"
	"github.com/lockscope/lockscope/internal/servertest"
)

// No server reports a restored right. A key known only by name is not reported as new once it is
// readable. All refused keys become readable, although only a few are tried at a time.
func TestRestoredRightIsNoticed(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := m.Client(t)
	const many = 200
	keys := []string{"lock:secret"}
	for i := range many {
		keys = append(keys, fmt.Sprintf("lock:open:%d", i))
	}
	write := func(value string) {
		for _, key := range keys {
			must.Succeed(t, c.Set(t.Context(), key, value, 0).Err())
		}
	}
	allow := func(pattern string) { run(t, c, "ACL SETUSER viewer resetkeys "+pattern) }
	write("first")
	cfg := onlyPushes(m)
	cfg.Masters = viewed(t, m, "resetkeys ~lock:open:*").Masters
	cfg.Tick = 50 * time.Millisecond // the master pushes, so nothing is polled
	v := watchPushed(t, cfg)
	v.Await("all but the secret key", func() bool { return len(v.Locks) == many && v.Backend.Unknown(inspect.AspectLocks) })

	allow("~lock:*")
	v.Await("the secret key", func() bool {
		return heldBy(v, "lock:secret", "first")() && !v.Backend.Unknown(inspect.AspectLocks)
	})
	if since := v.Locks["lock:secret"].UnseenSince; !since.Equal(inspect.NeverSeen) {
		t.Errorf("the secret key is dated after %v", since)
	}

	allow("~nothing")
	write("second")
	v.Await("refused", func() bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return v.Locks[key].State != inspect.StateUnknown })
	})
	allow("~lock:*")
	v.Await("all keys", func() bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return !heldBy(v, key, "second")() })
	})
}

// If only PING fails (disk failure or missing right), the master pushes over one connection.
func TestMasterRefusingOnlyPingPushes(t *testing.T) {
	t.Parallel()
	const stopWrites = "CONFIG SET stop-writes-on-bgsave-error "
	for name, tt := range map[string]struct {
		rules, prepare string
		write          string
		said           string // to PING
	}{
		"the disk failed": {
			prepare: "SET other x\nBGSAVE", said: "MISCONF",
			write: stopWrites + "no\nSET lock:a one\n" + stopWrites + "yes",
		},
		"PING is denied": {rules: "-ping", write: "SET lock:a one", said: "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := servertest.StartRedis(t, "--dir", dir, "--save", "3600 1")
			must.Succeed(t, os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o755)) // makes snapshots fail
			admin := server.Client(t)
			run(t, admin, tt.prepare)
			cfg := onlyPushes(server)
			cfg.Masters = viewed(t, server, tt.rules).Masters
			asked := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "viewer", Password: "pw"})
			defer asked.Close()
			must.Become(t, "PING is refused", func() bool {
				return redisreply.Starts(asked.Ping(t.Context()).Err(), tt.said)
			})
			v := watchPushed(t, cfg)
			run(t, admin, tt.write)
			v.Await("held", inState(v, "lock:a", inspect.StateHeld))
			awaitPush(v)
			must.Equal(t, commands(t, admin)["client|tracking"], 1, "tracking connections")
		})
	}
}

func TestLoginFailureHidesPassword(t *testing.T) {
	m := servertest.StartRedis(t, "--requirepass", "sesame")
	cfg := config(m)
	for password, want := range map[string]inspect.BackendState{
		"": inspect.Down, "open-barley": inspect.Down, "sesame": inspect.Connected,
	} {
		cfg.Masters[0].Password = password
		b := once(t, cfg).Backend
		must.Equal(t, b.State, want, "with password", password)
		if want == inspect.Down {
			must.Contain(t, b.Error, m.Addr)
			must.Contain(t, b.Error, `user "default"`)
		}
		must.True(t, !strings.Contains(b.Error, "barley"), "the error contains the password", b.Error)
	}
}

func TestDeniedCommandHidesOneFeature(t *testing.T) {
	m := startMasters(t, 1, "lock:a", "lock:secret")[0]
	const few = "-@all +ping +auth +hello +select +scan +type +getrange +pttl +exists"
	cfg := viewed(t, m, "resetchannels resetkeys %R~lock:a "+few)
	v := once(t, cfg)
	if v.Backend.State != inspect.Connected || v.Locks["lock:a"] == nil || v.Locks["lock:a"].State != inspect.StateHeld {
		t.Errorf("backend %+v, locks %v", v.Backend, v.Describe())
	}
	var rights []string
	for _, u := range v.Backend.Unseen {
		rights = append(rights, fmt.Sprint(u.Aspect, " ", u.Right))
	}
	slices.Sort(rights)
	must.Same(t, slices.Compact(rights), []string{"locks ~lock:secret", "server +info", "server +time"}, "unseen")
	if s := v.Backend.Servers[0]; s.Role != "master" || s.Version == "" {
		t.Errorf("role and version should come from HELLO: %+v", s)
	}
	cfg.Only = "lock:secret"
	if l := once(t, cfg).Locks["lock:secret"]; l == nil || l.State != inspect.StateUnknown {
		t.Errorf("an unreadable key: %+v", l)
	}
}

// Without SCAN the list of keys is unknown. A named key is still read.
func TestWithoutScanABackendIsDegraded(t *testing.T) {
	t.Parallel()
	m := startMasters(t, 1, "lock:a")[0]
	cfg := viewed(t, m, "-scan")
	if b := once(t, cfg).Backend; b.State != inspect.Degraded || !strings.Contains(b.Error, m.Addr) || !strings.Contains(b.Error, "ACL SETUSER viewer +scan") {
		t.Errorf("%+v", b)
	}
	cfg.Only = "lock:a"
	if v := once(t, cfg); v.Backend.State != inspect.Connected || v.Locks["lock:a"].State != inspect.StateHeld {
		t.Errorf("a named key: %+v, %v", v.Backend, v.Describe())
	}
}

// Without PUBSUB it is unknown whether the waiter is alive. The lock itself is still shown.
func TestDeniedHelpersLeaveLockVisible(t *testing.T) {
	m := startMasters(t, 1, "lock:b")[0]
	run(t, m.Client(t), redissonQueue)
	v := once(t, viewed(t, m, "-pubsub -memory"))
	expectWaiter(t, v.Locks["lock:a"], false, "+pubsub|numsub")
	if b := v.Locks["lock:b"]; b == nil || len(b.Unseen) != 0 {
		t.Errorf("a plain lock has unknowns: %+v", b)
	}
}

// A waiter without a subscription here is dead, or subscribes on a replica that only INFO would show.
func TestWithoutInfoReplicasMayHideWaiters(t *testing.T) {
	m := servertest.StartRedis(t)
	c := m.Client(t)
	run(t, c, redissonQueue)
	look := func(cfg redissource.Config) *inspect.Lock { return once(t, cfg).Locks["lock:a"] }
	expectWaiter(t, look(config(m)), true, "")
	cfg := viewed(t, m, "-info")
	l := look(cfg)
	expectWaiter(t, l, false, "+info")
	must.Equal(t, len(l.Unseen), 1, "unseen", l.Unseen)
	run(t, c, "SUBSCRIBE redisson_lock__channel:{lock:a}:"+uuidB+":2")
	expectWaiter(t, look(cfg), false, "")
}

// expectWaiter checks the only waiter of a lock. It is unknown whether it is dead if a right is
// missing.
func expectWaiter(t *testing.T, l *inspect.Lock, dead bool, missing string) {
	t.Helper()
	if l == nil || l.State != inspect.StateContended && !dead || len(l.Waiters) != 1 || l.Waiters[0].Dead != dead {
		t.Fatalf("want one waiter, dead %v: %+v", dead, l)
	}
	must.Equal(t, l.Unknown(inspect.AspectWaiters), missing != "", "the waiters are unknown")
	if missing != "" {
		must.Equal(t, l.Unseen[0].Right, missing, "the missing right")
	}
}

// redissonQueue is a Redisson lock with one waiter, which listens only if it subscribes.
const redissonQueue = "HSET lock:a " + uuidA + ":1 1\nRPUSH redisson_lock_queue:{lock:a} " + uuidB + ":2"
