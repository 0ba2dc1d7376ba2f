package redissource_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The four keys of Ruby's semaphore are one lock, with its permits.
func TestARubySemaphoreIsOneLock(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		m := masters[0]
		c := client(t, m)
		do := func(args ...any) {
			t.Helper()
			must.Succeed(t, c.Do(t.Context(), args...).Err())
		}
		do("set", "SEMAPHORE:x:EXISTS", "1")
		do("set", "SEMAPHORE:x:VERSION", "1")
		do("hset", "SEMAPHORE:x:GRABBED", "0", "1763715600.25", "1", "1763715601.5")
		do("set", "semaphore:other:EXISTS", "1") // of something else
		cfg := config(masters)
		s := diagnosed(t, cfg)
		if got := keysOf(s); len(got) != 1 || got[0] != "SEMAPHORE:x" {
			t.Fatalf("listed %q", got)
		}
		l := lockAt(s, "SEMAPHORE:x")
		if l.Kind != inspect.KindSemaphore || l.State != inspect.StateHeld || l.Limit != 2 || len(l.Holders) != 2 || !l.Holders[0].Since.Equal(time.UnixMilli(1763715600250)) {
			t.Errorf("%+v", l)
		}
		if got := (describe.View{Now: s.TakenAt}).Standing(l); !strings.HasPrefix(got, "2 of 2 permits used") {
			t.Errorf("its verdict: %s", got)
		}
		do("hdel", "SEMAPHORE:x:GRABBED", "0", "1")
		do("rpush", "SEMAPHORE:x:AVAILABLE", "1", "0")
		if l := lockAt(diagnosed(t, cfg), "SEMAPHORE:x"); l == nil || l.State != inspect.StateFree || l.Limit != 2 {
			t.Errorf("all are free: %+v", l)
		}
	})
}
