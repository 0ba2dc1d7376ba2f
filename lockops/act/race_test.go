package act

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// tries of each race; make races has the long form.
var tries = flag.Int("act.tries", 40, "how often an action races with the holder's own, of each kind")

// release of a client: compare and delete, as every library does it.
var ownRelease = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// ownRenewal of a client: the same for its time to live.
var ownRenewal = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)

// racePace spreads the moment at which something else happens over the time that an action takes; usual is its mean so far.
type racePace struct{ usual time.Duration }

func (b *racePace) run(other func(), action func() (Result, error)) (Result, error) {
	var both sync.WaitGroup
	began, after := time.Now(), rand.N(b.usual+1)
	both.Go(func() {
		time.Sleep(after) // no event marks the middle of a request: every instant of it is tried
		other()
	})
	result, err := action()
	b.usual = (3*b.usual + time.Since(began)) / 4
	both.Wait()
	return result, err
}

// redisRaces are tries of an action beside something that happens to the lock of one key.
type redisRaces struct {
	*testing.T
	client     *redis.Client
	releaser   *Redis
	pace       racePace
	try        int
	key, value string
	request    Request
	ours       int // races with the holder's own release that we won
}

// nextValue is of the client that takes the lock when it is free.
var nextValue = strings.Repeat("n", 21) + "g=="

// lock has the holder take the lock for so long; the action is a release, or with ttl one that sets it.
func (r *redisRaces) lock(lasts, ttl time.Duration) {
	r.client.Set(r.Context(), r.key, r.value, lasts)
	r.request.TTL = ttl
}

// race runs f beside the action, and returns the result of that.
func (r *redisRaces) race(f func()) Result {
	r.Helper()
	p, err := r.releaser.Preview(r.Context(), r.request)
	if err != nil {
		r.Fatal(err)
	}
	result, err := r.pace.run(f, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	if err != nil {
		r.Fatal(err)
	}
	return result
}

// raceItsEnd runs the action beside the end of the key's TTL, after which another takes the lock; false: it had ended before the preview.
func (r *redisRaces) raceItsEnd(what string) (result Result, taken, ok bool, err error) {
	r.Helper()
	p, err := r.releaser.Preview(r.Context(), r.request)
	if err != nil || p.Refused != "" && p.Refused != Gone {
		r.Fatalf("%s, try %d: %+v, %v", what, r.try, p, err)
	}
	if p.Refused != "" {
		return result, false, false, nil
	}
	result, err = r.pace.run(func() { taken = r.take() }, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	return result, taken, true, err
}

func (r *redisRaces) take() bool {
	taken, _ := r.client.SetNX(r.Context(), r.key, nextValue, time.Hour).Result()
	return taken
}

// free is the holder's own release.
func (r *redisRaces) free() int {
	freed, _ := ownRelease.Run(r.Context(), r.client, []string{r.key}, r.value).Int()
	return freed
}

func (r *redisRaces) renew() int {
	renewed, _ := ownRenewal.Run(r.Context(), r.client, []string{r.key}, r.value, 2*time.Hour.Milliseconds()).Int()
	return renewed
}

func (r *redisRaces) left() time.Duration { return r.client.PTTL(r.Context(), r.key).Val() }

// untouched checks that whoever took the lock has it.
func (r *redisRaces) untouched(what string, taken bool) {
	r.Helper()
	if taken && r.client.Get(r.Context(), r.key).Val() != nextValue {
		r.Fatalf("%s, try %d: the next client's lock was taken from it", what, r.try)
	}
}

func (r *redisRaces) releaseDuringARelease() {
	r.lock(time.Hour, 0)
	var freed int
	var taken bool
	result := r.race(func() { freed, taken = r.free(), r.take() })
	if deleted := len(result.Masters) > 0 && result.Masters[0].Deleted; deleted == (freed == 1) || result.Released && !deleted {
		r.Fatalf("own release, try %d: the holder freed it %d times, and we report %+v", r.try, freed, result)
	} else if deleted {
		r.ours++
	}
	r.untouched("own release", taken)
}

func (r *redisRaces) releaseDuringItsEnd() {
	r.lock(3*time.Millisecond, 0)
	result, taken, ok, err := r.raceItsEnd("expiry")
	if ok && (err != nil || result.Released && !result.Masters[0].Deleted || result.Reason != "" && result.Reason != Gone && result.Reason != Changed) {
		r.Fatalf("expiry, try %d: %+v, %v", r.try, result, err)
	}
	r.untouched("expiry", taken)
}

func (r *redisRaces) ttlDuringARelease() {
	r.lock(time.Hour, 10*time.Minute)
	var freed int
	var taken bool
	result := r.race(func() { freed, taken = r.free(), r.take() })
	if left := r.left(); freed != 1 || !taken || left < 30*time.Minute {
		r.Fatalf("a TTL, try %d: the next client's key has %v left; %+v", r.try, left, result)
	}
	r.untouched("a TTL", taken)
	r.client.Del(r.Context(), r.key)
}

// releaseDuringARenewal: that is the holder's. Whether it came first or not, its key is there when we did not free it, and gone when we
// did.
func (r *redisRaces) releaseDuringARenewal() {
	r.lock(time.Hour, 0)
	var renewed int
	result := r.race(func() { renewed = r.renew() })
	if there := r.client.Exists(r.Context(), r.key).Val() == 1; result.Released == there || !result.Released && (renewed != 1 || result.Reason != Changed && result.Reason != Gone) {
		r.Fatalf("a renewal, try %d: renewed %d times, the key is there: %v; we report %+v", r.try, renewed, there, result)
	}
}

func (r *redisRaces) ttlDuringARenewal() {
	r.lock(time.Hour, 10*time.Minute)
	var renewed int
	result := r.race(func() { renewed = r.renew() })
	if left := r.left(); renewed != 1 || r.client.Get(r.Context(), r.key).Val() != r.value || left < 9*time.Minute || result.Set && left > 2*time.Hour {
		r.Fatalf("a TTL beside a renewal, try %d: renewed %d times, %v left; we report %+v", r.try, renewed, left, result)
	}
}

func (r *redisRaces) ttlDuringItsEnd() {
	r.lock(3*time.Millisecond, 10*time.Minute)
	result, taken, ok, err := r.raceItsEnd("a TTL beside the end")
	if left := r.left(); ok && (err != nil || taken && left < 30*time.Minute || result.Set && taken) {
		r.Fatalf("a TTL beside the end, try %d: taken by another: %v, %v left; we report %+v, %v", r.try, taken, left, result, err)
	}
	r.untouched("a TTL beside the end", taken)
	r.client.Del(r.Context(), r.key)
}

// TestActsInRacesOnRedis: an action races with the holder's own release, with its expiry and with its renewal, each time with
// another client that takes the lock as soon as it is free. What the other client has is never touched, and what is reported is
// what was done: the lock was freed by the holder or by us, never by both.
func TestActsInRacesOnRedis(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	audit, _ := openAudit(t)
	releaser := NewRedis([]redis.UniversalClient{client}, Target{Name: "redis", Servers: []string{server.Addr}}, 30*time.Second, audit)
	r := &redisRaces{T: t, client: client, releaser: releaser, value: strings.Repeat("o", 21) + "g=="}
	for r.try = range *tries {
		r.key = fmt.Sprintf("lock:%d", r.try)
		r.request = Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: inspect.Untrusted(r.value)}
		r.releaseDuringARelease()
		r.releaseDuringItsEnd()
		r.ttlDuringARelease()
		r.releaseDuringARenewal()
		r.ttlDuringARenewal()
		r.ttlDuringItsEnd()
	}
	t.Logf("of %d races with the holder's own release we won %d", *tries, r.ours)
}

// TestActsInRacesOnZooKeeper: the same for a znode: it is deleted by its holder or by us, never reported as both, and whoever
// queues behind stays.
func TestActsInRacesOnZooKeeper(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(releaser.Close)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			names := zkQueue(t, holder, dir, 2)
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])})
			if err != nil || p.Refused != "" {
				t.Fatalf("%+v, %v", p, err)
			}
			var own error
			result, err := pace.run(func() { own = holder.Delete(dir+"/"+names[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) {
				t.Fatalf("try %d: %v, %v", i, err, own)
			}
			if result.Released == (own == nil) || !result.Released && result.Reason != Gone {
				t.Fatalf("try %d: the holder's own delete says %v, and we report %+v", i, own, result)
			} else if result.Released {
				ours++
			}
			if there, _, err := conn.Exists(dir + "/" + names[1]); err != nil || !there {
				t.Fatalf("try %d: who waited is gone, %v", i, err)
			}
		}
		t.Logf("of %d races we won %d", *tries, ours)
	})
}

