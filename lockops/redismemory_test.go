package lockops_test

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// A full master refuses new locks with its OOM error, while held locks can be extended and
// released. A fair mutex may be granted, since its script starts with a command that needs no
// memory.
func TestAServerWithoutMemory(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, kind := range append(lockops.KindsOn(lockops.OnRedis), lockops.KindsOn(lockops.OnRedisMasters)...) {
		t.Run(kind.Name, func(t *testing.T) {
			on := masters
			if kind.On == lockops.OnRedis {
				on = masters[:1]
			}
			lock := func(name string) lockops.Locker {
				return must.Have(kind.New(redisSession(t, on...), name, lockops.WithTTL(closeTTL), patient))(t)
			}
			h := acquire(t, lock("held"))
			setMemory(t, on, "1")
			switch h, err := lock("new").TryAcquire(within(t)); {
			case err == nil && kind.Name == "fair":
				release(t, h)
			case err == nil || !strings.Contains(err.Error(), "OOM"):
				t.Errorf("a new lock: %v, want the server's OOM", err)
			}
			must.Be(t, h.Extend(within(t)), nil, "extend")
			must.Be(t, h.Release(within(t)), nil, "release")
			noKey(t, kind.Name, on, "held")
			setMemory(t, on, "0")
			noKey(t, kind.Name, on, "new")
			release(t, acquire(t, lock("new")))
		})
	}
}

func setMemory(t *testing.T, masters []*servertest.Redis, most string) {
	t.Helper()
	for _, m := range masters {
		must.Succeed(t, redisClient(t, m).ConfigSet(within(t), "maxmemory", most).Err())
	}
}
