package finding

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

func onRedis(servers ...inspect.Server) *inspect.Backend {
	return &inspect.Backend{Name: "redis", Kind: inspect.Redis, Servers: servers}
}

// A master that accepts writes without waiting for its replicas is reported once, whatever locks it
// has. Replicas, masters without replicas, and masters that need theirs are not reported.
func TestReplicaFailover(t *testing.T) {
	t.Parallel()
	master := func(replicas int) inspect.Server {
		return inspect.Server{Addr: "10.0.0.1:6379", State: inspect.ServerUp, Role: "master", Replicas: replicas}
	}
	waiting := master(2)
	waiting.NeedsReplicas = true
	check(t, "replica-failover",
		fires("a replica, not waited for", onRedis(master(1))),
		fires("replicas, not waited for", onRedis(master(3))),
		fires("several masters with replicas", onRedis(master(2), waiting, master(1))),
		fires("more masters than are listed", onRedis(slices.Repeat([]inspect.Server{master(2)}, 12)...)),
		silent("no replica", onRedis(master(0))),
		silent("min-replicas-to-write is set", onRedis(waiting)),
		silent("a replica of a replica", onRedis(inspect.Server{Addr: "10.0.0.2:6379", Role: "replica", Replicas: 1})),
		silent("unknown role", onRedis(inspect.Server{Addr: "10.0.0.2:6379", Replicas: 1})),
	)
}

// Many empty directories are reported with the command that finds the idle ones. A few are not.
func TestEmptyLocks(t *testing.T) {
	t.Parallel()
	empty := func(count int) *inspect.Backend {
		return &inspect.Backend{
			Name: "zk", Kind: inspect.ZooKeeper, Reach: inspect.Reach{Target: "zk://a:2181"},
			Empty: inspect.EmptyDirs{Count: count, Oldest: now.Add(-time.Hour), Under: "/locks/o'k", UnderCount: count / 2},
		}
	}
	check(t, "empty-locks",
		fires("many", empty(manyEmpty)),
		silent("one fewer", empty(manyEmpty-1)),
		silent("none", empty(0)),
	)
}

// The message and the evidence have the numbers.
func TestOutlierClient(t *testing.T) {
	t.Parallel()
	with := func(outliers ...inspect.Outlier) *inspect.Backend {
		return &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, Outliers: outliers}
	}
	check(t, "outlier-client",
		fires("two", with(
			inspect.Outlier{
				Owner: "worker-7\x1b[2J", Session: 7, Client: "10.0.0.7:5000", Under: "/locks",
				Entries: 512, Holds: 500, Peers: 40, Usual: 2,
			},
			inspect.Outlier{Owner: "worker-8", Under: "/locks", Entries: 60, Holds: 60, Peers: 40, Usual: 2},
		)),
		silent("none", with()),
	)
}
