package finding

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/redissource"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// diagnosis returns the findings of one pass of a source: the names of the rules by lock, in the order of their names.
func diagnosis(t *testing.T, source inspect.Source, stuckAfter time.Duration) map[string][]string {
	t.Helper()
	o := inspect.NewObserver(time.Now, source)
	o.Diagnose(Rules(), stuckAfter)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := o.Run(ctx); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for l := range o.Snapshot().Locks() {
		rules := map[string]bool{}
		for _, f := range l.Findings {
			readable(t, f)
			rules[f.Rule] = true
		}
		found[l.ID.Path] = slices.Sorted(maps.Keys(rules))
	}
	return found
}

// queuing are clients that queue below a root.
type queuing struct {
	*testing.T
	clients [4]*zk.Conn
	root    string
}

func startQueuing(t *testing.T, addr string) *queuing {
	q := &queuing{T: t, root: servertest.UniquePath(t)}
	for i := range q.clients {
		c, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(quiet{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		q.clients[i] = c
	}
	return q
}

func (q *queuing) create(client int, path string, flags int32) string {
	q.Helper()
	made, err := q.clients[client].Create(q.root+path, nil, flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		q.Fatalf("%s: %v", path, err)
	}
	return made
}

func (q *queuing) join(client int, path string) string {
	q.Helper()
	return q.create(client, path, zk.FlagEphemeral|zk.FlagSequence)
}

// behind has a client queue, and watch the data of whom it waits for.
func (q *queuing) behind(client int, before, path string) string {
	q.Helper()
	made := q.join(client, path)
	if _, _, _, err := q.clients[client].GetW(before); err != nil {
		q.Fatal(err)
	}
	return made
}

// vanished has a client queue, and watch another's node that is gone by then.
func (q *queuing) vanished(client, other int, path string) {
	q.Helper()
	gone := q.join(other, path)
	q.join(client, path)
	q.leave(client, other, gone)
}

// leave removes a client's node before another watches it.
func (q *queuing) leave(watcher, client int, node string) {
	q.Helper()
	if err := q.clients[client].Delete(node, -1); err != nil {
		q.Fatal(err)
	}
	if _, _, _, err := q.clients[watcher].ExistsW(node); err != nil {
		q.Fatal(err)
	}
}

// writeLock names a client's node as the recipes' WriteLock does.
func (q *queuing) writeLock(client int) string {
	return fmt.Sprintf("/x-%d-", q.clients[client].SessionID())
}

// late has a client of WriteLock wait for one that is gone by the time at which it watches it.
func (q *queuing) late(dir string, client int) {
	q.Helper()
	gone := q.join(1-client, dir+q.writeLock(1-client))
	q.join(client, dir+q.writeLock(client))
	q.leave(client, 1-client, gone)
}

// Queues as clients leave them on an ensemble, and what is wrong with each.
func TestDiagnosisOfRealQueues(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		q := startQueuing(t, server.Addr)
		const curator, kazoo, gozk = "_c_e3b0c442-98fc-1c14-9afb-f4c8996fb924-lock-", "e3b0c44298fc1c149afbf4c8996fb924__lock__", "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-"
		for _, dir := range []string{
			"", "/fine", "/mixed", "/alien", "/persistent", "/itself", "/unwatched", "/orphan", "/threads", "/late", "/alone",
			"/wrong", "/leaked", "/vanished", "/extra", "/members", "/election",
		} {
			q.create(0, dir, 0)
		}
		q.behind(1, q.join(0, "/fine/"+curator), "/fine/"+curator)
		q.join(0, "/mixed/"+kazoo)
		q.join(1, "/mixed/"+curator)
		q.join(0, "/alien/"+gozk)
		q.create(0, "/alien/README", 0)
		q.create(0, "/persistent/"+kazoo, zk.FlagSequence)
		q.behind(0, q.join(0, "/itself/"+kazoo), "/itself/"+kazoo)
		q.join(0, "/unwatched/"+curator)
		q.join(1, "/unwatched/"+curator)

		// A lost reply to create: its client queues behind what it made; and two threads that wait, each for its own.
		q.join(0, "/orphan/"+gozk)
		q.behind(1, q.join(1, "/orphan/"+gozk), "/orphan/"+gozk)
		q.behind(1, q.join(0, "/threads/"+gozk), "/threads/"+gozk)
		q.behind(1, q.join(1, "/threads/"+gozk), "/threads/"+gozk)
		// With others behind it, and alone.
		q.late("/late", 0)
		q.behind(1, q.root+"/late", "/late"+q.writeLock(1))
		q.late("/alone", 1)

		// Watches outrank names.
		holder := q.join(0, "/wrong/"+curator)
		q.behind(2, q.behind(1, holder, "/wrong/"+curator), "/wrong/"+curator)
		q.behind(3, holder, "/wrong/"+curator)
		q.join(0, "/leaked/"+curator)
		for range 6 {
			q.join(1, "/leaked/"+curator)
		}
		q.join(0, "/vanished/lock-")
		q.vanished(2, 1, "/vanished/lock-")
		q.behind(1, q.join(0, "/extra/"+gozk), "/extra/"+kazoo) // by extra_lock_patterns
		q.join(0, "/members/m-")
		q.join(1, "/members/m-")
		q.behind(1, q.join(0, "/election/n_"), "/election/n_")

		cfg := zksource.Config{Backend: "zk", Servers: []string{server.Addr}, Admin: []string{server.Admin}, Roots: []string{q.root}, Once: true}
		found := diagnosis(t, zksource.New(cfg), 0)
		for dir, want := range map[string][]string{
			"/fine": nil, "/mixed": {"missing-watch", "mixed-recipes"}, "/alien": {"alien-child"}, "/persistent": {"persistent-contender"},
			"/itself": {"self-wait"}, "/unwatched": {"missing-watch"},
			"/orphan": {"self-wait"}, "/threads": {"self-wait"}, "/late": {"lost-wakeup", "missing-watch"}, "/alone": {"lost-wakeup"},
			"/wrong": {"missing-watch"}, "/leaked": {"missing-watch", "self-wait"}, "/vanished": {"lost-wakeup", "missing-watch"},
			"/extra": nil, "/members": nil, "/election": nil,
		} {
			if got, there := found[q.root+dir]; !there || !slices.Equal(got, want) {
				t.Errorf("%s: found %v (listed: %v), want %v", dir, got, there, want)
			}
		}
		cfg.Only = q.root + "/fine"
		if found := diagnosis(t, zksource.New(cfg), time.Millisecond)[cfg.Only]; !slices.Equal(found, []string{"stuck-holder"}) {
			t.Errorf("held for longer than allowed: %v", found)
		}
	})
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// A real master with a replica is reported, and no more once it waits for it.
func TestRealMasterWithAReplica(t *testing.T) {
	t.Parallel()
	master, replica := servertest.StartRedis(t), servertest.StartRedis(t)
	m, r := redis.NewClient(&redis.Options{Addr: master.Addr}), redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer m.Close()
	defer r.Close()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), "replicaof", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(m.Info(t.Context(), "replication").Val(), "state=online"); { // nothing reports it
		if time.Now().After(end) {
			t.Fatal("the replica does not come up")
		}
		time.Sleep(10 * time.Millisecond)
	}
	cfg := redissource.Config{Backend: "redis", Only: servertest.UniqueName(t), Once: true, Masters: []*redis.UniversalOptions{{Addrs: []string{master.Addr}}}}
	found := func() bool {
		o := inspect.NewObserver(time.Now, redissource.New(cfg))
		o.Diagnose(Rules(), time.Hour)
		if err := o.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(o.Snapshot().Backends[0].Findings, func(f inspect.Finding) bool { return f.Rule == "replica-failover" })
	}
	if !found() {
		t.Error("nothing is found of a replica that nobody waits for")
	}
	if err := m.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if found() {
		t.Error("it waits for its replica")
	}
}
