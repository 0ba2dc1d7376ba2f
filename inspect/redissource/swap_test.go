package redissource_test

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// SWAPDB pushes no keys. A missing key reveals it, and all keys are read again.
func TestSwappedDatabasesAreNoticed(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := m.Client(t)
	run(t, c, `SET lock:both second
		COPY lock:both lock:both DB 1
		COPY lock:both lock:came DB 1
		SET lock:both first
		SET lock:gone x`)
	cfg := pushConfig(m)
	cfg.Budget.ScanEvery = 100 * time.Millisecond
	v := watchPushed(t, cfg)
	v.Await("the original keys", func() bool { return holder(v, "lock:both", "first")() && state(v, "lock:gone", inspect.StateHeld)() })
	set(t, m, "lock:marker", "x", 0) // is read after everything else
	v.Await("all other reads done", state(v, "lock:marker", inspect.StateHeld))
	run(t, c, "SWAPDB 0 1")
	v.Await("the keys of the other database", func() bool {
		return holder(v, "lock:both", "second")() && state(v, "lock:gone", inspect.StateFree)()
	})
	v.Await("a key that only the other database had", state(v, "lock:came", inspect.StateHeld))
	v.Peek(func() {
		must.True(t, v.Locks["lock:gone"].Masters[0].Unsure, "the end of lock:gone is not marked as unsure")
		if v.Locks["lock:both"].UnseenSince.IsZero() {
			t.Error("the change of lock:both has no bound")
		}
	})
}
