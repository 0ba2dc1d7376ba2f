package hold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/sandbox"
	"github.com/lockscope/lockscope/tui/lab"
)

// redisProbe notices within a second that its pool was closed while the server is down.
var redisProbe = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")

// labOn is a Lab on these targets, without a configuration.
func labOn(t *testing.T, urls ...string) *Lab {
	t.Helper()
	targets := must.Have(connect.ParseTargets(urls))(t)
	a := &app.App{Environment: app.Environment{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now, Getenv: func(string) string { return "" }}}
	a.Timeout = 30 * time.Second
	l := NewLab(a, app.Setup{Targets: targets}, func(inspect.ID) {}, nil)
	t.Cleanup(l.Close)
	return l
}

func lockID(t *testing.T, text string) inspect.ID {
	t.Helper()
	return must.Have(inspect.ParseID(text))(t)
}

func ignoreWaiting(string) {}

func TestLabAcquiresReentersAndReleases(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), redisProbe)
	box := must.Have(sandbox.Start("fair", 1))(t)
	defer box.Close()
	l := labOn(t, box.Targets()...)
	defer l.Close()
	for _, o := range []lab.Order{
		{Lock: lockID(t, "zk:/lab/one"), Kind: "mutex", Recipe: "curator"},
		{Lock: lockID(t, "redis:lock:one"), Kind: "redlock", TTL: 30 * time.Second},
	} {
		hold := must.Have(l.Acquire(t.Context(), o, ignoreWaiting))(t)
		if left, ok := hold.Deadline(); !ok || time.Until(left) <= 0 || hold.Name() == "" {
			t.Errorf("%s: held until %v, as %q", o.Lock, left, hold.Name())
		}
		try := o
		try.Try = true
		_, err := l.Acquire(t.Context(), try, ignoreWaiting)
		must.Be(t, err, lockops.ErrHeld, o.Lock, "taken twice")
		inner := must.Have(hold.Reenter(t.Context()))(t)
		must.Be(t, hold.Extend(t.Context()), nil, o.Lock, "extend")
		must.Be(t, errors.Join(hold.Release(t.Context()), inner.Release(t.Context())), nil, o.Lock, "release")
		again := must.Have(l.Acquire(t.Context(), try, ignoreWaiting))(t) // free after the last release
		must.Be(t, again.Release(t.Context()), nil)
	}
}

// For contention, several masters offer one of them next to all.
func TestLabOffersEachBackend(t *testing.T) {
	t.Parallel()
	list := labOn(t, "zk://z1", "redis://r1?name=one", "redis://r1,r2,r3?name=three").Backends()
	for i, want := range []string{
		"zk true 0 [mutex read write semaphore] [mutex read,write semaphore]",
		"one false 1 [mutex fair] [mutex fair]",
		"three false 3 [redlock] [mutex on one master redlock]",
	} {
		b := list[i]
		must.Equal(t, fmt.Sprint(b.Name, " ", b.ZooKeeper, b.Masters, b.Kinds, b.Targets), want)
	}
}

// A waiter receives its name, and a canceled wait leaves nothing behind.
func TestCanceledLabWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		l := labOn(t, "zk://"+server.Addr)
		defer l.Close()
		o := lab.Order{Lock: lockID(t, "zk:"+servertest.UniquePath(t)), Kind: "mutex", Recipe: "kazoo"}
		hold := must.Have(l.Acquire(t.Context(), o, ignoreWaiting))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		names, done := make(chan string, 1), make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, o, func(name string) { names <- name })
			done <- err
		}()
		must.Contain(t, <-names, "__lock__", "waiter's name")
		mixed := o
		mixed.Recipe = "curator"
		var refused *lockops.RecipeError
		if _, err := l.Acquire(t.Context(), mixed, ignoreWaiting); !errors.As(err, &refused) || refused.Found != "kazoo" || refused.Want != "curator" {
			t.Errorf("another library's queue: %v", err)
		}
		cancel()
		must.Be(t, <-done, context.Canceled, "canceled wait")
		must.Be(t, hold.Release(t.Context()), nil)
		if n := children(t, server.Addr, o.Lock.Path); n > 0 {
			t.Errorf("%d nodes are left", n)
		}
	})
}

