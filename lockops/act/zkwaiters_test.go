package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/docs"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// queues is one way in which a library's client waits in a queue of znodes. It uses the same node
// names and watches as the library.
type queues struct {
	library string // as in docs/recipes.md
	node    string // prefix of the sequential node; SESSION stands for the session's id
	data    string
	watch   watched
}

// watched is the node that a waiter watches. Hive sets no watch and sleeps between its tries.
type watched int

const (
	theOneBefore watched = iota // the deletion of its node
	theDirectory                // any change of the children
	nothing                     // it deletes its node and creates another one later
)

func queueWaits() []queues {
	return []queues{
		{"ZooKeeper's own recipes: WriteLock (Java), zoo_lock (C)", "x-SESSION-", "", theOneBefore},
		{"ZooKeeper's own recipes: LeaderElectionSupport", "n_", "client", theOneBefore},
		{"Accumulo: service locks", "zlock#e3b0c442-98fc-4c14-9afb-f4c8996fb924#", "host:9999", theOneBefore},
		{"HBase before 2.0: table locks", "write-rs1:16020", "PBUF", theOneBefore},
		{"Hive: ZooKeeperHiveLockManager", "LOCK-EXCLUSIVE-", "q:1:IMPLICIT", nothing},
		{"Solr: elections", "SESSION-core1-n_", "", theOneBefore},
		{"zk (Ruby): exclusive, shared, election", "ex", "client", theOneBefore},
		{"madelson/DistributedLock (.NET) in ZooKeeper", "write-", "", theOneBefore},
		{"other queues: tutorials, rust-zookeeper, node-zookeeper-client, zkpython; ClickHouse, Kafka, Dubbo and membership registries, which are not locks", "job-", "client", theDirectory},
	}
}

