package act

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// redisLock is a lock of testdata/redis.yaml.
type redisLock struct {
	Name, Recipe     string
	Write            []string
	Lock, Owner      string
	Waits, Endless   bool
	Says, Next       string
	Channel, Message string
	Keys             []string
	Left             int
	TTL              string
}

func redisLocks(t *testing.T, name string) []redisLock {
	t.Helper()
	return load[redisLock](t, "redis.yaml", name)
}

func (l *redisLock) request() Request {
	r := ofKey(l.Lock, l.Owner)
	r.Waiter = l.Waits
	return r
}

// A guarded delete of a structured lock leaves the same keys as the library's own release and
// notifies the same clients.
func TestReleaseMatchesTheLibrary(t *testing.T) {
	t.Parallel()
	for i, l := range redisLocks(t, "a") {
		t.Run(l.Name, func(t *testing.T) {
			servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
				name := servertest.UniqueName(t)
				redisLocks(t, name)[i].isReleased(t, servers[0], name)
			})
		})
	}
}

func (l *redisLock) isReleased(t *testing.T, server *servertest.Redis, name string) {
	clients, releaser := onServers(t, server)
	c := clients[0]
	command(t, c, l.Write...)
	var messages <-chan *redis.Message
	if l.Channel != "" {
		messages = hear(t, c, l.Channel).Channel()
	}
	if l.Waits {
		p, err := releaser.Preview(t.Context(), ofKey(l.Lock, l.Owner))
		must.True(t, err == nil && p.Refused == NotHolder, "a waiter:", p, err)
	}
	p := confirmed(t, releaser, l.request())
	must.Same(t, p.Sends, []string{server.Addr + ": " + l.Says}, "sends")
	warning := keepsRunning
	if l.Waits {
		warning = waiterWarnings(p.Seen)[0]
	}
	must.Same(t, p.Warnings, []string{warning}, "warnings")
	var next string
	if p.Next != nil {
		next = p.Next.Name.Raw()
	}
	must.Equal(t, next, l.Next, "next")
	result, err := releaser.Execute(t.Context(), p, "--yes")
	must.True(t, err == nil && result.Released && result.Masters[0].Deleted, "result", result, err)
	if messages != nil {
		select {
		case m := <-messages:
			must.Equal(t, m.Payload, l.Message, "published")
		case <-time.After(60 * time.Second):
			t.Error("nothing was published")
		}
	}
	left := must.Have(c.Keys(t.Context(), "*"+name+"*").Result())(t)
	must.Same(t, slices.Sorted(slices.Values(left)), slices.Sorted(slices.Values(l.Keys)), "keys left")
	// The seen contender is gone, so nothing more is removed.
	again, err := releaser.Execute(t.Context(), p, "--yes")
	must.True(t, err == nil && !again.Released && !again.Masters[0].Deleted, "again:", again, err)
}

func TestKeysOfOneReaderAreBounded(t *testing.T) {
	must.Equal(t, len(readHolds("lock", ownerA, 2000)), 1000, "keys")
}

// The node that serves the key is named. It needs no time limit: the clock could be another node's.
func TestClusterNodeIsNamed(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}})
	t.Cleanup(func() { cluster.Close() })
	command(t, cluster, "SET lock:a v")
	releaser := onMaster(t, cluster, "seed:1")
	p := confirmed(t, releaser, ofKey("lock:a", "v"))
	must.Contain(t, p.Sends[0], server.Addr+": compare-and-delete lock:a")
	end := must.Have(releaser.PreviewEnd(t.Context(), ClientRequest{}))(t)
	must.Equal(t, end.Refused, Unsupported, "to end a client")
	must.Equal(t, end.Detail,
		"a client of a Cluster has connections to each node: use the node as a target (redis://HOST:PORT)")
	deny(t, server, "time")
	result := must.Have(releaser.Execute(t.Context(), p, "typed"))(t)
	must.True(t, result.Released && result.Masters[0].Addr == server.Addr, result)
	must.Equal(t, fmt.Sprint(lastAudited(t, releaser.audit)["servers"]), "["+server.Addr+"]", "audited")
}
