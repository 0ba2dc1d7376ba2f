package act

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// bulkLock is one lock of a bulk action.
type bulkLock struct {
	request Request
	// free is the holder's own release, and reports whether the lock was its own; another takes the lock then.
	free func() bool
	// has is "holder", "next" or nothing.
	has func() string
}

// bulkRaces are tries of a bulk action on locks of two backends, of which one is released by its holder meanwhile.
type bulkRaces struct {
	*testing.T
	client    *redis.Client
	conn      *zk.Conn
	of        Releasers
	pace      racePace
	surprises int
}

func (r *bulkRaces) inRedis(key string) bulkLock {
	value := strings.Repeat("o", 21) + "g=="
	r.client.Set(r.Context(), key, value, time.Hour)
	return bulkLock{
		request: Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: inspect.Untrusted(value)},
		free: func() bool {
			freed, _ := ownRelease.Run(r.Context(), r.client, []string{key}, value).Int()
			r.client.SetNX(r.Context(), key, nextValue, time.Hour)
			return freed == 1
		},
		has: func() string {
			return map[string]string{value: "holder", nextValue: "next"}[r.client.Get(r.Context(), key).Val()]
		},
	}
}

func (r *bulkRaces) inZooKeeper(dir string) bulkLock {
	names := zkQueue(r.T, r.conn, dir, 2)
	return bulkLock{
		request: Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])},
		free: func() bool {
			err := r.conn.Delete(dir+"/"+names[0], -1)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				r.Error(err)
			}
			return err == nil
		},
		has: func() string {
			children, _, err := r.conn.Children(dir)
			if err != nil || !slices.Contains(children, names[1]) {
				return fmt.Sprintf("%v, %v", children, err)
			}
			return map[bool]string{true: "holder", false: "next"}[slices.Contains(children, names[0])]
		},
	}
}

// race releases all locks, in order, until one does not go as it was shown, while the holder of one of them lets go.
func (r *bulkRaces) race(locks []bulkLock) {
	var items []*Item
	for _, l := range locks {
		items = append(items, &Item{Request: l.request})
	}
	if err := PreviewAll(r.Context(), r.of, nil, items); err != nil {
		r.Fatal(err)
	}
	raced, freed := rand.N(len(locks)), false
	_, _ = r.pace.run(func() { freed = locks[raced].free() }, func() (Result, error) {
		for _, item := range items {
			if !ExecuteItem(r.Context(), r.of, item, "--yes") {
				break
			}
		}
		return Result{}, nil
	})
	stopped := false
	for i, item := range items {
		has, result := locks[i].has(), item.Result
		switch {
		case item.Err != nil, item.Tried == stopped, item.Preview.Refused != "":
			r.Fatalf("lock %d: tried: %v, after a surprise: %v; %+v, %v", i, item.Tried, stopped, result, item.Err)
		case i == raced && (has != "next" || item.Tried && result.Released == freed || !item.Tried && !freed):
			r.Fatalf("lock %d: its holder freed it: %v, it has %q; we report %+v", i, freed, has, result)
		case i != raced && (result.Released != item.Tried || (has == "holder") == item.Tried):
			r.Fatalf("lock %d, of which nobody let go: it has %q; we report %+v", i, has, result)
		case item.Tried && !result.Released && result.Reason != Gone && result.Reason != Changed:
			r.Fatalf("lock %d: %+v", i, result)
		}
		stopped = stopped || !result.Released
	}
	if stopped {
		r.surprises++
	}
}

// TestBulkInRaces: of a bulk action each lock is guarded by itself. The one whose holder lets go meanwhile was freed by the holder or by
// us, whoever comes next keeps it, and nothing is done to those that come behind the first surprise.
func TestBulkInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		keys := servertest.StartRedis(t)
		client := redis.NewClient(&redis.Options{Addr: keys.Addr})
		defer client.Close()
		audit, _ := openAudit(t)
		znodes := NewZooKeeper(connectZooKeeper(t, server.Addr), Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(znodes.Close)
		values := NewRedis([]redis.UniversalClient{client}, Target{Name: "redis", Servers: []string{keys.Addr}}, 30*time.Second, audit)
		r := &bulkRaces{T: t, client: client, conn: connectZooKeeper(t, server.Addr), of: func(backend string) (Releaser, bool) {
			return map[string]Releaser{"zk": znodes, "redis": values}[backend], true
		}}
		for try := range *tries {
			path := fmt.Sprintf("%s-%d", servertest.UniquePath(t), try)
			r.race([]bulkLock{r.inRedis("lock" + path + "a"), r.inZooKeeper(path + "a"), r.inRedis("lock" + path + "b"), r.inZooKeeper(path + "b")})
		}
		t.Logf("of %d bulks %d met a surprise", *tries, r.surprises)
	})
}

