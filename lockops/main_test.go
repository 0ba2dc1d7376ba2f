package lockops_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// within returns a context for a test's calls: long enough for a busy machine, short enough to
// detect a hang.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func zkSession(t testing.TB, addr string, opts ...lockops.ZKOption) *lockops.ZKSession {
	t.Helper()
	opts = append([]lockops.ZKOption{lockops.WithSessionTimeout(20 * time.Second)}, opts...) // survives a busy machine
	s := must.Have(lockops.NewZKSession(within(t), []string{addr}, opts...))(t)
	t.Cleanup(s.Close)
	return s
}

func acquire(t testing.TB, l lockops.Locker) *lockops.Hold {
	t.Helper()
	return must.Have(l.Acquire(within(t)))(t)
}

func release(t testing.TB, h *lockops.Hold) {
	t.Helper()
	must.Succeed(t, h.Release(within(t)))
}
