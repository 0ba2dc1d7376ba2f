package act

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

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
		if i < 1 || !slices.Contains(order[:i], "sync "+q.dir) {
			t.Errorf("asked in this order: %v", order)
		}
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
		eachConfirmed(t, index, func(t *testing.T, q confirmedRelease) {
			q.hooked.beforeRemoval = func() {
				if _, err := q.conn.Set(q.dir+"/"+q.names[index], []byte("new"), -1); err != nil {
					t.Error(err)
				}
			}
			result, err := q.releaser.Execute(t.Context(), q.preview, "typed")
			if err != nil || result.Released || result.Reason != Changed || !q.there(t, index) {
				t.Errorf("contender %d: %+v, %v", index, result, err)
			}
		})
	}
}

// A value that still has a quorum after the release was not released.
func TestRemainingQuorumIsNotReleased(t *testing.T) {
	t.Parallel()
	servers := servertest.StartEmbeddedMasters(t, 3)
	clients, addrs := redisMastersOf(t, servers)
	for i := range clients {
		clients[i].Set(t.Context(), "lock:a", "v", 0)
		if i > 0 {
			clients[i] = &unwilling{clients[i]}
		}
	}
	releaser := onMasters(t, clients, addrs)
	result, err := perform(t, releaser, ofKey("lock:a", "v"))
	if err != nil || result.Released || result.Reason != NoQuorum || !result.Masters[0].Deleted || len(result.HoldersAfter) != 1 {
		t.Errorf("result %+v, %v", result, err)
	}
}

// unwilling is a master that ignores requests to delete.
type unwilling struct{ redis.UniversalClient }

func (u *unwilling) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return u.UniversalClient.Eval(ctx, "return 0", nil)
}

// The deletion counts even if publishing is denied, since the key may be unreadable afterwards.
func TestScriptSurvivesDeniedWakeUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin, _ := redisMastersOf(t, []*servertest.Redis{server})
	const key, value = "lock:string", "lockscope:YWFhYWFhYWFhYWFhYWFhYQ:a"
	must.Succeed(t, admin[0].Set(t.Context(), key, value, 0).Err())
	way, ok := removalOf(&inspect.Lock{ID: inspect.ID{Backend: "redis", Path: key}}, &inspect.Contender{Name: value}, value)
	if !ok {
		t.Fatal("a plain string cannot be released")
	}
	way.args = append(way.args, 0) // no time limit
	c := aclUser(t, server, "mute", "~"+key, "resetchannels", "+@all", "-@admin")
	if deleted, err := way.run(t.Context(), c); !deleted || err != nil {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}

// The context may also end between the last read and the removal.
func TestCanceledRemovalIsNeverSent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	audit, _ := openAudit(t)
	z := NewZooKeeper(nil, Target{}, audit)
	sent := false
	result, err := z.remove(ctx, func() (Reason, string, error) { sent = true; return "", "", nil }, Result{}, line{})
	if result.Late != nil {
		close(result.recorded) // so that Close has nothing to wait for
	}
	z.Close()
	if sent || !errors.Is(err, errNotSent) || result.Unknown {
		t.Errorf("sent %v: %+v, %v", sent, result, err)
	}
}
