package act

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// hooked calls a function right before each request that removes a node.
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

// eachConfirmed previews the release of one contender in a ZooKeeper queue of three and calls f
// with it.
func eachConfirmed(t *testing.T, index int, f func(t *testing.T, q confirmedRelease)) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		q := confirmedRelease{conn: connectZooKeeper(t, server.Addr), dir: servertest.UniquePath(t)}
		q.names = zkQueue(t, q.conn, q.dir, 3)
		q.hooked = &hooked{ZKConn: q.conn, beforeRemoval: func() {}}
		q.releaser = onEnsemble(t, q.hooked, server.Addr)
		request := ofNode(q.dir, q.names[index])
		request.Waiter = index > 0
		q.preview = confirmed(t, q.releaser, request)
		f(t, q)
	})
}

type confirmedRelease struct {
	conn     *zk.Conn
	hooked   *hooked
	dir      string
	names    []string
	releaser *ZooKeeper
	preview  Preview
}

func (q *confirmedRelease) remove(t *testing.T, index int) {
	t.Helper()
	must.Succeed(t, q.conn.Delete(q.dir+"/"+q.names[index], -1))
}

func (q *confirmedRelease) there(t *testing.T, index int) bool {
	t.Helper()
	ok, _, err := q.conn.Exists(q.dir + "/" + q.names[index])
	must.Succeed(t, err)
	return ok
}

// A waiter that has become the holder since it was confirmed is not removed.
func TestWaiterTurnedHolderIsNotRemoved(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 1, func(t *testing.T, q confirmedRelease) {
		q.remove(t, 0)
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		if err != nil || result.Released || result.Reason != Changed || !strings.Contains(result.Detail, "now does") || !q.there(t, 1) {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

// A waiter that becomes the holder between the last read and the delete stays, too: one transaction
// checks its role and deletes it.
func TestWaiterGrantedAfterCheckIsSpared(t *testing.T) {
	t.Parallel()
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

// If the caller's context ends before the delete is sent, it is never sent.
func TestCanceledReleaseSendsNothing(t *testing.T) {
	t.Parallel()
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
			t.Error("deleted after the operator canceled")
		}
	})
}

// If the context ends during the delete, the outcome is unknown. Late delivers it afterwards, and
// it is written to the audit file.
func TestLateDeleteIsReportedAndAudited(t *testing.T) {
	t.Parallel()
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
		lines := auditLines(t, q.releaser.audit.path)
		if len(lines) != 3 || lines[1]["phase"] != "result" || lines[1]["unknown"] != true || lines[1]["released"] != false ||
			lines[2]["phase"] != "late" || lines[2]["released"] != true {
			t.Errorf("audit %v", lines)
		}
	})
}

// After a lost reply the node is read again. A missing node does not show who removed it.
func TestUnansweredDeleteIsUnknown(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
			q.releaser.conn = &unanswering{ZKConn: q.conn, done: done}
			result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
			if result.Released || !result.Unknown || !errors.Is(err, ErrUnreachable) || (result.Detail == EndedSomehow.Words()) != done || q.there(t, 0) == done {
				t.Errorf("done %v: result %+v, %v", done, result, err)
			}
		})
	}
}

// unanswering loses the replies to deletes. With done, the deletes are executed.
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

// A value that gained or lost its quorum since it was confirmed is not deleted.
func TestQuorumChangeBlocksRelease(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		write := func(n int) {
			t.Helper()
			for i, c := range clients {
				err := c.Del(t.Context(), key).Err()
				if i < n {
					err = c.Set(t.Context(), key, "v", time.Minute).Err()
				}
				must.Succeed(t, err)
			}
		}
		releaser := onMasters(t, clients, addrs)
		request := Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: "v", Waiter: true}
		for _, masters := range []struct{ confirmed, now int }{{1, 2}, {1, 3}, {2, 1}} {
			write(masters.confirmed)
			p := confirmed(t, releaser, request)
			write(masters.now)
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

// A stopped master must not run the removal later, after the operator was told that nothing
// was removed.
func TestStoppedMasterRemovesNothingLater(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	clients, addrs := redisMastersOf(t, []*servertest.Redis{server})
	clients[0].Set(t.Context(), "lock:a", "v", time.Minute)
	audit, _ := openAudit(t)
	const limit = 5 * time.Second
	releaser := NewRedis([]redis.UniversalClient{&stopping{clients[0], func() { server.Pause(t) }}}, Target{Servers: addrs}, limit, audit)
	if result, err := perform(t, releaser, ofKey("lock:a", "v")); err == nil || result.Released {
		t.Errorf("result %+v, %v", result, err)
	}
	server.Resume(t)
	must.Succeed(t, clients[0].Ping(t.Context()).Err())
	if n := clients[0].Exists(t.Context(), "lock:a").Val(); n != 1 {
		t.Error("deleted after the operator was told that it was not")
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

// A lock is refused with a reason if we do not know how its library releases it.
func TestUnknownLibraryIsRefused(t *testing.T) {
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Recipe: "another", Kind: inspect.KindMutex,
		Masters: []inspect.Vote{{Up: true, Present: true, Held: &recipe.Record{Recipe: "another"}}},
	}
	if way, ok := removalOf(l, &inspect.Contender{Name: "w", State: inspect.Holding}, "w"); ok || !strings.Contains(unsupported(l), "stop its holder") {
		t.Errorf("removed by %+v; %s", way, unsupported(l))
	}
}

func TestNoNextCountsRemainingHolders(t *testing.T) {
	holding := inspect.Contender{State: inspect.Holding}
	readers := &inspect.Lock{Kind: inspect.KindRW, Holders: []inspect.Contender{holding, holding, holding}}
	semaphore := &inspect.Lock{Kind: inspect.KindSemaphore, Holders: readers.Holders}
	for want, p := range map[string]Preview{
		"none while 2 others hold the lock": {StillHolding: otherHolders(readers, &holding)},
		"none while 1 other holds the lock": {StillHolding: otherHolders(&inspect.Lock{Holders: readers.Holders[:1]}, &inspect.Contender{})},
		"unknown: no right":                 {StillHolding: 2, NextUnknown: "unknown: no right"},
		"no visible waiters":                {StillHolding: otherHolders(semaphore, &holding)},
	} {
		if got := p.NoNext(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