// TestSessionsEndInRaces: a holder's session ends, as when it expires, while its znode is released. Whoever queues behind stays, and
// what is reported is that we freed it or that it was gone.
func TestSessionsEndInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, waiter := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(releaser.Close)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			holder, end := connectUntil(t, server.Addr)
			first := zkQueue(t, holder, dir, 1)[0]
			made, err := waiter.Create(dir+"/"+first[:len(first)-10], nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(first)})
			if err != nil || p.Refused != "" {
				t.Fatalf("%+v, %v", p, err)
			}
			result, err := pace.run(holder.Close, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
			if err != nil || !result.Released && result.Reason != Gone {
				t.Fatalf("try %d: %+v, %v", i, result, err)
			}
			children, _, err := conn.Children(dir)
			if err != nil || len(children) != 1 || dir+"/"+children[0] != made {
				t.Fatalf("try %d: %v is left, %v; %+v", i, children, err, result)
			}
			if result.Released {
				ours++
			}
			end()
		}
		t.Logf("of %d races with the end of a session we won %d", *tries, ours)
	})
}

// TestWaitersTurnComesInRaces: a waiter is taken out while whom it waits for lets go. Once its turn has come it stays: the holder's own
// transaction reports whether the waiter was still there, and so which of the two was first.
func TestWaitersTurnComesInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(releaser.Close)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			names := zkQueue(t, holder, dir, 2)
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[1]), Waiter: true})
			if err != nil || p.Refused != "" {
				t.Fatalf("%+v, %v", p, err)
			}
			var own error
			result, err := pace.run(func() {
				_, own = holder.Multi(&zk.CheckVersionRequest{Path: dir + "/" + names[1], Version: -1}, &zk.DeleteRequest{Path: dir + "/" + names[0], Version: -1})
			}, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) {
				t.Fatalf("try %d: %v, %v", i, err, own)
			}
			if result.Released == (own == nil) || !result.Released && result.Reason != Changed {
				t.Fatalf("try %d: the holder let go before that: %v; we report %+v", i, own == nil, result)
			}
			left := names[1] // who is next, else the holder, who did not let go
			if result.Released {
				left, ours = names[0], ours+1
			}
			if children, _, err := conn.Children(dir); err != nil || len(children) != 1 || children[0] != left {
				t.Fatalf("try %d: %v is left, want %s; %v", i, children, left, err)
			}
		}
		t.Logf("of %d races we won %d", *tries, ours)
	})
}
