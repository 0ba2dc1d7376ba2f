package node

import (
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/redisreply"
)

// readWrites takes in whether a master refuses writes. Redis refuses PING, too, while it does so for its disk
// (processCommand in its server.c): that a snapshot failed, which INFO has, is no reason where no save points
// are set or stop-writes-on-bgsave-error is off, which INFO does not have. Where PING may not be sent, it is
// unknown. A replica whose own snapshot failed refuses PING as well (since Redis 7), and takes no client's
// writes anyhow.
func (m *Master) readWrites(st *Status, ping redis.Cmder, info string) {
	switch {
	case st.Role == RoleReplica:
	case redisreply.Starts(ping.Err(), "MISCONF") && strings.Contains(ping.Err().Error(), "AOF"):
		st.Refused = inspect.RefusedForAOF
	case redisreply.Starts(ping.Err(), "MISCONF"):
		st.Refused = inspect.RefusedForSave
	case st.Role != roleMaster:
	case infoField(info, "aof_enabled") == "1" && infoField(info, "aof_last_write_status") == "err":
		st.Refused = inspect.RefusedForAOF
	case infoField(info, "min_slaves_good_slaves") == "0": // it is told only where some are needed, and not how many
		st.Refused = inspect.RefusedForReplicas
	case full(info):
		st.Refused = inspect.RefusedForMemory
	case ping.Err() != nil && infoField(info, "rdb_last_bgsave_status") == "err":
		u := m.miss(inspect.AspectServer, ping, rightFor(ping, ""))
		u.Reason = "its last snapshot failed, and whether it therefore refuses writes it tells by PING: " + u.Reason
		st.Unseen = append(st.Unseen, u)
	}
}

// full reports whether a server is over its maxmemory and has nothing that its policy lets it evict. Buffers
// of replicas and of the append-only file do not count (getMaxmemoryState in Redis' evict.c).
func full(info string) bool {
	limit, limited := infoNumber(info, "maxmemory")
	used, ok := infoNumber(info, "used_memory")
	apart, _ := infoNumber(info, "mem_not_counted_for_evict")
	if !limited || !ok || limit == 0 || used-apart <= limit {
		return false
	}
	switch policy := infoField(info, "maxmemory_policy"); {
	case policy == "noeviction":
		return true
	case strings.HasPrefix(policy, "volatile-"):
		return inDatabases(info, "expires") == 0
	case strings.HasPrefix(policy, "allkeys-"):
		return inDatabases(info, "keys") == 0
	}
	return false
}

// inDatabases sums a figure of all databases, of lines such as "db0:keys=2,expires=1,avg_ttl=0"; -1 where
// INFO has no such part.
func inDatabases(info, figure string) (sum int64) {
	reported := false
	for line := range strings.Lines(info) {
		line = strings.TrimSpace(line)
		reported = reported || line == "# Keyspace"
		number, fields, isField := strings.Cut(strings.TrimPrefix(line, "db"), ":")
		if !reported || !isField || !only(number, "0123456789") {
			continue
		}
		for field := range strings.SplitSeq(fields, ",") {
			if name, value, _ := strings.Cut(field, "="); name == figure {
				n, _ := strconv.ParseInt(value, 10, 64)
				sum += n
			}
		}
	}
	if !reported {
		return -1
	}
	return sum
}
