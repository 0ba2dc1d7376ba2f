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

func TestPreviewConsidersOtherLocks(t *testing.T) {
	id := inspect.ID{Backend: "zk", Path: "/a"}
	lock := func(path string, session int64) *inspect.Lock {
		l, _ := inspect.Directory{Children: []inspect.Znode{
			{Name: "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__0000000001", Known: true, EphemeralOwner: session, Czxid: session},
		}}.Lock(inspect.ID{Backend: "zk", Path: path}, time.Now())
		return l
	}
	whole := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
	locks := []*inspect.Lock{lock("/a", 1), lock("/b", 1), lock("/c", 1), lock("/d", 1), lock("/e", 1), lock("/f", 2)}
	down := func(kind inspect.BackendKind) *inspect.Backend {
		return &inspect.Backend{Name: "other", Kind: kind, State: inspect.Down}
	}
	for name, tt := range map[string]struct {
		other *inspect.Backend
		want  Deadlock
	}{
		"Redis, where the same program may wait":  {down(inspect.Redis), DeadlockUnknown},
		"another ensemble, with its own sessions": {down(inspect.ZooKeeper), NoDeadlock},
	} {
		p := Preview{Request: Request{ID: id}, Seen: &locks[0].Holders[0]}
		p.Consider(inspect.NewSnapshot(time.Now(), []*inspect.Backend{whole, tt.other}, locks))
		must.Equal(t, p.Others.Deadlock, tt.want, name, "is down", p.Others)
	}
	for _, tt := range []struct {
		name     string
		backend  *inspect.Backend
		locks    []*inspect.Lock
		deadlock Deadlock
		lines    []string
	}{
		{"all read", whole, locks, NoDeadlock, []string{"still holds: zk:/b, zk:/c, zk:/d, and 1 more"}},
		{"no other locks", whole, locks[:1], NoDeadlock, nil},
		{"not all read", &inspect.Backend{Name: "zk", State: inspect.Degraded, FirstPass: true}, locks[:2], DeadlockUnknown, []string{"not all other locks could be read", "zk:/b"}},
		{"being read", &inspect.Backend{Name: "zk", State: inspect.Connected}, locks[:1], DeadlockUnknown, []string{"not all other locks could be read"}},
		{"nothing read", nil, nil, DeadlockUnknown, []string{"not all other locks could be read"}},
	} {
		p := Preview{Request: Request{ID: id}, Seen: &locks[0].Holders[0]}
		var s *inspect.Snapshot
		if tt.backend != nil {
			s = inspect.NewSnapshot(time.Now(), []*inspect.Backend{tt.backend}, tt.locks)
		}
		p.Consider(s)
		lines := p.Others.Lines()
		if p.Others.Deadlock != tt.deadlock || len(lines) != len(tt.lines) {
			t.Errorf("%s: %+v %q", tt.name, p.Others, lines)
			continue
		}
		for i, want := range tt.lines {
			must.Contain(t, lines[i], want, tt.name)
		}
	}
}

// A deadlock may involve a backend that was not given.
func TestDeadlockOnMissingBackendIsUnknown(t *testing.T) {
	id := inspect.ID{Backend: "zk", Path: "/a"}
	queue := func(sessions ...int64) *inspect.Lock {
		var nodes []inspect.Znode
		for i, session := range sessions {
			nodes = append(nodes, inspect.Znode{Name: fmt.Sprintf("0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__%010d", i), Known: true, EphemeralOwner: session, Czxid: int64(i + 1)})
		}
		l, _ := inspect.Directory{Children: nodes}.Lock(id, time.Now())
		return l
	}
	zk := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
	other := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected, FirstPass: true}
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
		{"a waiter", queue(1, 2), []*inspect.Backend{zk}, DeadlockUnknown},
		{"no waiter", queue(1), []*inspect.Backend{zk}, NoDeadlock},
		{"a waiter for a key", behind(false), []*inspect.Backend{other}, DeadlockUnknown},
		{"its waiter is most likely gone", behind(true), []*inspect.Backend{other}, NoDeadlock},
		{"both given", queue(1, 2), []*inspect.Backend{zk, other}, NoDeadlock},
		{"an unknown owner", queue(0, 2), []*inspect.Backend{zk, other}, DeadlockUnknown},
	} {
		p := Preview{Request: Request{ID: tt.lock.ID}, Seen: &tt.lock.Holders[0]}
		p.Consider(inspect.NewSnapshot(time.Now(), tt.backends, []*inspect.Lock{tt.lock}))
		if lines := strings.Join(p.Others.Lines(), "\n"); p.Others.Deadlock != tt.want || lines != "" {
			t.Errorf("%s: %+v, %q", tt.name, p.Others, lines)
		}
	}
}
