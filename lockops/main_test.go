package lockops_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// hangs is the longest that a call may take, even on a busy machine.
const hangs = 60 * time.Second

// patient is a time limit for busy machines. A Redlock's default is half a second.
var patient = lockops.WithMasterLimit(8 * time.Second)

// oneRedisKinds are the locks on one Redis, and redisKinds also those on several masters.
var (
	oneRedisKinds = lockops.KindsOn(lockops.OnRedis)
	redisKinds    = append(lockops.KindsOn(lockops.OnRedis), lockops.KindsOn(lockops.OnRedisMasters)...)
)

// within returns a context for a test's calls: long enough for a busy machine, short enough to
// detect a hang.
func within(t testing.TB) context.Context {
	t.Helper()
	return limited(t, time.Minute)
}

// limited returns a context that ends after a while.
func limited(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// eachZooKeeper runs a test on every kind of server, with an unused path, in parallel with other
// tests.
func eachZooKeeper(t *testing.T, f func(t *testing.T, server *servertest.ZooKeeper, path string)) {
	t.Helper()
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		f(t, server, servertest.UniquePath(t))
	})
}

// eachRedis runs a test on n masters of every kind, with an unused key, in parallel with other tests.
func eachRedis(t *testing.T, n int, f func(t *testing.T, masters []*servertest.Redis, key string)) {
	t.Helper()
	t.Parallel()
	servertest.EachRedis(t, n, func(t *testing.T, masters []*servertest.Redis) {
		f(t, masters, servertest.UniqueName(t))
	})
}

// behindProxy starts an embedded server and a proxy in front of it.
func behindProxy(t testing.TB) (*servertest.ZooKeeper, *proxy) {
	t.Helper()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	return server, startProxy(t, server.Addr)
}

func threeMasters(t testing.TB) []*servertest.Redis {
	t.Helper()
	return []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
}

// anyMasters returns three masters that can be restarted, but not paused.
func anyMasters(t testing.TB) []*servertest.Redis {
	t.Helper()
	return []*servertest.Redis{lockops.AnyRedis(t), lockops.AnyRedis(t), lockops.AnyRedis(t)}
}

// mastersOf returns one master or, for a Redlock, all.
func mastersOf(k lockops.Kind, all []*servertest.Redis) []*servertest.Redis {
	if k.On == lockops.OnRedis {
		return all[:1]
	}
	return all
}

// zkSession is a session that survives a busy machine, and ends with the test.
func zkSession(t testing.TB, addr string, opts ...lockops.ZKOption) *lockops.ZKSession {
	t.Helper()
	opts = append([]lockops.ZKOption{lockops.WithSessionTimeout(20 * time.Second)}, opts...) // survives a busy machine
	s := must.Have(lockops.NewZKSession(within(t), []string{addr}, opts...))(t)
	t.Cleanup(s.Close)
	return s
}

// redisSession is a session that survives a busy machine, and ends with the test.
func redisSession(t testing.TB, masters ...*servertest.Redis) *lockops.RedisSession {
	t.Helper()
	return redisSessionAt(t, addrsOf(masters), lockops.WithRequestLimit(10*time.Second)) // busy machines connect slowly
}

// redisSessionAt is redisSession with other addresses and limits.
func redisSessionAt(t testing.TB, addrs []string, opts ...lockops.RedisOption) *lockops.RedisSession {
	t.Helper()
	return redisSessionWith(t, redisOptions(addrs...), opts...)
}

type masterOptions = []*redis.UniversalOptions

// redisSessionWith is redisSession with logins or sentinels.
func redisSessionWith(t testing.TB, masters masterOptions, opts ...lockops.RedisOption) *lockops.RedisSession {
	t.Helper()
	s := must.Have(lockops.NewRedisSession(within(t), masters, opts...))(t)
	t.Cleanup(s.Close)
	return s
}

// redisKind returns a kind of lock on Redis by its name.
func redisKind(name string) lockops.Kind {
	return redisKinds[slices.IndexFunc(redisKinds, func(k lockops.Kind) bool { return k.Name == name })]
}

func addrsOf(masters []*servertest.Redis) (addrs []string) {
	for _, m := range masters {
		addrs = append(addrs, m.Addr)
	}
	return addrs
}

