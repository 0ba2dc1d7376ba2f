package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
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
		must.True(t, err == nil && !result.Released && result.Reason == Changed && q.there(t, 1), "result", result, err)
		must.Equal(t, result.Detail, "it did not hold the lock when this was confirmed, but now does")
	})
}

// A waiter that becomes the holder between the last read and the delete stays, too: one transaction
// checks its role and deletes it.
func TestWaiterGrantedAfterCheckIsSpared(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 1, func(t *testing.T, q confirmedRelease) {
		q.hooked.beforeRemoval = func() { q.remove(t, 0) }
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		must.True(t, err == nil && !result.Released && result.Reason == Changed && q.there(t, 1), "result", result, err)
		must.Equal(t, result.Detail, "the contender ahead of it is gone, so it may hold the lock by now")
		must.True(t, len(result.HoldersAfter) == 1 && result.HoldersAfter[0].Name.Raw() == q.names[1],
			"holders after:", result.HoldersAfter)
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
		must.True(t, errors.Is(err, context.Canceled) && !result.Released && !result.Unknown, "result", result, err)
		q.releaser.Close()
		must.True(t, !removed && q.there(t, 0), "deleted after the operator canceled")
	})
	r := faultyMasters(t, []faulty{{has: true}})
	p := confirmed(t, r, ofKey("lock:a", "v"))
	ended, end := context.WithCancel(t.Context())
	end()
	result, err := r.Execute(ended, p, "typed")
	must.True(t, errors.Is(err, errNotSent) && errors.Is(err, context.Canceled), "of Redis:", result, err)
	must.Equal(t, r.masters[0].Exists(t.Context(), "lock:a").Val(), 1, "keys left")
	_, err = r.timeLimit(ended, 0)
	must.Be(t, err, context.Canceled, "ended before the script is sent")
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
		must.Contain(t, err.Error(), "asked: delete zk:"+q.dir+": it was sent, and its outcome is unknown\n")
		close(gone)
		late, err := result.Settled(t.Context(), err)
		must.True(t, err == nil && late.Released && !late.Unknown && !q.there(t, 0), "late:", late, err)
		q.releaser.Close()
		_, err = q.releaser.Preview(t.Context(), q.preview.Request)
		must.Equal(t, fmt.Sprint(err), "server could not be asked: sync "+q.dir+": closed")
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
	must.True(t, unanswered(zk.ErrClosing) && unanswered(zk.ErrSessionExpired), "a closed session")
	for _, done := range []bool{true, false} {
		eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
			q.releaser.conn = cutOff{q.conn, func() {
				if done {
					q.remove(t, 0)
				}
			}}
			result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
			if result.Released || !result.Unknown || !errors.Is(err, ErrUnreachable) || (result.Detail == EndedSomehow.Words()) != done || q.there(t, 0) == done {
				t.Errorf("done %v: result %+v, %v", done, result, err)
			}
		})
	}
}

// A value that gained or lost its quorum since it was confirmed is not deleted.
func TestQuorumChangeBlocksRelease(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, releaser := onServers(t, servers...)
		key := servertest.UniqueName(t)
		write := func(n int) {
			t.Helper()
			for i, c := range clients {
				command(t, c, "DEL "+key)
				if i < n {
					command(t, c, "SET "+key+" v")
				}
			}
		}
		request := ofKey(key, "v")
		request.Waiter = true
		for _, masters := range []struct{ confirmed, now int }{{1, 2}, {1, 3}, {2, 1}} {
			write(masters.confirmed)
			p := confirmed(t, releaser, request)
			write(masters.now)
			result, err := releaser.Execute(t.Context(), p, "typed")
			must.True(t, err == nil && !result.Released && result.Reason == Changed && result.Detail != "",
				masters, "result", result, err)
			for i, c := range clients {
				exists := c.Exists(t.Context(), key).Val() == 1
				must.Equal(t, exists, i < masters.now, masters, "key on master", i)
			}
		}
	})
}