// Closing the lab releases held locks right away, before any session or TTL ends.
func TestClosedLabReleasesItsLocks(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		o := lab.Order{Lock: lockID(t, "redis:"+key), Kind: "mutex", TTL: time.Hour, Try: true}
		first := labOn(t, "redis://"+masters[0].Addr)
		must.Have(first.Acquire(t.Context(), o, ignoreWaiting))(t)
		first.Close()
		_, err := first.Acquire(t.Context(), o, ignoreWaiting)
		must.Be(t, err, lockops.ErrClosed, "taken after the end")
		second := labOn(t, "redis://"+masters[0].Addr)
		must.Have(second.Acquire(t.Context(), o, ignoreWaiting))(t)
		second.Close()
		unused := labOn(t, "redis://"+masters[0].Addr)
		unused.Close()
		_, err = unused.Acquire(t.Context(), o, ignoreWaiting)
		must.Be(t, err, lockops.ErrClosed, "taken by a closed lab without a session")
	})
}

// The runs that the screen offers first leave nothing behind after they are stopped.
func TestStoppedRunsLeaveNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), redisProbe)
	box := must.Have(sandbox.Start("fair", 1))(t)
	defer box.Close()
	l := labOn(t, box.Targets()...)
	defer l.Close()
	backends := l.Backends()
	for _, b := range backends {
		for _, target := range b.Targets {
			run, err := l.Contend(t.Context(), lab.RunOptions{
				Backend: b.Name, Target: target, Contenders: 3, Hold: time.Millisecond, Think: time.Millisecond, Seed: 1,
			})
			if err != nil {
				t.Fatalf("%s %s: %v", b.Name, target, err)
			}
			for e := range run.Events() {
				if e.Kind.String() == "granted" {
					run.Stop()
					break
				}
			}
			report, err := run.Wait()
			if err != nil || report.Grants == 0 || report.Overlaps > 0 || len(report.Left) > 0 {
				t.Errorf("%s %s: %v: %+v", b.Name, target, err, report)
			}
			if !strings.HasPrefix(report.Lock, "zk:/lockscope-lab/") && !strings.HasPrefix(report.Lock, "redis:lock:lockscope-lab:") {
				t.Errorf("unexpected lock %s", report.Lock)
			}
		}
	}
	if n := children(t, strings.TrimSuffix(strings.TrimPrefix(strings.Split(box.Targets()[0], "?")[0], "zk://"), "/"), "/lockscope-lab"); n > 0 {
		t.Errorf("%d locks are left", n)
	}
}

// The lock of a run leaves the list soon after the run, long before other free locks do.
func TestFinishedRunLeavesTheList(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), redisProbe)
	box := must.Have(sandbox.Start("fair", 1))(t)
	defer box.Close()
	l := labOn(t, box.Targets()...)
	defer l.Close()
	l.app.Budget, l.app.StuckAfter = "default", time.Minute
	observer := must.Have(l.app.Observer(l.setup, false, ""))(t)
	l.forget = observer.Forget
	ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
	feed, watched := observer.Subscribe(), make(chan error, 1)
	go func() { watched <- observer.Run(ctx) }()
	defer func() {
		stop()
		must.Be(t, <-watched, nil)
	}()
	listed := func(path string, want bool) {
		t.Helper()
		for {
			s, err := feed.Next(ctx)
			if err != nil {
				t.Fatalf("%s listed: want %v", path, want)
			}
			if (s.Lock(lockID(t, path)) != nil) == want {
				return
			}
		}
	}
	run := must.Have(l.Contend(ctx, lab.RunOptions{Backend: "redis", Target: "redlock", Contenders: 2, Hold: 200 * time.Millisecond, Seed: 1}))(t)
	path := run.Snapshot().Lock
	listed(path, true)
	run.Stop()
	must.Have(run.Wait())(t)
	listed(path, false)
}

func TestLabRespectsReadOnly(t *testing.T) {
	t.Parallel()
	l := labOn(t, "redis://127.0.0.1:1")
	l.setup.ProfileName, l.setup.Profile.ReadOnly = "prod", true
	_, err := l.Acquire(t.Context(), lab.Order{Lock: lockID(t, "redis:a"), Kind: "mutex"}, ignoreWaiting)
	must.Contain(t, fmt.Sprint(err), "read_only", "Acquire")
	_, err = l.Contend(t.Context(), lab.RunOptions{Backend: "redis", Target: "mutex"})
	must.Contain(t, fmt.Sprint(err), "read_only", "Contend")
}

// children counts the nodes below a path, 0 if the path does not exist.
func children(t *testing.T, addr, path string) int {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogInfo(false))
	must.Succeed(t, err)
	defer func() {
		conn.Close()
		for range events { // closed once the connection's goroutines have ended
		}
	}()
	names, _, err := conn.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return len(names)
}