// redisOptions returns the options of one master for each address.
func redisOptions(addrs ...string) (masters masterOptions) {
	for _, addr := range addrs {
		masters = append(masters, &redis.UniversalOptions{Addrs: []string{addr}})
	}
	return masters
}

// lockOf makes a lock. On Redis its time limit suits a busy machine, unless opts set another.
func lockOf(t testing.TB, k lockops.Kind, s lockops.Session, name string, opts ...lockops.Option) lockops.Locker {
	t.Helper()
	if k.On != lockops.OnZooKeeper {
		opts = slices.Concat([]lockops.Option{patient}, opts)
	}
	return must.Have(k.New(s, name, opts...))(t)
}

// kindMaker is lockOf with the options of a call still open, for mustQueue.
func kindMaker(t testing.TB, k lockops.Kind, s lockops.Session, name string, opts ...lockops.Option) maker {
	return func(more ...lockops.Option) lockops.Locker { return lockOf(t, k, s, name, append(more, opts...)...) }
}

// acquire takes a lock. It must succeed within a minute.
func acquire(t testing.TB, l lockops.Locker) *lockops.Hold {
	t.Helper()
	return must.Have(l.Acquire(within(t)))(t)
}

// release releases holds. Each must succeed within a minute.
func release(t testing.TB, holds ...*lockops.Hold) {
	t.Helper()
	for _, h := range holds {
		must.Succeed(t, h.Release(within(t)))
	}
}

// releaseUnless releases a hold, unless its Acquire ended with this error.
func releaseUnless(t testing.TB, h *lockops.Hold, err, ended error) {
	t.Helper()
	if err == nil {
		release(t, h)
		return
	}
	must.Be(t, err, ended)
}

type acquired struct {
	h   *lockops.Hold
	err error
}

// begin starts an Acquire.
func begin(ctx context.Context, l lockops.Locker) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		h, err := l.Acquire(ctx)
		got <- acquired{h, err}
	}()
	return got
}

// maker makes a lock with more options.
type maker func(...lockops.Option) lockops.Locker

// mustQueue starts an Acquire that must wait, and returns the name of its contender once it does.
func mustQueue(t testing.TB, ctx context.Context, m maker) (name string, result <-chan acquired) {
	t.Helper()
	waiting := make(chan string, 10)
	result = begin(ctx, m(lockops.OnWaiting(func(name string) { waiting <- name })))
	select {
	case name = <-waiting:
	case a := <-result:
		t.Fatalf("did not wait: %v", a.err)
	case <-time.After(hangs):
		t.Fatal("neither waits nor holds")
	}
	return name, result
}

// granted waits for an Acquire that succeeds.
func granted(t testing.TB, got <-chan acquired) *lockops.Hold {
	t.Helper()
	a := <-got
	must.Succeed(t, a.err)
	return a.h
}

// refused checks the error of TryAcquire.
func refused(t testing.TB, l lockops.Locker, want error, note ...any) {
	t.Helper()
	h, err := l.TryAcquire(within(t))
	must.True(t, err != nil, append(note, "granted, want", want)...)
	releaseUnless(t, h, err, want)
}

// returned waits for the error of a call that must not hang.
func returned(t testing.TB, what string, call func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	return lockops.Await(t, what+" ends", ended)
}

// awaitLoss waits until a hold is lost, and checks the reasons.
func awaitLoss(t testing.TB, h *lockops.Hold, reasons ...error) {
	t.Helper()
	lockops.Await(t, "the loss is reported", h.Context().Done())
	isAll(t, context.Cause(h.Context()), append(reasons, lockops.ErrLost)...)
}

// isAny checks that an error is one of several, of which one may be nil.
func isAny(t testing.TB, err error, wants ...error) {
	t.Helper()
	is := slices.ContainsFunc(wants, func(want error) bool { return errors.Is(err, want) })
	must.True(t, is, err, "is none of", wants)
}

// lasts checks that a hold's deadline is at least this far away.
func lasts(t testing.TB, h *lockops.Hold, least time.Duration) {
	t.Helper()
	d, ok := h.Deadline()
	must.True(t, ok && time.Until(d) >= least, "deadline in", time.Until(d), "want at least", least)
}

// isAll checks that an error wraps each of several.
func isAll(t testing.TB, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		must.Be(t, err, want)
	}
}
