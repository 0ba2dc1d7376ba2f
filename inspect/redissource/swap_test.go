package redissource_test

import (
	"context"
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
	c, ctx := client(t, m), context.Background()
	for _, words := range [][]any{
		{"set", "lock:both", "second"},
		{"copy", "lock:both", "lock:both", "db", 1},
		{"copy", "lock:both", "lock:came", "db", 1},
		{"set", "lock:both", "first"},
		{"set", "lock:gone", "x"},
	} {
		if err := c.Do(ctx, words...).Err(); err != nil {
			t.Fatal(words, err)
		}
	}
	cfg := pushConfig(m)
	cfg.Budget.ScanEvery = 100 * time.Millisecond
	v, _ := watch(t, cfg)
	awaitPush(v)
	v.Await("the original keys", func() bool { return holder(v, "lock:both", "first")() && state(v, "lock:gone", inspect.StateHeld)() })
	set(t, m, "lock:marker", "x", 0) // is read after everything else
	v.Await("all other reads done", state(v, "lock:marker", inspect.StateHeld))
	must.Succeed(t, c.Do(ctx, "swapdb", 0, 1).Err())
	v.Await("the keys of the other database", func() bool {
		return holder(v, "lock:both", "second")() && state(v, "lock:gone", inspect.StateFree)()
	})
	v.Await("a key that only the other database had", state(v, "lock:came", inspect.StateHeld))
	peek(v, func() {
		must.True(t, v.Locks["lock:gone"].Masters[0].Unsure, "the end of lock:gone is not marked as unsure")
		if v.Locks["lock:both"].UnseenSince.IsZero() {
			t.Error("the change of lock:both has no bound")
		}
	})
}
