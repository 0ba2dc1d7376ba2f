package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	locks = 10
	// pause between two changes of one lock: 10 a second.
	pause   = 100 * time.Millisecond
	changes = 50
)

// BenchmarkChangeToSnapshot changes each of 10 locks 10 times a second and reports the time from
// the server's answer until a snapshot shows the change.
func BenchmarkChangeToSnapshot(b *testing.B) {
	b.Run("zookeeper", func(b *testing.B) {
		server := servertest.StartZooKeeper(b)
		conn := connect(b, server.Addr)
		source := zksource.New(zksource.Config{
			Backend: "s", Servers: []string{server.Addr}, Budget: zksource.Budget{Unlimited: true},
		})
		measureChanges(b, source, func(id inspect.ID) func() inspect.Untrusted { return zkQueue(b, conn, id.Path) })
	})
	for _, mode := range []struct {
		name  string
		match []string
	}{{"redis-push", []string{"lock:*"}}, {"redis-push-of-all-keys", []string{"*lock*"}}} {
		b.Run(mode.name, func(b *testing.B) {
			server := servertest.StartRedis(b)
			client := server.Client(b)
			measureChanges(b, redisSource(server, mode.match), func(id inspect.ID) func() inspect.Untrusted {
				return redisValues(b, client, id.Path, 0)
			})
		})
	}
	b.Run("redis-expiry", func(b *testing.B) { measureExpiries(b) })
}

func redisSource(server *servertest.Redis, match []string) inspect.Source {
	return redissource.New(redissource.Config{
		Backend: "s", Masters: []*redis.UniversalOptions{{Addrs: []string{server.Addr}}}, Match: match,
	})
}

// zkQueue returns a function that removes the head of a queue and returns the name of the next one.
func zkQueue(b *testing.B, conn *zk.Conn, dir string) func() inspect.Untrusted {
	acl := zk.WorldACL(zk.PermAll)
	must.Have(conn.Create(dir, nil, 0, acl))(b)
	var queue []string
	join := func() {
		p, err := conn.Create(fmt.Sprintf("%s/%032x__lock__", dir, len(queue)), nil, zk.FlagEphemeralSequential, acl)
		must.Be(b, err, nil)
		queue = append(queue, p)
	}
	join()
	join()
	return func() inspect.Untrusted {
		join()
		must.Be(b, conn.Delete(queue[0], -1), nil)
		queue = queue[1:]
		return inspect.Untrusted(queue[0][len(dir)+1:])
	}
}

// redisValues returns a function that gives a key a new value and returns it.
func redisValues(b *testing.B, client *redis.Client, key string, ttl time.Duration) func() inspect.Untrusted {
	n := 0
	return func() inspect.Untrusted {
		n++
		value := fmt.Sprintf("%032d", n)
		must.Be(b, client.Set(b.Context(), key, value, ttl).Err(), nil)
		return inspect.Untrusted(value)
	}
}

// expectations are the holders that the next snapshots should show, and since when.
type expectations struct {
	mu      sync.Mutex
	holders map[inspect.ID]inspect.Untrusted
	since   map[inspect.ID]time.Time
	times   []time.Duration
	met     *sync.Cond
}

func newExpectations() *expectations {
	e := &expectations{holders: map[inspect.ID]inspect.Untrusted{}, since: map[inspect.ID]time.Time{}}
	e.met = sync.NewCond(&e.mu)
	return e
}

// wait waits until at most n expectations are unmet.
func (e *expectations) wait(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.holders) > n {
		e.met.Wait()
	}
}

// open reports whether a change of a lock is expected and not yet seen.
func (e *expectations) open(id inspect.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, open := e.holders[id]
	return open
}

func (e *expectations) set(id inspect.ID, holder inspect.Untrusted, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holders[id], e.since[id] = holder, since
}

// check removes the expectations that a snapshot meets.
func (e *expectations) check(s *inspect.Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, want := range e.holders {
		l := s.Lock(id)
		free := want == "" && (l == nil || len(l.Holders) == 0)
		if free || l != nil && len(l.Holders) > 0 && l.Holders[0].Name == want {
			e.times = append(e.times, time.Since(e.since[id]))
			delete(e.holders, id)
			e.met.Broadcast()
		}
	}
}

// watch observes a source and checks every snapshot until the benchmark ends.
func (e *expectations) watch(b *testing.B, source inspect.Source) {
	observer := inspect.NewObserver(time.Now, source)
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	group.Go(func() { observer.Run(ctx) })
	group.Go(func() {
		sub := observer.Subscribe()
		defer sub.Close()
		for {
			s, err := sub.Next(ctx)
			if err != nil {
				return
			}
			e.check(s)
		}
	})
	b.Cleanup(func() { cancel(); group.Wait() })
}

// measureChanges changes the locks in turn, so that the changes are spread evenly.
func measureChanges(b *testing.B, source inspect.Source, newLock func(inspect.ID) func() inspect.Untrusted) {
	e := newExpectations()
	ids := make([]inspect.ID, locks)
	change := make([]func() inspect.Untrusted, locks)
	for i := range locks {
		ids[i] = inspect.ID{Backend: "s", Path: fmt.Sprintf("/lock-%d", i)}
		if _, redis := source.(*redissource.Source); redis {
			ids[i].Path = fmt.Sprintf("lock:%d", i)
		}
		change[i] = newLock(ids[i])
		e.set(ids[i], change[i](), time.Now())
	}
	e.watch(b, source)
	e.wait(0)
	e.times = nil
	for b.Loop() {
		tick := time.NewTicker(pause / locks)
		for n := range changes * locks {
			<-tick.C
			i := n % locks
			if e.open(ids[i]) {
				continue // polling sees at most one change a tick
			}
			name := change[i]()
			e.set(ids[i], name, time.Now())
		}
		tick.Stop()
		e.wait(0)
	}
	report(b, "shown", e.times)
}

// measureExpiries lets keys expire and reports the time until a snapshot without them.
func measureExpiries(b *testing.B) {
	server := servertest.StartRedis(b)
	client := server.Client(b)
	e := newExpectations()
	e.watch(b, redisSource(server, []string{"lock:*"}))
	for b.Loop() {
		for n := range changes {
			id := inspect.ID{Backend: "s", Path: fmt.Sprintf("lock:%d", n)}
			ttl := 300 * time.Millisecond
			value := redisValues(b, client, id.Path, ttl)()
			end := time.Now().Add(ttl)
			e.set(id, value, time.Now())
			e.wait(0)
			e.times = e.times[:len(e.times)-1]
			e.set(id, "", end)
			e.wait(0)
		}
	}
	report(b, "shown", e.times)
}