// ttlOfMasters are tries of a TTL on three masters beside something that happens to the lock there.
type ttlOfMasters struct {
	*testing.T
	clients  []redis.UniversalClient
	releaser *Redis
	pace     racePace
	key      string
	set      int
}

const ttlHolder = "b29vb29vb29vb29vb29vbw=="

// race has the holder take the lock for so long, and runs other for each master beside the action; false: it had ended before the preview.
func (r *ttlOfMasters) race(lasts time.Duration, other func(c redis.UniversalClient) int) (result Result, said [3]int, ok bool) {
	for _, c := range r.clients {
		c.Set(r.Context(), r.key, ttlHolder, lasts)
	}
	p, err := r.releaser.Preview(r.Context(), Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: ttlHolder, TTL: 10 * time.Minute})
	if lasts < time.Second && err == nil && (p.Refused == Gone || p.Refused == Changed) {
		return result, said, false
	}
	if err != nil || p.Refused != "" {
		r.Fatalf("%s: %+v, %v", r.key, p, err)
	}
	result, err = r.pace.run(func() {
		for i, c := range r.clients {
			said[i] = other(c)
		}
	}, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	done := 0
	for i := range result.Masters {
		if result.Masters[i].Set {
			done++
		}
	}
	need := 2
	if p.Seen.State != inspect.Holding { // it had ended on two of them: what is left is a value without a quorum
		need = 1
	}
	if err != nil || result.Released || result.Set && done < need || !result.Set && result.Reason == "" {
		r.Fatalf("%s: %+v, %v", r.key, result, err)
	}
	if result.Set {
		r.set++
	}
	return result, said, true
}

// next takes the lock where it is free; what it has stays its own for as long as it asked for.
func (r *ttlOfMasters) next(c redis.UniversalClient) int {
	taken, _ := c.SetNX(r.Context(), r.key, nextValue, time.Hour).Result()
	return map[bool]int{true: 1}[taken]
}

func (r *ttlOfMasters) check(i int, value string, least time.Duration, result Result) {
	if has, left := r.clients[i].Get(r.Context(), r.key).Val(), r.clients[i].PTTL(r.Context(), r.key).Val(); has != value || left < least {
		r.Fatalf("%s: master %d has %q for %v, not %q for %v; %+v", r.key, i, has, left, value, least, result)
	}
}

func (r *ttlOfMasters) duringARelease() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		freed, _ := ownRelease.Run(r.Context(), c, []string{r.key}, ttlHolder).Int()
		return freed + r.next(c)
	})
	for i := range r.clients {
		if r.check(i, nextValue, 30*time.Minute, result); said[i] != 2 {
			r.Fatalf("%s: master %d was not freed by its holder; %+v", r.key, i, result)
		}
	}
}

func (r *ttlOfMasters) duringARenewal() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		renewed, _ := ownRenewal.Run(r.Context(), c, []string{r.key}, ttlHolder, 2*time.Hour.Milliseconds()).Int()
		return renewed
	})
	for i := range r.clients {
		if r.check(i, ttlHolder, 9*time.Minute, result); said[i] != 1 || !result.Masters[i].Set {
			r.Fatalf("%s: master %d: renewed %d times; %+v", r.key, i, said[i], result)
		}
	}
}

func (r *ttlOfMasters) duringItsEnd() {
	result, said, ok := r.race(3*time.Millisecond, r.next)
	for i, c := range r.clients {
		switch has := c.Get(r.Context(), r.key).Val(); {
		case ok && said[i] == 1:
			r.check(i, nextValue, 30*time.Minute, result)
		case ok && result.Masters[i].Set:
			r.check(i, ttlHolder, 9*time.Minute, result)
		case has != "" && has != ttlHolder:
			r.Fatalf("%s: master %d has %q; %+v", r.key, i, has, result)
		}
		c.Del(r.Context(), r.key)
	}
}

// TestTTLOnSeveralMastersInRaces: a TTL is set on each master only where the holder that was seen still has the lock: beside its own
// release, its renewal, and the end of its TTL, after which another takes it.
func TestTTLOnSeveralMastersInRaces(t *testing.T) {
	t.Parallel()
	servers := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	clients, addrs := redisMastersOf(t, servers)
	audit, _ := openAudit(t)
	r := &ttlOfMasters{T: t, clients: clients, releaser: NewRedis(clients, Target{Name: "redis", Servers: addrs}, 30*time.Second, audit)}
	for try := range *tries {
		r.key = fmt.Sprintf("lock:%d", try)
		r.duringARelease()
		for _, c := range clients {
			c.Del(t.Context(), r.key)
		}
		r.duringARenewal()
		r.duringItsEnd()
	}
	t.Logf("of %d races in %d the TTL was set", 3**tries, r.set)
}
