package recipe

import (
	"math"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestNamesRevealTheRecipe(t *testing.T) {
	const lock, election, lease = Plain, Candidate, Lease
	for _, tt := range []struct {
		name, recipe string
		seq          int32
		role         Role
		mode         Mode
		confidence   Confidence
	}{
		{"_c_" + uuid + "-lock-0000000602", "curator", 602, lock, Exclusive, Certain},
		{"_c_" + uuid + "-latch-0000000001", "curator", 1, election, Exclusive, Certain},
		{"_c_" + uuid + "-lease-0000000009", "curator", 9, lease, Exclusive, Certain},
		{"_c_" + uuid + "-__WRIT__0000000008", "curator", 8, ReadWrite, Exclusive, Certain},
		{"_c_" + uuid + "-__READ__-2147483648", "curator", math.MinInt32, ReadWrite, Shared, Certain},
		{"_c_" + uuid + "-__READ__0000000007", "curator", 7, ReadWrite, Shared, Certain},
		{"_c_" + uuid + "-lock--2147483648", "curator", math.MinInt32, lock, Exclusive, Certain},
		{"_c_" + guid + "-lock-0000000004", "go-zookeeper", 4, lock, Exclusive, Certain},
		{guid, "kazoo", 0, lease, Exclusive, Possible},
		{guid + "__lock__0000000000", "kazoo", 0, lock, Exclusive, Certain},
		{guid + "__rlock__0000000003", "kazoo", 3, ReadWrite, Shared, Certain},
		{"foo0000000001", "sequential", 1, lock, Exclusive, Possible},
		{"0000000009", "sequential", 9, lock, Exclusive, Possible},
		{guid + "__rlock__-999999999", "kazoo", -999999999, ReadWrite, Shared, Certain},
		{"x-72057675180539904-0000000003", "zookeeper-recipes", 3, lock, Exclusive, Likely},
		{"x--72057675180539904--2147483648", "zookeeper-recipes", math.MinInt32, lock, Exclusive, Likely},
		{"x-0100012e47a00001-0000000003", "zookeeper-recipes", 3, lock, Exclusive, Likely},
		{"n_0000000000", "zookeeper-recipes", 0, election, Exclusive, Likely},
		{"read-0000000004", "madelson", 4, ReadWrite, Shared, Possible},
		{"write-0000000004", "madelson", 4, ReadWrite, Exclusive, Possible},
		{"semaphore-0000000004", "madelson", 4, lease, Exclusive, Possible},
		{"read-regionserver:600200000000002", "hbase", 2, ReadWrite, Shared, Likely},
		{"write-10.0.0.7:160000000000011", "hbase", 11, ReadWrite, Exclusive, Likely},
		{"LOCK-SHARED-0000000001", "hive", 1, ReadWrite, Shared, Likely},
		{"LOCK-EXCLUSIVE-0000000002", "hive", 2, ReadWrite, Exclusive, Likely},
		{"72057675180539904-10.0.0.7:8983_solr-n_0000000005", "solr", 5, election, Exclusive, Likely},
		{"-72057675180539904-core_node1-n_0000000005", "solr", 5, election, Exclusive, Likely},
		{"ex0000000001", "zk-ruby", 1, ReadWrite, Exclusive, Likely},
		{"sh0000000001", "zk-ruby", 1, ReadWrite, Shared, Likely},
		{"ballot0000000001", "zk-ruby", 1, election, Exclusive, Likely},
		{"read-host0000000001", "sequential", 1, lock, Exclusive, Possible},
		{"x-notasession-0000000003", "sequential", 3, lock, Exclusive, Possible},
		{"lock-0000000004", "sequential", 4, lock, Exclusive, Possible},
	} {
		q, es := Read([]string{tt.name})
		if len(es) != 1 || q.Name != tt.recipe {
			t.Errorf("%s: recipe %q, entries %v", tt.name, q.Name, es)
			continue
		}
		e := es[0]
		if e.Sequence != tt.seq || e.Role != tt.role || e.Mode != tt.mode || e.Confidence != tt.confidence ||
			e.Recipe != tt.recipe || e.Name != tt.name {
			t.Errorf("%s: %+v", tt.name, e)
		}
		must.Equal(t, Proves(tt.name), (tt.confidence == Certain), tt.name, "Proves")
	}
}

func TestUsualWordsRevealReadWriteMode(t *testing.T) {
	for _, tt := range []struct {
		names  []string
		shared []string
	}{
		{[]string{"r-0000000000", "w-0000000001", "r-0000000002"}, []string{"r-0000000000", "r-0000000002"}},
		{[]string{"sh0000000000", "ex0000000001"}, []string{"sh0000000000"}},
		{[]string{"guid-READ-0000000000", "guid-WRITE-0000000001"}, []string{"guid-READ-0000000000"}},
		{[]string{"shared_0000000000"}, []string{"shared_0000000000"}},
		{[]string{"r-0000000000", "r-0000000001"}, nil}, // r may stand for anything
		{[]string{"r-0000000000", "write0000000001"}, nil},
		{[]string{"r-0000000000", "w-0000000001", "lock-0000000002"}, nil},
		{[]string{"worker-0000000000", "w-0000000001"}, nil},
		{[]string{"w-0000000000", "w-0000000001"}, nil},
	} {
		_, es := Read(tt.names)
		var shared []string
		for _, e := range es {
			if e.Mode == Shared {
				shared = append(shared, e.Name)
			}
		}
		must.Same(t, shared, tt.shared, tt.names, "shared")
	}
}

// rw returns readers (r) and writers (w) of Curator's read-write lock with their sessions.
func rw(modes string, sessions ...int64) []Entry {
	es := entries(modes)
	for i := range es {
		es[i].Role, es[i].Session = ReadWrite, sessions[i]
	}
	return es
}

// sameNumber gives the second entry the first one's number.
func sameNumber(es []Entry) []Entry {
	es[1].Sequence = es[0].Sequence
	return es
}

func TestWhoBlocksWhom(t *testing.T) {
	curator, _ := QueueByName("curator")
	kazoo, _ := QueueByName("kazoo")
	for _, tt := range []struct {
		name    string
		q       Queue
		entries []Entry
		want    []int // the blocker of each entry
		blocks  []int // how many each entry blocks, directly or through others
	}{
		{"three writers", curator, entries("www"), []int{-1, 0, 1}, []int{2, 1, 0}},
		{"kazoo's writers", kazoo, entries("www"), []int{-1, 0, 1}, []int{2, 1, 0}},
		{"three readers", curator, entries("rrr"), []int{-1, -1, -1}, []int{0, 0, 0}},
		{"kazoo's readers", kazoo, entries("rrr"), []int{-1, -1, -1}, []int{0, 0, 0}},
		{"in turn", curator, entries("rwrwr"), []int{-1, 0, 1, 2, 1}, []int{4, 3, 2, 1, 0}},
		{"kazoo's in turn", kazoo, entries("rwrwr"), []int{-1, 0, 1, 2, 3}, []int{4, 3, 2, 1, 0}},
		{"readers behind a writer", curator, entries("wrr"), []int{-1, 0, 0}, []int{2, 0, 0}},
		{"kazoo's readers behind a writer", kazoo, entries("wrr"), []int{-1, 0, 0}, []int{2, 0, 0}},
		{"a writer behind readers", curator, entries("rrw"), []int{-1, -1, 1}, []int{1, 1, 0}},
		{"kazoo's writer behind readers", kazoo, entries("rrw"), []int{-1, -1, 1}, []int{1, 1, 0}},
		{"permits", curator, []Entry{{Role: Lease}, {Role: Lease, Sequence: 1}}, []int{-1, -1}, []int{0, 0}},
		// A client that holds the write lock may also read: in Curator at once, in kazoo under the write's number.
		{"its own", curator, rw("wrwr", 1, 1, 2, 3), []int{-1, -1, 1, 0}, []int{2, 2, 1, 0}},
		{"behind another write", curator, rw("wwr", 1, 2, 1), []int{-1, 0, -1}, []int{1, 0, 0}},
		{"another's", curator, rw("wr", 1, 2), []int{-1, 0}, []int{1, 0}},
		{"the write waits too", curator, rw("rwr", 9, 1, 1), []int{-1, 0, 1}, []int{2, 1, 0}},
		{"sessions are unknown", curator, rw("wr", 0, 0), []int{-1, 0}, []int{1, 0}},
		{"kazoo's wait", kazoo, rw("wr", 1, 1), []int{-1, 0}, []int{1, 0}},
		{"with the write's number", kazoo, sameNumber(rw("wrw", 1, 1, 2)), []int{-1, -1, 1}, []int{1, 1, 0}},
		{"the write has gone", kazoo, sameNumber(rw("wrw", 1, 1, 2))[1:], []int{-1, 0}, []int{1, 0}},
		{"another's number", kazoo, sameNumber(rw("wr", 1, 2)), []int{-1, 0}, []int{1, 0}},
	} {
		var got []int
		for i := range tt.entries {
			got = append(got, tt.q.Blocker(tt.entries, i))
		}
		must.Same(t, got, tt.want, tt.name, "wait for")
		must.Same(t, tt.q.Blocks(tt.entries), tt.blocks, tt.name, "block")
	}
	// Since Curator 5.5 the reader has the writer's number, and its name may sort first.
	_, es := Read([]string{"_c_0" + uuid[1:] + "-__READ__0000000004", "_c_f" + uuid[1:] + "-__WRIT__0000000004"})
	must.Equal(t, es[0].Mode, Exclusive, "the first entry's mode", es)
}

func TestPythonsBytes(t *testing.T) {
	kazoo, _ := QueueByName("kazoo")
	for data, want := range map[string]string{
		"b'worker 1'": "worker 1", `b"it's"`: "it's", `b'\xc3\xbc\\\n'`: "ü\\\n", `b'\'"'`: `'"`, "worker": "worker", "b'": "b'", `b'\x'`: `b'\x'`, "": "",
	} {
		_, label := kazoo.Owner(Entry{}, []byte(data))
		must.Equal(t, label, want, data)
	}
}

func TestProductsAreIdentified(t *testing.T) {
	for _, tt := range []struct{ recipe, name, data, host, label string }{
		{"hbase", "read-regionserver:600200000000002", "PBUF\x00", "", "regionserver:60020"},
		{"hive", "LOCK-SHARED-0000000001", "hive_20261121:1763720000:IMPLICIT:select 1:10.0.0.9", "10.0.0.9", "hive_20261121"},
		{"hive", "LOCK-SHARED-0000000001", "q1:1763720000:EXPLICIT", "", "q1"},
		{"solr", "72057675180539904-10.0.0.7:8983_solr-n_0000000005", "", "", "10.0.0.7:8983_solr"},
		{"zookeeper-recipes", "x-72057675180539904-0000000003", "\x12\x34", "", ""},
		{"zookeeper-recipes", "x-72057675180539904-0000000003", "worker", "", "worker"},
		{"zookeeper-recipes", "n_0000000001", "web-1", "web-1", ""},
		{"curator", "_c_" + uuid + "-lock-0000000001", "10.0.0.7", "10.0.0.7", ""},
		{"curator", "_c_" + uuid + "-latch-0000000001", "10.0.0.7", "", "10.0.0.7"},
	} {
		q, es := Read([]string{tt.name})
		host, label := q.Owner(es[0], []byte(tt.data))
		must.Same(t, []string{q.Name, host, label}, []string{tt.recipe, tt.host, tt.label}, tt.name)
	}
	// Solr's joinAtHead reuses the second node's number, so the names decide.
	_, es := Read([]string{"3-b-n_0000000007", "1-a-n_0000000006", "2-a-n_0000000007"})
	must.True(t, es[0].Name == "1-a-n_0000000006" && es[1].Name == "2-a-n_0000000007", "order", es)
}

func TestReadOrWriteFollowsRecipesPage(t *testing.T) {
	for name, want := range map[string]struct {
		mode Mode
		ok   bool
	}{
		"read-0000000001": {Shared, true}, "write--2147483648": {Exclusive, true}, "guid-read-0000000001": {Shared, true},
		"x-72-write-0000000001": {Exclusive, true}, "lock-0000000001": {}, "read0000000001": {}, "write-": {}, "READ-0000000001": {},
	} {
		mode, ok := ReadOrWrite(name)
		must.True(t, mode == want.mode && ok == want.ok, name, mode, ok)
	}
}

func TestElectionsByTheirPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/app/leader": true, "/services/jobs/election": true, "/kafka/leader-election": true, "/a/Leader_Selector/x": true, "/elect": true,
		"/locks/orders": false, "/leaderboard": false, "/leader/a/b": false, "/locks/elections-report": true, "/": false, "/misleader": false,
		"/druid/indexer/leaderLatchPath": true, "/ledgers/auditorelection": true, "/jobs/selection": false, "/app/LEADER": true,
		"/hbase/master": true, "/db/orders-primary": true, "/locks/master-data": false, "/locks/primary_key": false,
		"app:leader": true, "leader:election:lock": true, "lock:orders": false, "lock:masterdata": false,
	} {
		must.Equal(t, ElectsByPath(path), want, path)
	}
}
