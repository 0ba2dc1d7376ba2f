package zksource_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// wild builds directories as other programs leave them.
type wild struct{ *scene }

func newWild(t *testing.T, zks *servertest.ZooKeeper) wild {
	t.Helper()
	w := wild{inDirectory(t, zks)}
	w.cfg.Admin = []string{zks.Admin}
	return w
}

// client pings every 3 s. A waiter may be about to set its watch until its first ping after queueing.
func (w wild) client() *scene { return w.as(9 * time.Second) }

// place creates a directory and its parents.
func (w wild) place(dir string) string {
	w.t.Helper()
	if there, _, err := w.conn.Exists(w.root + dir); err != nil || there {
		return dir
	}
	if parent := path.Dir(dir); parent != "/" {
		w.place(parent)
	}
	w.dirs(dir)
	return dir
}

// lineUp creates a queue with one client per prefix. watches sets the watch of client i.
func (w wild) lineUp(dir string, watches func(c *scene, i int, nodes []string), prefixes ...string) {
	w.t.Helper()
	w.place(dir)
	var nodes []string
	for i, prefix := range prefixes {
		c := w.client()
		nodes = append(nodes, c.create(dir+"/"+prefix, "", contender))
		watches(c, i, nodes)
	}
}

// judged waits for exactly these locks, each with its findings as "RULE SEVERITY". A client's ping may
// take a moment.
func (w wild) judged(want map[string][]string) *inspect.Snapshot {
	w.t.Helper()
	for deadline := time.Now().Add(sourcetest.Limit); ; {
		s, found := observe(w.t, w.cfg, finding.Rules()...), map[string][]string{}
		for l := range s.Locks() {
			list := []string{}
			for _, f := range l.Findings {
				list = append(list, f.Rule+" "+string(f.Severity))
			}
			slices.Sort(list)
			found[strings.TrimPrefix(l.ID.Path, w.root)] = list
		}
		if maps.EqualFunc(found, want, slices.Equal) {
			return s
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("found %v\nwant  %v", found, want)
		}
	}
}

const curatorLock = "_c_" + uuid + "-lock-"

// The watches decide the order, whatever the nodes are named.
func TestWatchesOutrankNames(t *testing.T) {
	t.Parallel()
	w := newWild(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	before := func(c *scene, i int, nodes []string) {
		if i > 0 {
			c.lookAfter(nodes[i-1])
		}
	}
	nobody := func(*scene, int, []string) {}
	w.lineUp("/holder-watched", func(c *scene, i int, nodes []string) {
		if i == 3 {
			c.lookAfter(nodes[0])
		} else {
			before(c, i, nodes)
		}
	}, slices.Repeat([]string{curatorLock}, 4)...)
	w.lineUp("/healthy", before, slices.Repeat([]string{curatorLock}, 4)...)

	holder, leaky := w.client(), w.client()
	holder.create(w.place("/leaked")+"/"+curatorLock, "", contender)
	for range 6 {
		leaky.create("/leaked/"+curatorLock, "", contender)
	}

	w.lineUp("/lost", func(c *scene, i int, nodes []string) {
		if i == 2 {
			c.lookAfter(nodes[1])
			c.remove(nodes[1])
			c.lookAfter(nodes[1]) // an exists watch on the deleted node
		}
	}, "lock-", "lock-", "lock-")
	w.lineUp("/registry", nobody, "lock-", "lock-", "lock-")
	w.lineUp("/left", func(c *scene, i int, _ []string) {
		if i == 0 {
			c.lookAfter(w.root + "/left/member-0000000007") // a later member that has left
		}
	}, "member-", "member-")

	w.lineUp("/readers", before, "read-", "write-", "write-")
	// Each watches the directory, which the table does not show.
	w.lineUp("/candidates", func(c *scene, _ int, _ []string) {
		if _, _, _, err := c.conn.ChildrenW(w.root + "/candidates"); err != nil {
			t.Fatal(err)
		}
	}, "n_", "n_", "n_")
	w.lineUp("/candidates-lost", func(c *scene, i int, nodes []string) {
		if i == 1 {
			c.lookAfter(nodes[0])
		}
	}, "n_", "n_", "n_")

	s := w.judged(map[string][]string{
		"/holder-watched": {"missing-watch warning"}, "/healthy": {},
		"/leaked": append(slices.Repeat([]string{"missing-watch warning"}, 6), "self-wait warning"),
		"/lost":   {"lost-wakeup warning", "missing-watch warning"}, "/registry": {}, "/left": {},
		"/readers": {}, "/candidates": {}, "/candidates-lost": {"missing-watch warning"},
	})
	l := s.Lock(w.id("/holder-watched"))
	must.Equal(t, l.Findings[0].Subject.Contender, l.Waiters[2].Name, "the finding is about")
	for name, want := range map[string]string{
		"/lost": "likely", "/registry": "possible", "/left": "possible", "/readers": "likely",
	} {
		must.Equal(t, string(s.Lock(w.id(name)).Confidence), want, name)
	}
}

// kazoo can be configured with other libraries' names, and then queues behind them.
func TestKazooQueuesBehindGoZooKeeper(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		w := newWild(t, zks)
		c := w.client()
		for _, dir := range []string{"/together", "/apart"} {
			must.Succeed(t, zk.NewLock(c.conn, w.root+w.place(dir), everyone).Lock())
		}
		peer := servertest.StartKazooLocks(t, zks.Addr)
		peer.Send(t, "mixing", "a", w.root+"/together")
		peer.Send(t, "lock", "b", w.root+"/apart")
		peer.Expect(t, "acquired lock b "+w.root+"/apart")
		w.judged(map[string][]string{"/together": {}, "/apart": {"missing-watch warning", "mixed-recipes critical"}})
	})
}