// A stopped master must not run the removal later, after the operator was told that nothing
// was removed.
func TestStoppedMasterRemovesNothingLater(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	clients, releaser := onServers(t, server)
	clients[0].Set(t.Context(), "lock:a", "v", time.Minute)
	must.Succeed(t, clients[0].ScriptLoad(t.Context(), scriptText("string")).Err())
	releaser.limit = 5 * time.Second
	clients[0].AddHook(atScripts(func(ctx context.Context, c redis.Cmder, send redis.ProcessHook) error {
		server.Pause(t)
		return send(ctx, c)
	}))
	result, err := perform(t, releaser, ofKey("lock:a", "v"))
	must.True(t, err != nil && !result.Released, "result", result, err)
	server.Resume(t)
	must.Succeed(t, clients[0].Ping(t.Context()).Err())
	must.Equal(t, clients[0].Exists(t.Context(), "lock:a").Val(), 1, "keys left, as the result said")
}

// A sync before each list makes the release read the leader's state.
func TestReleaseSyncsBeforeItLooks(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		var order []string
		q.releaser.conn = &ordered{q.hooked, &order}
		if result, err := q.releaser.Execute(t.Context(), q.preview, "typed"); err != nil || !result.Released {
			t.Fatalf("result %+v, %v", result, err)
		}
		i := slices.Index(order, "list "+q.dir)
		must.True(t, i >= 1 && slices.Contains(order[:i], "sync "+q.dir), "asked in this order:", order)
	})
}

// ordered records the order of requests.
type ordered struct {
	*hooked
	order *[]string
}

func (o *ordered) Sync(path string) (string, error) {
	*o.order = append(*o.order, "sync "+path)
	return o.hooked.Sync(path)
}

func (o *ordered) Children(path string) ([]string, *zk.Stat, error) {
	*o.order = append(*o.order, "list "+path)
	return o.hooked.Children(path)
}

// Data written since the preview may mean a revocation or a new owner, so the release is refused.
func TestReleaseRefusesRewrittenNode(t *testing.T) {
	t.Parallel()
	for index := range 2 {
		for _, gone := range []bool{false, true} {
			eachConfirmed(t, index, func(t *testing.T, q confirmedRelease) {
				q.hooked.beforeRemoval = func() {
					_, err := q.conn.Set(q.dir+"/"+q.names[index], []byte("new"), -1)
					must.Be(t, err, nil)
					if gone {
						q.remove(t, index)
					}
				}
				result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
				must.True(t, err == nil && !result.Released && q.there(t, index) != gone, "contender", index, result, err)
				must.Equal(t, result.Reason, map[bool]Reason{true: Gone, false: Changed}[gone])
			})
		}
	}
}

// A lock that cannot be read after its release was released.
func TestReleasedLockMayHide(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		q.hooked.beforeRemoval = func() {
			_, err := q.conn.SetACL(q.dir, zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
			must.Be(t, err, nil)
		}
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		must.True(t, result.Released && errors.Is(err, ErrUnreachable) && !q.there(t, 0), result, err)
	})
}

// The context may also end between the last read and the removal.
func TestCanceledRemovalIsNeverSent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	audit, _ := openAudit(t)
	z := NewZooKeeper(nil, Target{}, audit)
	sent := false
	do := func() (Reason, string, error) { sent = true; return "", "", nil }
	result, err := z.remove(ctx, do, Result{}, line{Lock: "zk:/a"})
	if result.Late != nil {
		close(result.recorded) // so that Close has nothing to wait for
	}
	z.Close()
	must.True(t, !sent && !result.Unknown, "sent", sent, result)
	must.Equal(t, fmt.Sprint(err), "server could not be asked: delete zk:/a: it was not sent\ncontext canceled")
}

func TestMain(m *testing.M) { servertest.Main(m) }

// A recreated directory can give a node the same number, at version 0. Only czxid and session
// differ.
func TestReleaseRefusesRecreatedNode(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 1)
		releaser := onEnsemble(t, conn, server.Addr)
		request := ofNode(dir, names[0])
		p := must.Have(releaser.Preview(t.Context(), request))(t)
		for _, path := range []string{dir + "/" + names[0], dir} {
			must.Succeed(t, conn.Delete(path, -1))
		}
		if again := zkQueue(t, conn, dir, 1); again[0] != names[0] {
			t.Fatalf("recreated as %s, want the same name", again[0])
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		must.True(t, err == nil && result.Reason == Changed && !result.Released, "result", result, err)
		_, stat, err := conn.Get(dir + "/" + names[0])
		must.True(t, err == nil && stat.Czxid != p.Seen.Czxid, "the new node was touched:", err)
		// A preview of the node as seen before is refused too.
		old := *p.Seen
		request.Lock = &inspect.Lock{ID: request.ID, Holders: []inspect.Contender{old}}
		must.Equal(t, must.Have(releaser.Preview(t.Context(), request))(t).Refused, Changed, "preview")
	})
}

