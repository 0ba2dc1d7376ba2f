package node

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var first = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// info parses an INFO reply with these fields, separated by spaces.
func info(fields string) (st Status) {
	st.readInfo("# Section\r\n"+strings.ReplaceAll(fields, " ", "\r\n")+"\r\n", first)
	return st
}

// Values that are not as expected are left out, since the text is not trusted.
func TestReadInfoIgnoresUnknownFields(t *testing.T) {
	id := strings.Repeat("a1", 20)
	for fields, want := range map[string]inspect.Server{
		"run_id:" + id + " uptime_in_seconds:60":                                                  {RunID: id, StartedAt: first.Add(-time.Minute)},
		"run_id:\x1b[31m uptime_in_seconds:-1 maxmemory:many maxmemory_policy:ALL,keys role:king": {},
		"maxmemory:1048576 maxmemory_policy:allkeys-lru role:slave": {
			MaxMemory: 1 << 20, EvictionPolicy: "allkeys-lru", Role: "replica",
		},
		"aof_enabled:1": {Persistence: "aof"},
		"aof_enabled:0 rdb_last_bgsave_time_sec:-1 rdb_saves:0": {}, // none so far, which does not rule out a later one
		"aof_enabled:0 rdb_last_bgsave_time_sec:0 rdb_saves:0":  {Persistence: "rdb"},
		// Valkey 8.1 also reports the Redis version that it is compatible with.
		"redis_version:7.2.4 server_name:valkey valkey_version:8.1.1 server_mode:cluster role:master": {
			Version: "8.1.1", Cluster: true, Role: "master",
		},
		"redis_version:7.2.4 redis_mode:cluster": {Version: "7.2.4", Cluster: true},
		// INFO has min_slaves_good_slaves only if min-replicas-to-write is set.
		"role:master connected_slaves:2":                          {Role: "master", Replicas: 2},
		"role:master connected_slaves:2 min_slaves_good_slaves:1": {Role: "master", Replicas: 2, NeedsReplicas: true},
		"role:master connected_slaves:-1":                         {Role: "master"},
		"role:master connected_slaves:many":                       {Role: "master"},
		"role:active-replica":                                     {Role: RoleActive}, // KeyDB
	} {
		must.Equal(t, info(fields).Server, want, fields)
	}
	must.Equal(t, info("role:active-replica master_host:10.0.0.2 master_port:6379").Master, "10.0.0.2:6379", "master")
	must.Equal(t, roleName("\x1b[31mmaster", "slave"), "replica", "role")
	want := []inspect.Database{{Index: 0, Keys: 2}, {Index: 1, Keys: 412}}
	databases := "db0:keys=2,expires=1,avg_ttl=0 db1:keys=412 dbx:keys=3 db2:keys=-1 db3:keys=many"
	must.Same(t, info(databases).Databases, want, "databases")
}

func TestErrorsAreExplainedPlainly(t *testing.T) {
	m := &Master{addr: "10.0.0.1:6379", timeout: 5 * time.Second}
	for err, want := range map[error]string{
		io.EOF:                   "master 10.0.0.1:6379: connection lost",
		context.DeadlineExceeded: "master 10.0.0.1:6379: no answer within 5s",
		proto("ERR no"):          "master 10.0.0.1:6379: read: ERR no",
	} {
		got := m.explain(fmt.Errorf("read: %w", err))
		must.Equal(t, got.Error(), want)
		must.Be(t, got, err, "cause of", want)
	}
	get, refusal := redis.NewCmd(t.Context(), "get"), proto("NOAUTH no")
	notSent([]redis.Cmder{get}, refusal)
	must.Equal(t, get.Err().Error(), "the connection was refused: NOAUTH no")
	must.Be(t, get.Err(), refusal, "cause")
}