// take creates the client's node and returns its name once it is first. It closes waits after the
// first refusal, once its watch is set.
func (q queues) take(ctx context.Context, c *zk.Conn, dir string, waits chan<- struct{}) (string, error) {
	name, reported := "", false
	for {
		if name == "" {
			made, err := c.Create(dir+"/"+strings.ReplaceAll(q.node, "SESSION", fmt.Sprint(c.SessionID())), []byte(q.data), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err != nil {
				return "", err
			}
			name = strings.TrimPrefix(made, dir+"/")
		}
		children, _, changed, err := c.ChildrenW(dir)
		if err != nil {
			return "", err
		}
		number := func(a string) string { return a[len(a)-10:] }
		slices.SortFunc(children, func(a, b string) int { return strings.Compare(number(a), number(b)) })
		at := slices.Index(children, name)
		if at == 0 {
			return name, nil
		}
		var event <-chan zk.Event
		again := make(<-chan time.Time)
		switch q.watch {
		case theDirectory:
			event = changed
		case theOneBefore:
			there := false
			if there, _, event, err = c.ExistsW(dir + "/" + children[at-1]); err != nil {
				return "", err
			}
			if !there {
				continue
			}
		case nothing:
			if err := c.Delete(dir+"/"+name, -1); err != nil {
				return "", err
			}
			name, again = "", time.After(5*time.Millisecond)
		}
		if !reported {
			reported = true
			close(waits)
		}
		select {
		case <-event:
		case <-again:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// takesOver lets a client wait for a lock, releases its holder, and waits for the client to get it.
func takesOver(
	t *testing.T, releaser *ZooKeeper, lock, holder string, take func(ctx context.Context, waits chan<- struct{}) error,
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waits, granted := make(chan struct{}), make(chan error, 1)
	go func() { granted <- take(ctx, waits) }()
	select {
	case <-waits:
	case err := <-granted:
		t.Fatalf("not refused at first: %v", err)
	}
	releaseFirst(t, releaser, inspect.ID{Backend: "zk", Path: lock}, inspect.Untrusted(holder))
	must.Succeed(t, <-granted)
}

// A client that waits in a queue as its library does, and go-zookeeper's own Lock, get the lock
// after its holder was released.
func TestZkWaitersTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn, first, second := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
	releaser := onEnsemble(t, conn, server.Addr)
	for _, q := range queueWaits() {
		t.Run(q.library, func(t *testing.T) {
			dir := servertest.UniquePath(t)
			create(t, conn, dir, "", 0)
			holder := must.Have(q.take(t.Context(), first, dir, nil))(t)
			takesOver(t, releaser, dir, holder, func(ctx context.Context, waits chan<- struct{}) error {
				_, err := q.take(ctx, second, dir, waits)
				return err
			})
		})
	}
	t.Run("go-zookeeper: Lock", func(t *testing.T) {
		dir := servertest.UniquePath(t)
		must.Succeed(t, zk.NewLock(first, dir, zk.WorldACL(zk.PermAll)).Lock())
		holders, _, err := conn.Children(dir)
		if err != nil || len(holders) != 1 {
			t.Fatalf("%v, %v", holders, err)
		}
		granted := make(chan error, 1)
		go func() { granted <- zk.NewLock(second, dir, zk.WorldACL(zk.PermAll)).Lock() }()
		id := inspect.ID{Backend: "zk", Path: dir}
		awaitNext(t, releaser, Request{ID: id, Owner: inspect.Untrusted(holders[0])})
		releaseFirst(t, releaser, id, inspect.Untrusted(holders[0]))
		select {
		case err := <-granted:
			must.Be(t, err, nil)
		case <-time.After(time.Minute):
			t.Error("go-zookeeper's Lock was not granted")
		}
	})
}

// A client that watches or polls the single node of a lock creates it again once it is released.
// The next calls of kazoo's lease and of persistent locks succeed.
func TestSingleNodeWaitersTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn, first, second := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
	releaser := onEnsemble(t, conn, server.Addr)
	for name, tt := range map[string]struct {
		data  string
		polls bool
	}{
		"one ephemeral node alone": {"host:1234", false},
		"Symfony Lock":             {"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=", true},
	} {
		t.Run(name, func(t *testing.T) {
			node := servertest.UniquePath(t)
			must.Succeed(t, takeNode(t.Context(), first, node, tt.data, tt.polls, nil))
			takesOver(t, releaser, node, node[1:], func(ctx context.Context, waits chan<- struct{}) error {
				return takeNode(ctx, second, node, tt.data, tt.polls, waits)
			})
			must.Succeed(t, second.Delete(node, -1)) // at the root, a sibling would keep the next node from being alone
		})
	}
}

// takeNode creates the lock's single ephemeral node once it is missing.
func takeNode(ctx context.Context, c *zk.Conn, node, data string, polls bool, waits chan<- struct{}) error {
	for reported := false; ; reported = true {
		_, err := c.Create(node, []byte(data), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		there, _, event, err := c.ExistsW(node)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if !reported {
			close(waits)
		}
		var tick <-chan time.Time
		if polls {
			event, tick = nil, time.After(5*time.Millisecond)
		}
		select {
		case <-event:
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ShedLock and Helix do not wait. Their next call is refused before the release and succeeds after
// it: it reads that the lock is free and writes over that version.
func TestNextCallTakesReleasedPersistentLock(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn := connectZooKeeper(t, server.Addr)
	releaser := onEnsemble(t, conn, server.Addr)
	for _, tt := range []struct {
		path, data string
		free       func(data []byte) bool
	}{
		{"/shedlock/daily", "2999-01-01T00:00:00.000Z", func(data []byte) bool {
			until, err := time.Parse(time.RFC3339, string(data))
			return err == nil && !until.After(time.Now())
		}},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"32472144000000"},"mapFields":{}}`, func(data []byte) bool {
			var record struct {
				SimpleFields struct{ Owner, Timeout string }
			}
			if err := json.Unmarshal(data, &record); err != nil {
				return false
			}
			end, err := strconv.ParseInt(record.SimpleFields.Timeout, 10, 64)
			return record.SimpleFields.Owner == "" || err == nil && end < time.Now().UnixMilli()
		}},
	} {
		full := servertest.UniquePath(t) + tt.path
		for i := range full[1:] {
			if full[i+1] == '/' {
				create(t, conn, full[:i+1], "", 0)
			}
		}
		create(t, conn, full, tt.data, 0)
		call := func() bool {
			data, stat, err := conn.Get(full)
			if err != nil || !tt.free(data) {
				return false
			}
			_, err = conn.Set(full, []byte(tt.data), stat.Version)
			return err == nil
		}
		if call() {
			t.Fatalf("%s: taken before the release", tt.path)
		}
		releaseFirst(t, releaser, inspect.ID{Backend: "zk", Path: full}, inspect.Untrusted(path.Base(full)))
		must.True(t, call(), tt.path, "was not taken by the next call")
	}
}

// elsewhere maps a library to the file and test, or text, where its waiters are tried. Some of these tests
// show that it has no waiters or cannot be released.
var elsewhere = map[string][2]string{
	"Apache Curator: InterProcessMutex, LeaderSelector, LeaderLatch, InterProcessReadWriteLock, InterProcessSemaphoreV2": {"wakes_test.go", "TestCuratorAndKazooTakeReleasedLocks"},
	"kazoo: Lock, WriteLock, ReadLock, Election; Semaphore":                                                              {"wakes_test.go", "TestCuratorAndKazooTakeReleasedLocks"},
	"go-zookeeper: Lock":        {"zkwaiters_test.go", "TestZkWaitersTakeReleasedLocks"},
	"Symfony Lock in ZooKeeper": {"zkwaiters_test.go", "TestSingleNodeWaitersTakeReleasedLocks"},
	"a single ephemeral node: Helix's controller, other locks of ClickHouse's ZooKeeperLock": {"zkwaiters_test.go", "TestSingleNodeWaitersTakeReleasedLocks"},
	// Their next call reads what the release writes.
	"Helix: ZKDistributedNonblockingLock": {"zkwaiters_test.go", "TestNextCallTakesReleasedPersistentLock"},
	"ShedLock in ZooKeeper":               {"zkwaiters_test.go", "TestNextCallTakesReleasedPersistentLock"},
	"lockscope":                           {"wakes_test.go", "TestRedisClientsTakeReleasedLocks"},
	"redis-py and its users: tooz, celery-once, kombu, django-redis, dogpile": {"wakes_test.go", "TestRedisClientsTakeReleasedLocks"},
	// RedBeat takes its lock with redis-py's Lock.
	"RedBeat":              {"wakes_test.go", "TestRedisClientsTakeReleasedLocks"},
	"redsync":              {"../../bench/realwaiters_test.go", "TestRealClientsTakeReleasedLocks"},
	"bsm/redislock":        {"../../bench/realwaiters_test.go", "TestRealClientsTakeReleasedLocks"},
	"rueidislock":          {"../../bench/realwaiters_test.go", "TestRealClientsTakeReleasedLocks"},
	"Redisson: RSemaphore": {"testdata/script/redis-holders.txt", "An RSemaphore is only a number"},
}

// Every library in docs/recipes.md has a test in which a waiter gets the lock after a release, or
// one that shows why not.
func TestEveryRecipeHasAWaiter(t *testing.T) {
	have := map[string]bool{}
	for _, w := range redisWaits(t) {
		have[w.Library] = true
	}
	for _, q := range queueWaits() {
		have[q.library] = true
	}
	for library, at := range elsewhere {
		have[library] = true
		text := string(must.Have(os.ReadFile(at[0]))(t))
		must.True(t, strings.Contains(text, "func "+at[1]+"(") || strings.Contains(text, "# "+at[1]),
			library, "there is no", at[1], "in", at[0])
	}
	rows := 0
	for _, r := range docs.Recipes() {
		rows++
		if !have[r.Library] && !recipe.PlainString(r.Name) && !recipe.OneNode(r.Name) { // these wait alike
			t.Errorf("no test waits for a lock of %q: add it to waits.yaml, queueWaits or elsewhere", r.Library)
		}
		delete(have, r.Library)
	}
	for library := range have {
		t.Errorf("%q is not a library of docs/recipes.md", library)
	}
	must.True(t, rows >= 30, rows, "rows in docs/recipes.md: the pattern that finds them may be outdated")
}
