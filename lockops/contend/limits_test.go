package contend

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// A run with a time limit is not ended before it, even if no contender is granted the lock.
func TestStalledRunEnds(t *testing.T) {
	t.Parallel()
	const stall = 30 * time.Millisecond
	for limit, tt := range map[time.Duration]struct {
		ends error
		says string
	}{0: {ErrStalled, "fake: no contender was granted the lock within 30ms"}, 2 * stall: {nil, "<nil>"}} {
		synctest.Test(t, func(t *testing.T) {
			target := &fakeTarget{permits: 0, choose: fifo, shown: true} // never granted
			run := must.Have(Start(t.Context(), target, Config{Contenders: 5, Rounds: 1, Stall: stall, For: limit}))(t)
			r, err := run.Wait()
			must.Be(t, err, tt.ends)
			must.Equal(t, fmt.Sprint(err), tt.says)
			must.Equal(t, r.Grants, 0, "grants")
			must.Equal(t, r.Duration, max(limit, stall), "the run's length")
			must.Equal(t, r.LongestWait, max(limit, stall), "longest wait")
		})
	}
}

func TestOnlyKnownTokensAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		target *fakeTarget
		newest uint64
	}{
		"three holds":                {&fakeTarget{}, 3},
		"holds without a token":      {&fakeTarget{untold: true}, 0},
		"lost holds":                 {&fakeTarget{loses: true}, 0},
		"holds that are too short":   {&fakeTarget{known: time.Second}, 0},
		"calls that are the arrival": {&fakeTarget{order: OrderOfCalls}, 3},
	} {
		tt.target.permits, tt.target.choose = 1, fifo
		run, r := finished(t, tt.target, Config{Contenders: 1, Rounds: 3})
		must.Equal(t, run.ledger.token, tt.newest, name, "newest token")
		must.Equal(t, r.TokensBack, 0, name, "tokens back")
		must.Equal(t, run.ledger.byCall, tt.target.order == "", name, "arrived late")
	}
}

// createAll creates persistent nodes.
func createAll(t *testing.T, conn *zk.Conn, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must.Have(conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	}
}

// Each request of Open and Close is refused in turn. A container that cannot be made is no failure:
// it becomes a persistent node.
func TestRefusedRequestsAreReported(t *testing.T) {
	t.Parallel()
	const opCreate, opCreateContainer = 1, 19
	var left atomic.Int32 // requests until one is refused
	refuse := func(op int32) bool { return op == opCreateContainer || op != opCreate && left.Add(-1) == 0 }
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Throttled: refuse})
	conn := plainZK(t, server)
	for moment, refused := 1, true; refused; moment++ {
		lock := fmt.Sprintf("/run%d/lock", moment)
		target := NewZooKeeper(onZooKeeper(server, lock))
		left.Store(int32(moment))
		err := target.Open(t.Context())
		if err == nil {
			createAll(t, conn, lock+"/leases", lock+"/leases/permit")
		}
		_, closing := target.Close(t.Context())
		refused = left.Load() <= 0
		text := fmt.Sprint(errors.Join(err, closing))
		must.Equal(t, strings.HasPrefix(text, "zookeeper "+lock+": "), refused, "request", moment, "is reported:", text)
	}
}

// Directories may vanish, be hidden, or be used by other clients before the end of a run.
func TestDirectoriesOfOthersAreKept(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := plainZK(t, server)
	for name, tt := range map[string]struct {
		others func(path string)
		stays  bool
	}{
		"vanished": {func(path string) { must.Succeed(t, conn.Delete(path, -1)) }, false},
		"hidden": {func(path string) {
			createAll(t, conn, path+"/x", path+"/x/y")
			must.Have(conn.SetACL(path+"/x", zk.WorldACL(zk.PermDelete), -1))(t)
		}, true},
		"too deep": {func(path string) { createAll(t, conn, path+"/x", path+"/x/y", path+"/x/y/z") }, true},
	} {
		path := servertest.UniquePath(t)
		target := NewZooKeeper(onZooKeeper(server, path))
		must.Succeed(t, target.Open(t.Context()))
		tt.others(path)
		_, err := target.Close(t.Context())
		must.Be(t, err, nil, name)
		there, _, err := conn.Exists(path)
		must.True(t, err == nil && there == tt.stays, name, "directory exists:", there, err)
	}
}
