package redissource_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
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
	cfg := pushConfig(m)
	cfg.Masters = viewed(t, m, "resetkeys ~lock:open:*").Masters
	cfg.Tick = 50 * time.Millisecond // the master pushes, so nothing is polled
	v := watchPushed(t, cfg)
	v.Await("all but the secret key", func() bool { return len(v.Locks) == many && v.Backend.Unknown(inspect.AspectLocks) })

	allow("~lock:*")
	v.Await("the secret key", func() bool { return holder(v, "lock:secret", "first")() && !v.Backend.Unknown(inspect.AspectLocks) })
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
		return !slices.ContainsFunc(keys, func(key string) bool { return !holder(v, key, "second")() })
	})
}