func TestNoAuditNoAction(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		q.releaser.audit.Close()
		result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
		must.True(t, err != nil && !result.Released && result.Reason == "audit" && q.there(t, 0), "result", result, err)
	})
}

func TestReleaseChecksAndDeletesPerMaster(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, releaser := onServers(t, servers...)
		key := servertest.UniqueName(t)
		for _, value := range []string{"Y2NjY2NjY2NjY2NjY2NjYw==", "\xff\x00binary"} {
			for _, c := range clients {
				must.Succeed(t, c.Set(t.Context(), key, value, time.Minute).Err())
			}
			request := ofKey(key, value)
			p := confirmed(t, releaser, request)
			must.Equal(t, len(p.Sends), 3, "requests in the preview")
			// The third master gets another holder between preview and release. That holder must
			// stay.
			must.Succeed(t, clients[2].Set(t.Context(), key, "other", time.Minute).Err())
			result, err := releaser.Execute(t.Context(), p, "--yes")
			must.True(t, err == nil && result.Released, "result", result, err)
			m := result.Masters
			must.True(t, m[0].Deleted && m[1].Deleted && !m[2].Deleted, "masters", m)
			must.Equal(t, clients[2].Get(t.Context(), key).Val(), "other", "value on the third master")
			text, _ := os.ReadFile(releaser.audit.path)
			must.True(t, !strings.Contains(string(text), "Y2Nj"), "the audit file contains a holder's secret value:", text)
			must.Equal(t, must.Have(releaser.Preview(t.Context(), request))(t).Refused, Changed, "stale owner")
			clients[2].Del(t.Context(), key)
			must.Equal(t, must.Have(releaser.Preview(t.Context(), request))(t).Refused, Gone, "gone owner")
		}
	})
}

func TestReleaseFailsWithoutQuorum(t *testing.T) {
	t.Parallel()
	servers := servertest.StartEmbeddedMasters(t, 3)
	clients, releaser := onServers(t, servers...)
	for _, c := range clients {
		c.Set(t.Context(), "lock:a", "v", 0)
	}
	p := confirmed(t, releaser, ofKey("lock:a", "v"))
	servers[1].Stop(t)
	servers[2].Stop(t)
	result, err := releaser.Execute(t.Context(), p, "typed")
	must.True(t, err != nil && !result.Released && result.Reason == NoQuorum, "result", result, err)
	must.Equal(t, result.Detail, "too few masters answer to tell whether it holds the lock; nothing was done")
	_, err = releaser.Preview(t.Context(), p.Request)
	must.Contain(t, fmt.Sprint(err), ": too few answered to tell who holds it: master "+servers[1].Addr)
	must.Equal(t, releaser.read(t.Context(), p.Request.ID).lock.Masters[1].Addr, servers[1].Addr, "silent master")
	must.True(t, !result.Masters[0].Deleted && result.Masters[1].Err != nil, "masters", result.Masters)
	must.Equal(t, clients[0].Exists(t.Context(), "lock:a").Val(), 1, "keys, although the holder is unknown")
}

// Of many concurrent releases of one holder, exactly one succeeds.
func TestConcurrentReleasesSucceedOnce(t *testing.T) {
	t.Parallel()
	eachConfirmed(t, 0, func(t *testing.T, q confirmedRelease) {
		results := make(chan Result, 8)
		for range cap(results) {
			go func() {
				r, err := q.releaser.Execute(t.Context(), q.preview, "typed")
				must.Be(t, err, nil)
				results <- r
			}()
		}
		released := 0
		for range cap(results) {
			if r := <-results; r.Released {
				released++
			} else {
				must.Equal(t, r.Reason, Gone, "reason")
			}
		}
		must.Equal(t, released, 1, "releases that succeeded")
		must.True(t, q.there(t, 1) && q.there(t, 2), "the waiters stay")
	})
}