func TestNumberedPersistentNodesAreNotFree(t *testing.T) {
	t.Parallel()
	w := newWild(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	keep := func(dir string, nodes ...string) {
		w.place(dir)
		for i := 0; i < len(nodes); i += 2 {
			w.create(dir+"/"+nodes[i], nodes[i+1], zk.FlagSequence)
		}
	}
	keep("/by-hand", "lock-", "web-1", "lock-", "web-2")
	keep("/order-locks", "n", "")
	keep("/queue", "item-", "work", "qn-", "work")
	keep("/mixed", "lock-", "left by hand")
	waiter, manager, standby := w.client(), w.client(), w.client()
	waiter.create("/mixed/lock-", "", contender)
	waiter.lookAfter(w.root + "/mixed/lock-0000000000")
	leader := manager.create(w.place("/managers/lock")+"/zlock#"+uuid+"#", "host-a:9999", contender)
	standby.create("/managers/lock/zlock#"+uuid+"#", "host-b:9999", contender)
	standby.lookAfter(leader)

	s := w.judged(map[string][]string{
		"/by-hand": {}, "/order-locks": {}, "/managers/lock": {}, "/mixed": {"persistent-contender critical"},
	})
	l := s.Lock(w.id("/managers/lock"))
	must.True(t, l.Recipe == "accumulo" && l.Holders[0].Owner.Label == "host-a:9999", l)
	must.True(t, l.Kind == inspect.KindElection && l.KindConfidence == recipe.Certain, l)
	l = s.Lock(w.id("/mixed"))
	must.True(t, l.Holders[0].Name == "lock-0000000000" && l.Confidence == recipe.Likely, l)
	for _, name := range []string{"/by-hand", "/order-locks"} {
		l := s.Lock(w.id(name))
		must.True(t, l.State == inspect.StateUnknown && l.Contention() == 0 && l.Confidence == recipe.Possible, name, l)
	}
	w.place("/empty")
	w.place("/parent/of-others")
	w.create(w.place("/services")+"/10.0.0.7:8080", "", zk.FlagEphemeral)
	w.cfg.Admin = nil
	for name, want := range map[string]inspect.State{
		"/by-hand": inspect.StateUnknown, "/queue": inspect.StateUnknown, "/parent": inspect.StateUnknown,
		"/services": inspect.StateUnknown, "/empty": inspect.StateFree,
	} {
		if l := w.named(name).Locks[w.root+name]; l == nil || l.State != want {
			t.Errorf("%s requested by name: %+v, want %s", name, l, want)
		}
	}
}

func TestFreeLockToleratesOtherNodes(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.dirs("/known", "/known/README")
	held := s.create("/known/"+curatorLock, "", contender)
	s.cfg.Only = "/known"
	v := s.watch()
	v.awaitState("/known", inspect.StateHeld)
	s.remove(held)
	v.awaitState("/known", inspect.StateFree)
}

// registries are ephemeral nodes of other programs, from their sources and documentation. Each has
// two members from two clients.
var registries = map[string][]string{
	"HBase region servers (host,port,start code)": {"rs1.example.com,16020,1700123456789", "rs2.example.com,16020,1700123456999"},
	"Kafka brokers":                     {"1001", "1002"},
	"Dubbo providers (URL)":             {"dubbo%3A%2F%2F10.0.0.1%3A20880%2Fx%3Ftimestamp%3D1700123456789", "dubbo%3A%2F%2F10.0.0.2%3A20880%2Fx%3Ftimestamp%3D1700123456790"},
	"Curator service discovery (UUID)":  {"0b6e1f5e-3c0a-4d6f-9a51-3f5d2e0a7c11", "2c7d9b7e-7a3e-4c55-8a0e-6f0f1e2d3c4b"},
	"Solr live nodes":                   {"10.0.0.1:8983_solr", "10.0.0.2:8983_solr"},
	"Mesos frameworks (time and count)": {"20240102-150405-0000000001", "20240102-150405-0000000777"},
	"Pulsar brokers":                    {"broker1:8080", "broker2:8080"},
	"Storm supervisors":                 {"supervisor-10.0.0.1-1700123456", "supervisor-10.0.0.2-1700123457"},
	"a name with a phone number":        {"worker-0171234567", "worker-0171234568"},
	"Druid announcements":               {"historical:8083_2024-01-02T15:04:05.000Z_0000000012", "historical:8084_2024-01-02T15:04:05.000Z_0000000034"},
}

func TestRegistriesAreNotQueues(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		second := s.another()
		for name, members := range registries {
			dir := "/" + strings.Fields(name)[0]
			s.dirs(dir)
			s.create(dir+"/"+members[0], "a", zk.FlagEphemeral)
			second.create(dir+"/"+members[1], "b", zk.FlagEphemeral)
		}
		s.cfg.Admin = []string{s.zks.Admin}
		snapshot := observe(t, s.cfg, finding.Rules()...)
		for l := range snapshot.Locks() {
			t.Errorf("%s is not a lock: %+v", l.ID.Path, l)
		}
		must.True(t, snapshot.Backends[0].Unseen == nil, "unseen", snapshot.Backends[0].Unseen)
	})
}

// A sequence number assigned by the server is below the parent's count of creations, and follows their
// order. Other numbers in names do not queue a node, not even next to a queue.
func TestForeignSequenceNumbersAreIgnored(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		s.dirs("/queue", "/backwards")
		s.create("/queue/w-", "a", contender)
		s.create("/queue/w-", "b", contender)
		s.create("/queue/server-1234567890", "c", zk.FlagEphemeral)
		for range 3 {
			s.remove(s.create("/backwards/x-", "", contender)) // raises the count above the numbers
		}
		s.create("/backwards/m-0000000002", "a", zk.FlagEphemeral)
		s.create("/backwards/m-0000000001", "b", zk.FlagEphemeral)
		v := s.once()
		l := v.Locks[s.root+"/queue"]
		if l == nil || l.Contention() != 2 || len(l.Aliens) != 1 || l.State != inspect.StateContended {
			t.Errorf("%+v", l)
		}
		must.True(t, v.Locks[s.root+"/backwards"] == nil, v.Locks[s.root+"/backwards"])
	})
}
