package node

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var first = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// info parses these lines of an INFO reply.
func info(lines ...string) (st Status) {
	st.readInfo("# Section\r\n"+strings.Join(lines, "\r\n")+"\r\n", first)
	return st
}

func TestReadInfoIgnoresUnknownFields(t *testing.T) {
	st := info("run_id:"+strings.Repeat("a1", 20), "uptime_in_seconds:60", "maxmemory:1048576", "maxmemory_policy:allkeys-lru", "role:slave", "aof_enabled:1")
	if st.RunID != strings.Repeat("a1", 20) || !st.StartedAt.Equal(first.Add(-time.Minute)) || st.MaxMemory != 1<<20 ||
		st.EvictionPolicy != "allkeys-lru" || st.Role != "replica" || st.Persistence != "aof" {
		t.Errorf("%+v", st)
	}
	if st := info("run_id:\x1b[31m", "uptime_in_seconds:-1", "maxmemory:many", "maxmemory_policy:ALL keys", "role:king"); st.RunID != "" ||
		!st.StartedAt.IsZero() || st.MaxMemory != 0 || st.EvictionPolicy != "" || st.Role != "" || st.Persistence != "" {
		t.Errorf("invalid values: %+v", st)
	}
	for want, lines := range map[string][]string{
		"":    {"aof_enabled:0", "rdb_last_bgsave_time_sec:-1", "rdb_saves:0"}, // none so far, which does not rule out a later one
		"rdb": {"aof_enabled:0", "rdb_last_bgsave_time_sec:0", "rdb_saves:0"},
	} {
		must.Equal(t, info(lines...).Persistence, want, lines)
	}
}

// Valkey 8.1 also reports the Redis version that it is compatible with.
func TestValkeyReportsItsOwnVersion(t *testing.T) {
	st := info("redis_version:7.2.4", "server_name:valkey", "valkey_version:8.1.1", "server_mode:cluster", "role:master")
	if st.Version != "8.1.1" || !st.Cluster || st.Role != "master" {
		t.Errorf("%+v", st)
	}
}

func TestBrokenConnectionIsReportedAsLost(t *testing.T) {
	m := &Master{addr: "10.0.0.1:6379"}
	err := m.explain(fmt.Errorf("read: %w", io.EOF))
	if err.Error() != "master 10.0.0.1:6379: connection lost" || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// INFO has min_slaves_good_slaves only if min-replicas-to-write is set.
func TestReplicaCountsAreRead(t *testing.T) {
	for _, tt := range []struct {
		info     string
		replicas int
		needs    bool
	}{
		{"role:master\r\nconnected_slaves:2\r\n", 2, false},
		{"role:master\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:1\r\n", 2, true},
		{"role:master\r\nconnected_slaves:-1\r\n", 0, false},
		{"role:master\r\nconnected_slaves:many\r\n", 0, false},
	} {
		var st Status
		st.readInfo(tt.info, first)
		if st.Replicas != tt.replicas || st.NeedsReplicas != tt.needs {
			t.Errorf("%q: %d, %v", tt.info, st.Replicas, st.NeedsReplicas)
		}
	}
}

func TestStatusTextIsNotTrusted(t *testing.T) {
	must.Equal(t, roleName("\x1b[31mmaster", "slave"), "replica", "role")
	if st := info("role:active-replica", "master_host:10.0.0.2", "master_port:6379"); st.Role != RoleActive || st.Master != "10.0.0.2:6379" {
		t.Errorf("KeyDB: %+v", st)
	}
	must.Equal(t, infoField("# Server\r\nuptime_in_seconds:12\r\n", "uptime_in_seconds"), "12", "field")
}

func TestDatabasesWithKeysAreRead(t *testing.T) {
	want := []inspect.Database{{Index: 0, Keys: 2}, {Index: 1, Keys: 412}}
	if got := info("db0:keys=2,expires=1,avg_ttl=0", "db1:keys=412", "dbx:keys=3", "db2:keys=-1", "db3:keys=many").Databases; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// Each letter is the server that one connection reached.
func TestAlternatingServersAreSeveral(t *testing.T) {
	for met, several := range map[string]bool{
		"aa": false, "ab": false, "aaabbb": false, "abc": false, // restarts and failovers
		"aba": true, "aabba": true, "abca": true, "abcb": true,
	} {
		var s servers
		for id := range strings.SplitSeq(met, "") {
			s.meet(id)
		}
		if s.several != several {
			t.Errorf("%s: several %v", met, s.several)
		}
	}
}
