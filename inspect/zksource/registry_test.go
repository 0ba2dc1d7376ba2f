package zksource_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

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
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		first, second, root := client(t, zks), client(t, zks), servertest.UniquePath(t)
		create(t, first, root, "", 0)
		i := 0
		for _, members := range registries {
			dir := fmt.Sprintf("%s/%d", root, i)
			i++
			create(t, first, dir, "", 0)
			create(t, first, dir+"/"+members[0], "a", zk.FlagEphemeral)
			create(t, second, dir+"/"+members[1], "b", zk.FlagEphemeral)
		}
		s := observe(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Roots: []string{root}}, finding.Rules()...)
		for l := range s.Locks() {
			t.Errorf("%s is not a lock: %+v", l.ID.Path, l)
		}
		for _, b := range s.Backends {
			must.True(t, b.Unseen == nil, "unseen", b.Unseen)
		}
	})
}

// A sequence number assigned by the server is below the parent's count of creations, and follows their
// order. Other numbers in names do not queue a node, not even next to a queue.
func TestForeignSequenceNumbersAreIgnored(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		create(t, c, root+"/queue", "", 0)
		create(t, c, root+"/queue/w-", "a", contender)
		create(t, c, root+"/queue/w-", "b", contender)
		create(t, c, root+"/queue/server-1234567890", "c", zk.FlagEphemeral)
		create(t, c, root+"/backwards", "", 0)
		for range 3 {
			remove(t, c, create(t, c, root+"/backwards/x-", "", contender)) // raises the count above the numbers
		}
		create(t, c, root+"/backwards/m-0000000002", "a", zk.FlagEphemeral)
		create(t, c, root+"/backwards/m-0000000001", "b", zk.FlagEphemeral)
		v := once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		if l := v.Locks[root+"/queue"]; l == nil || l.Contention() != 2 || len(l.Aliens) != 1 || l.State != inspect.StateContended {
			t.Errorf("%+v", l)
		}
		if l := v.Locks[root+"/backwards"]; l != nil {
			t.Errorf("%+v", l)
		}
	})
}
