package act

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// kazooLock is a lock in ZooKeeper with these sessions in its queue, the holder first. 0 is unknown.
func kazooLock(path string, sessions ...int64) *inspect.Lock {
	var nodes []inspect.Znode
	for i, session := range sessions {
		name := fmt.Sprintf("0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__%010d", i)
		nodes = append(nodes, inspect.Znode{Name: name, Known: true, EphemeralOwner: session, Czxid: int64(i + 1)})
	}
	l, _ := inspect.Directory{Children: nodes}.Lock(inspect.ID{Backend: "zk", Path: path}, time.Now())
	return l
}

func backend(name string, kind inspect.BackendKind, state inspect.BackendState) *inspect.Backend {
	return &inspect.Backend{Name: name, Kind: kind, State: state, FirstPass: state != inspect.Down}
}

// considered is the effect of releasing the holder of the first lock.
func considered(backends []*inspect.Backend, locks ...*inspect.Lock) Others {
	p := Preview{Request: Request{ID: locks[0].ID}, Seen: &locks[0].Holders[0]}
	var s *inspect.Snapshot
	if backends != nil {
		s = inspect.NewSnapshot(time.Now(), backends, locks)
	}
	p.Consider(s)
	return p.Others
}

func TestPreviewConsidersOtherLocks(t *testing.T) {
	const (
		unread = "not all other locks could be read: its client may hold more than is shown"
		cycle  = ", and whether this breaks a deadlock is unknown"
		more   = "the client still holds: zk:/b, zk:/c, zk:/d, and 1 more"
	)
	zks := func(state inspect.BackendState, others ...*inspect.Backend) []*inspect.Backend {
		return append(others, backend("zk", inspect.ZooKeeper, state))
	}
	reading := zks(inspect.Connected)
	reading[0].FirstPass = false
	all := []*inspect.Lock{
		kazooLock("/a", 1), kazooLock("/b", 1), kazooLock("/c", 1), kazooLock("/d", 1), kazooLock("/e", 1), kazooLock("/f", 2),
	}
	one := all[:1]
	cycleOf := []*inspect.Lock{kazooLock("/a", 1, 2), kazooLock("/b", 2, 1)}
	behindCycle := []*inspect.Lock{kazooLock("/a", 1, 2, 3), kazooLock("/b", 2, 3), kazooLock("/c", 3, 2)}
	downRedis, downZK := backend("other", inspect.Redis, inspect.Down), backend("other", inspect.ZooKeeper, inspect.Down)
	for _, tt := range []struct {
		name     string
		backends []*inspect.Backend
		locks    []*inspect.Lock
		deadlock Deadlock
		lines    string
	}{
		{"all read", zks(inspect.Connected), all, "none", more},
		{"no other locks", zks(inspect.Connected), one, "none", ""},
		{"another backend's", zks(inspect.Connected)[:0], one, "unknown", unread + cycle},
		{"not all read", zks(inspect.Degraded), all[:2], "unknown", unread + cycle + "; the client still holds: zk:/b"},
		{"being read", reading, one, "unknown", unread + cycle},
		{"nothing read", nil, all, "unknown", unread + cycle},
		{"Redis, where the same program may wait, is down", zks(inspect.Connected, downRedis), all, "unknown", unread + cycle + "; " + more},
		{"another ensemble, with its own sessions, is down", zks(inspect.Connected, downZK), all, "none", more},
		{"a deadlock", zks(inspect.Connected), cycleOf, "ends", "this also breaks the deadlock; the client is still waiting for: zk:/b"},
		{"a deadlock of waiters", zks(inspect.Connected), behindCycle, "stays", "this does not break the deadlock"},
	} {
		o := considered(tt.backends, tt.locks...)
		must.Equal(t, o.Deadlock, tt.deadlock, tt.name)
		must.Equal(t, strings.Join(o.Lines(), "; "), tt.lines, tt.name)
	}
}

// A deadlock may involve a backend that was not given.
func TestDeadlockOnMissingBackendIsUnknown(t *testing.T) {
	zk := backend("zk", inspect.ZooKeeper, inspect.Connected)
	other := backend("redis", inspect.Redis, inspect.Connected)
	behind := func(dead bool) *inspect.Lock { // dead: the waiter may be gone
		holder, waiter := recipe.Claim{Name: "1"}, recipe.Claim{Name: "2", Waiting: true, Dead: dead}
		return inspect.KeyLock(inspect.ID{Backend: "redis", Path: "a"}, []inspect.Vote{{
			Addr: "r1", Up: true, Present: true, Held: &recipe.Record{Recipe: "redisson", Confidence: recipe.Certain, Kind: "mutex", Claims: []recipe.Claim{holder, waiter}},
		}}, time.Now())
	}
	for _, tt := range []struct {
		name     string
		lock     *inspect.Lock
		backends []*inspect.Backend
		want     Deadlock
	}{
		{"a waiter", kazooLock("/a", 1, 2), []*inspect.Backend{zk}, "unknown"},
		{"no waiter", kazooLock("/a", 1), []*inspect.Backend{zk}, "none"},
		{"a waiter for a key", behind(false), []*inspect.Backend{other}, "unknown"},
		{"its waiter is most likely gone", behind(true), []*inspect.Backend{other}, "none"},
		{"both given", kazooLock("/a", 1, 2), []*inspect.Backend{zk, other}, "none"},
		{"an unknown owner", kazooLock("/a", 0, 2), []*inspect.Backend{zk, other}, "unknown"},
	} {
		o := considered(tt.backends, tt.lock)
		must.Equal(t, o.Deadlock, tt.want, tt.name)
		must.Same(t, o.Lines(), nil, tt.name)
	}
}
